// Runs beside each other: one panel per game; each curve a run, or the mean over the seeds of an agent with its range.

import { write } from "/address.js";
import { Chart } from "/chart.js";
import { Controls } from "/controls.js";
import { agent, el, percent, state } from "/format.js";
import { look, sample } from "/look.js";
import { curvesCsv, download } from "/save.js";

/** Name in requests, short name, title, explanation, options of the charts. */
const QUANTITIES = [
  ["curve", "Return", "return, mean of the last 100", "Return of the training episodes, with exploration: mean of the last 100.", {}],
  ["evaluation", "Evaluation", "return in evaluations", "Mean return of the evaluations made while training, without noise and on seeds of their own.", {}],
  ["sigma", "|σ|", "mean |σ|", "How much noise the agent gives to its states, on average.", { isLog: true }],
  ["exploration", "Exploration", "share of actions", "Share of interactions in which exploration changed the action.", { from: 0, to: 1, format: percent, tick: percent }],
  ["loss", "Loss", "loss", "Mean loss of the training steps.", { isLog: true }],
  ["q", "Q", "Q of the actions taken", "What the agent expects from the actions it takes.", {}],
  ["speed", "Speed", "interactions per second", "Interactions per second.", { from: 0 }],
];

/** Curves in one panel that a reader can still follow; above it, runs are drawn by agent unless asked for. */
const MOST_RUNS_SHOWN = 8;

/** Requests at the same time. */
const MOST_REQUESTS = 3;

/** In this tab, until an address says otherwise. */
const kept = { quantity: "curve", by: "auto", log: null };

export class Compare {
  constructor(shared, _id, question) {
    this.shared = shared;
    this.title = "Compare";
    if ([...question.keys()].length) {
      const given = (name, known, other) => (known.includes(question.get(name)) ? question.get(name) : other);
      kept.quantity = given("quantity", QUANTITIES.map(([name]) => name), "curve");
      kept.by = { run: "run", agent: "agent", seeds: "agent" }[question.get("by")] || "auto";
      kept.log = { 1: true, 0: false }[question.get("log")] ?? null;
      if (question.has("runs")) shared.setChosen(question.get("runs") === "all" ? "all" : question.get("runs").split(",").filter(Boolean));
    }
    this.large = question.get("large") || "";
    this.controls = new Controls(question, (what) => this.changed(what));
    this.panels = new Map();
    const choice = (name, value, text, title) => el("label", { title }, el("input", { type: "radio", name, value, change: () => this.set(name, value) }), el("span", {}, text));
    this.quantities = el("fieldset", {}, el("legend", { class: "hidden" }, "Quantity"), QUANTITIES.map(([name, text, , about]) => choice("quantity", name, text, about)));
    this.bys = el("fieldset", {}, el("legend", { class: "hidden" }, "Curves"), choice("by", "run", "Each run", "One curve per run"), choice("by", "agent", "By agent", "One curve per agent: the mean over its seeds, with the lowest and the highest as band"));
    this.log = el("button", { type: "button", class: "small-button", title: "Logarithmic vertical axes", click: () => this.set("log", !this.isLog()) }, "log");
    this.csv = el("button", { type: "button", class: "small-button", "data-save": "all", title: "The values of all panels", click: () => this.saveCsv() }, "CSV of all");
    this.about = el("p", { class: "about" });
    this.place = el("div", { class: "panels" });
    this.hint = el("p", { class: "hint", hidden: true }, "No run is chosen. Choose some in the table of ", el("a", { href: "#/" }, "runs"), ", with their boxes or with the key x, or ", el("button", { type: "button", class: "link", click: () => this.all() }, "compare all runs"), ".");
    this.root = el("div", { class: "compare" }, el("div", { class: "tools" }, this.quantities, this.bys), el("div", { class: "tools" }, this.controls.root, this.log, this.csv), this.about, this.hint, this.place);
    this.render();
  }

  close() {
    this.isClosed = true;
    this.panels.forEach(({ chart }) => chart.close());
  }

