// Up to eight curves in one chart: each a run, or the mean over seeds with its range.

import { Chart, DASHES } from "/chart.js";
import { agent, el, percent, state } from "/format.js";

const QUANTITIES = [
  ["curve", "Return (mean of the last 100)", {}],
  ["sigma", "|σ|", { log: true }],
  ["exploration", "Effective exploration", { from: 0, to: 1, format: percent, tick: percent }],
  ["loss", "Loss", { log: true }],
  ["q", "Q", {}],
  ["speed", "Interactions per second", { from: 0 }],
];

const kept = { quantity: "curve", by: "run" };

export class Compare {
  constructor(shared, _id, question) {
    this.shared = shared;
    this.title = "Compare";
    if (question.get("by")) kept.by = question.get("by");
    if (question.get("runs")) shared.setChosen(question.get("runs").split(","));
    const choice = (name, value, text) => el("label", {}, el("input", { type: "radio", name, value, checked: kept[name] === value, change: () => this.set(name, value) }), el("span", {}, text));
    this.legend = el("ul", { class: "legend" });
    this.place = el("div", { class: "wide" });
    this.hint = el("p", { class: "hint" });
    this.root = el(
      "div",
      { class: "compare" },
      el("div", { class: "tools" }, el("fieldset", {}, el("legend", { class: "hidden" }, "Quantity"), QUANTITIES.map(([name, text]) => choice("quantity", name, text.replace(" (mean of the last 100)", "").replace("Interactions per second", "Speed").replace("Effective exploration", "Exploration")))), el("fieldset", {}, el("legend", { class: "hidden" }, "Curves"), choice("by", "run", "Each run"), choice("by", "seeds", "Mean over seeds"))),
      this.hint,
      this.place,
      this.legend,
    );
    this.make();
    this.load();
  }

  close() {
    this.isClosed = true;
    this.chart.close();
  }

  update(changed) {
    const ids = [...this.shared.chosen];
    const groups = new Set(ids.map((id) => this.shared.rows.get(id)?.group));
    const matters = (id) => this.shared.chosen.has(id) || groups.has(this.shared.rows.get(id)?.group);
    if (changed === null || [...changed].some(matters)) this.load();
  }

  set(name, value) {
    kept[name] = value;
    this.make();
    this.load();
  }

  make() {
    const [, title, options] = QUANTITIES.find(([name]) => name === kept.quantity);
    this.chart?.close();
    this.chart = new Chart({ title: kept.by === "seeds" ? `${title}: mean over seeds, from the lowest to the highest` : title, ...options });
    this.place.replaceChildren(this.chart.root);
  }

  async load() {
    const ids = [...this.shared.chosen];
    this.hint.hidden = 0 < ids.length;
    this.hint.replaceChildren("No run is chosen. Choose up to eight in the table of ", el("a", { href: "#/" }, "runs"), ", with their boxes or with the key x.");
    this.place.hidden = ids.length === 0;
    if (ids.length === 0) {
      this.legend.replaceChildren();
      return;
    }
    this.isAsked = true;
    if (this.isLoading) return;
    this.isLoading = true;
    while (this.isAsked && !this.isClosed) {
      this.isAsked = false;
      const { quantity, by } = kept;
      try {
        const answer = await fetch(`/api/compare?runs=${[...this.shared.chosen].join(",")}&quantity=${quantity}&by=${by}`);
        if (answer.ok && !this.isClosed && quantity === kept.quantity && by === kept.by) this.show((await answer.json()).curves);
      } catch {
        // The connection is lost; the update after reconnecting requests again.
      }
    }
    this.isLoading = false;
  }

  show(curves) {
    const met = new Map();
    const isOneWorld = new Set(curves.map((curve) => curve.world)).size === 1;
    for (const curve of curves) {
      const order = met.get(curve.colour) || 0;
      met.set(curve.colour, order + 1);
      curve.dash = DASHES[(curve.pattern + order) % DASHES.length];
      const seeds = kept.by === "seeds" ? (curve.seeds.length === 1 ? `seed ${curve.seeds[0]}` : `${curve.seeds.length} seeds`) : `seed ${curve.seeds[0]}`;
      curve.name = `${isOneWorld ? "" : curve.world + " "}${curve.label}, ${seeds}`;
      if (kept.by === "run") curve.low = curve.mean;
      if (kept.by === "run") curve.high = curve.mean;
    }
    this.chart.show(curves, 0);
    const format = this.chart.options.format;
    this.legend.replaceChildren(
      ...curves.map((curve) => {
        const row = this.shared.rows.get(curve.id);
        const last = curve.mean.length ? format(curve.mean[curve.mean.length - 1]) : "no values";
        return el(
          "li",
          {},
          sample(curve),
          el("a", { href: `#/run/${curve.id}` }, curve.world),
          agent(curve),
          el("span", { class: "muted" }, kept.by === "seeds" ? `${curve.seeds.length === 1 ? "seed" : "seeds"} ${curve.seeds.join(", ")}` : `seed ${curve.seeds[0]}`),
          el("b", {}, last),
          el("span", { class: "standings" }, this.standings(row)),
          el("button", { type: "button", "aria-label": `Leave out ${curve.name}`, click: () => this.leave(curve.id) }, "×"),
        );
      }),
    );
  }

  /** The state of the run, or the count of seeds in each state. */
  standings(row) {
    if (!row || kept.by === "run") return row ? state(row) : "";
    const counts = new Map();
    for (const other of this.shared.rows.values()) if (other.group === row.group) counts.set(other.state, (counts.get(other.state) || 0) + 1);
    return [...counts].map(([name, number]) => el("span", { class: `state ${name}` }, `${number} ${name}`));
  }

  leave(id) {
    const row = this.shared.rows.get(id);
    const gone = kept.by === "seeds" && row ? (other) => this.shared.rows.get(other)?.group === row.group : (other) => other === id;
    this.shared.setChosen([...this.shared.chosen].filter((other) => !gone(other)));
    this.load();
  }
}

/** The curve's line, as in the chart. */
function sample(curve) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", `sample c${curve.colour}`);
  svg.setAttribute("viewBox", "0 0 34 10");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", "M1 5H33");
  line.setAttribute("stroke-dasharray", curve.dash.join(" "));
  svg.append(line);
  return svg;
}