  /** The chosen runs by game. */
  worlds() {
    const worlds = new Map();
    for (const row of this.shared.chosenRows()) worlds.set(row.world, [...(worlds.get(row.world) || []), row]);
    return new Map([...worlds].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  by() {
    if (kept.by !== "auto") return kept.by;
    return [...this.worlds().values()].some((rows) => MOST_RUNS_SHOWN < rows.length) ? "agent" : "run";
  }

  quantity() {
    return QUANTITIES.find(([name]) => name === kept.quantity);
  }

  isLog() {
    return kept.log ?? Boolean(this.quantity()[4].isLog);
  }

  update(changed) {
    this.render(changed);
  }

  set(name, value) {
    kept[name] = value;
    if (name === "quantity") kept.log = null;
    if (name === "log") this.panels.forEach(({ chart }) => chart.setLog(value));
    else this.panels.forEach((panel) => this.drop(panel));
    this.render();
  }

  /** After a change of what the charts share. */
  changed(what) {
    if (what === "smooth") this.panels.forEach(({ chart }) => chart.setSmooth(this.controls.smooth));
    else if (what === "zoom") this.panels.forEach(({ chart }) => chart.showZoom(this.controls.zoom));
    else this.panels.forEach((panel) => this.request(panel));
    this.remember();
  }

  remember() {
    const { chosen } = this.shared;
    const runs = chosen === "all" ? "all" : [...chosen].join(",");
    write("compare", { ...this.controls.values(), quantity: kept.quantity, by: kept.by, log: kept.log === null ? null : Number(kept.log), large: this.large, runs });
  }

  all() {
    this.shared.setChosen("all");
    this.render();
  }

  drop(panel) {
    panel.chart.close();
    panel.root.remove();
    this.panels.delete(panel.world);
  }

  /** A panel for each game; those with a run in `changed` are requested again. */
  render(changed = null) {
    if (!this.shared.isComplete) return;
    const worlds = this.worlds();
    const by = this.by();
    this.quantities.querySelector(`[value=${kept.quantity}]`).checked = true;
    this.bys.querySelector(`[value=${by}]`).checked = true;
    this.log.setAttribute("aria-pressed", this.isLog());
    this.about.textContent = `${this.quantity()[3]} ${by === "agent" ? "Line: mean over the seeds of an agent; band: from the lowest to the highest seed; fainter where not all seeds are in it." : kept.quantity === "evaluation" ? "Band: 95 % interval of the mean." : "Each line is a run."}`;
    this.hint.hidden = 0 < worlds.size;
    this.csv.hidden = this.log.hidden = this.about.hidden = worlds.size === 0;
    [...this.panels.values()].filter((panel) => !worlds.has(panel.world) || panel.by !== by).forEach((panel) => this.drop(panel));
    for (const [world, rows] of worlds) {
      const known = this.panels.get(world);
      const panel = known || this.panel(world, by);
      const ids = rows.map((row) => row.id);
      const isSame = known && ids.join() === panel.ids.join();
      panel.ids = ids;
      if (!known && kept.quantity === "curve" && this.controls.x === "interactions") this.show(panel, sketches(rows, by), "interactions");
      if (!isSame || changed === null || ids.some((id) => changed.has(id))) this.request(panel);
    }
    const order = [...worlds.keys()].map((world) => this.panels.get(world).root);
    if (order.some((root, i) => this.place.children[i] !== root)) this.place.replaceChildren(...order);
    this.place.classList.toggle("single", worlds.size === 1);
    this.remember();
  }

  panel(world, by) {
    const [, text, label, , options] = this.quantity();
    const chart = new Chart({
      ...options,
      title: world,
      caption: `${world}: ${text.toLowerCase() === "return" ? label : text}`,
      label,
      file: `${world}-${text}`,
      isLog: this.isLog(),
      zoomed: (zoom) => this.controls.setZoom(zoom),
      logged: (is) => this.set("log", is),
      enlarged: (is) => {
        this.large = is ? world : "";
        this.panels.forEach((other) => other.chart !== chart && other.chart.setLarge(false));
        this.remember();
      },
    });
    chart.setLarge(this.large === world);
    const legend = el("ul", { class: "legend" });
    chart.root.append(legend);
    const panel = { world, by, chart, legend, root: chart.root, ids: [] };
    this.panels.set(world, panel);
    return panel;
  }

  /** Asks for a panel's curves; a few at a time, and once more for what changed meanwhile. */
  request(panel) {
    panel.isWanted = true;
    this.requests ??= 0;
    const next = () => [...this.panels.values()].find((other) => other.isWanted && !other.isLoading);
    const work = async () => {
      this.requests += 1;
      for (let found = next(); found && !this.isClosed; found = next()) await this.load(found);
      this.requests -= 1;
    };
    if (this.requests < MOST_REQUESTS) work();
  }

  async load(panel) {
    panel.isWanted = false;
    panel.isLoading = true;
    const { x } = this.controls;
    try {
      const answer = await fetch(`/api/compare?runs=${panel.ids.join(",")}&quantity=${kept.quantity}&by=${panel.by}&x=${x}`);
      const { curves } = answer.ok ? await answer.json() : { curves: null };
      const isWanted = this.panels.get(panel.world) === panel && x === this.controls.x && !this.isClosed;
      if (curves && isWanted) this.show(panel, curves, x);
    } catch {
      // The connection is lost; the update after reconnecting requests again.
    }
    panel.isLoading = false;
  }

  show(panel, curves, axis) {
    const alike = new Map();
    for (const curve of curves) {
      Object.assign(curve, look(curve, panel.by === "run" ? this.rank(curve.ids[0]) : 0), { quantity: kept.quantity, dots: kept.quantity === "evaluation" && panel.by === "run" });
      curve.name = `${curve.label}, ${curve.seeds.length === 1 ? `seed ${curve.seeds[0]}` : `${curve.seeds.length} seeds`}`;
      alike.set(curve.name, (alike.get(curve.name) || 0) + 1);
      if (kept.quantity !== "evaluation" && panel.by === "run") curve.low = curve.high = curve.mean;
    }
    for (const curve of curves) if (1 < alike.get(curve.name)) curve.name += `, ${this.shared.rows.get(curve.ids[0])?.name ?? ""}`;
    curves.sort((a, b) => a.colour - b.colour || a.pattern - b.pattern || a.seeds[0] - b.seeds[0]);
    panel.chart.show(curves, { axis, smooth: this.controls.smooth, zoom: this.controls.zoom });
    const format = panel.chart.options.format;
    panel.legend.replaceChildren(
      ...curves.map((curve) => {
        const last = curve.mean.length ? format(curve.mean[curve.mean.length - 1]) : "no values";
        const name = agent(curve);
        const seeds = el("span", { class: "muted" }, `${curve.seeds.length === 1 ? "seed" : "seeds"} ${ranges(curve.seeds)}`);
        return el(
          "li",
          { title: [curve.name, curve.note].filter(Boolean).join("\n") },
          sample(curve),
          panel.by === "run" ? el("a", { href: `#/run/${curve.ids[0]}` }, name) : name,
          seeds,
          el("span", { class: "run-states" }, this.runStates(curve)),
          el("b", { title: "the newest value" }, last),
          el("button", { type: "button", "aria-label": `Leave out ${curve.name}`, title: "Leave out", click: () => this.leave(curve.ids) }, "×"),
        );
      }),
    );
  }

  /** The place of a run among all runs of its agent in its game: the same whatever is chosen beside it. */
  rank(id) {
    const row = this.shared.rows.get(id);
    if (!row) return 0;
    const group = [...this.shared.rows.values()].filter((other) => other.group === row.group);
    return group.sort((a, b) => a.seed - b.seed || (a.name < b.name ? -1 : 1)).findIndex((other) => other.id === id);
  }

  /** The states of a curve's runs; that all are finished goes without saying. */
  runStates(curve) {
    const counts = new Map();
    const rows = curve.ids.map((id) => this.shared.rows.get(id)).filter(Boolean);
    if (rows.length === 1) return rows[0].state === "finished" ? [] : [state(rows[0])];
    rows.forEach((row) => counts.set(row.state, (counts.get(row.state) || 0) + 1));
    return [...counts].filter(([name]) => name !== "finished").map(([name, count]) => el("span", { class: `state ${name}` }, `${count} ${name}`));
  }

  leave(ids) {
    const left = this.shared.chosenRows().map((row) => row.id).filter((id) => !ids.includes(id));
    this.shared.setChosen(left);
    this.render(new Set());
  }

  saveCsv() {
    const curves = [...this.panels.values()].flatMap(({ chart }) => chart.given);
    download(`comparison-${kept.quantity}.csv`, "text/csv", curvesCsv(curves, { title: kept.quantity, axis: this.controls.x }));
  }
}

/** What the rows of the table know, for the moment until the whole curves are read: sixty points of each run. */
function sketches(rows, by) {
  const groups = new Map();
  for (const row of rows.slice().sort((a, b) => a.seed - b.seed)) {
    const key = by === "run" ? row.id : row.group;
    groups.set(key, [...(groups.get(key) || []), row]);
  }
  return [...groups.values()].map((group) => {
    const { world, label, note, colour, pattern } = group[0];
    const curve = { ids: group.map((row) => row.id), seeds: group.map((row) => row.seed), world, label, note, colour, pattern, x: [], mean: [], low: [], high: [] };
    const places = group.length === 1 ? group[0].trend.map((point) => point[0]) : grid(Math.max(0, ...group.map((row) => row.trend[row.trend.length - 1]?.[0] ?? 0)));
    for (const x of places) {
      const values = group.map((row) => valueAt(row.trend, x)).filter((value) => value !== null);
      if (values.length === 0) continue;
      curve.x.push(x);
      curve.mean.push(values.reduce((sum, value) => sum + value, 0) / values.length);
      curve.low.push(Math.min(...values));
      curve.high.push(Math.max(...values));
    }
    return curve;
  });
}

function grid(end) {
  return Array.from({ length: 61 }, (_, i) => (end * i) / 60);
}

/** Between two points; none outside of them. */
function valueAt(points, x) {
  const next = points.findIndex((point) => x <= point[0]);
  if (next < 0) return null;
  if (points[next][0] === x) return points[next][1];
  if (next === 0) return null;
  const [[x0, y0], [x1, y1]] = [points[next - 1], points[next]];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

/** `1–3, 7` of sorted seeds. */
function ranges(seeds) {
  const parts = [];
  for (const seed of seeds) {
    const last = parts[parts.length - 1];
    if (last && seed === last[1] + 1) last[1] = seed;
    else parts.push([seed, seed]);
  }
  return parts.map(([from, to]) => (from === to ? String(from) : to === from + 1 ? `${from}, ${to}` : `${from}–${to}`)).join(", ");
}
