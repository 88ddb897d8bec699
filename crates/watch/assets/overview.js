// All runs in a table: filtered, sorted, chosen for comparison.

import { agent, ago, bar, count, duration, el, left, number, speed, state, trend } from "/format.js";

const STATES = ["running", "failed", "stale", "stopped", "finished"];

/** Columns: name, heading, sort key, cell. */
const COLUMNS = [
  ["state", "State", (row) => STATES.indexOf(row.state), state],
  ["world", "Game", (row) => row.world || row.name, (row) => el("a", { href: `#/run/${row.id}`, title: row.name }, row.world || row.name)],
  ["agent", "Agent", (row) => row.label, agent],
  ["seed", "Seed", (row) => row.seed, (row) => String(row.seed)],
  ["trend", "Learning curve", null, (row) => (row.problem ? el("span", { class: "problem" }, row.problem) : trend(row))],
  ["return", "Return", (row) => row.return_mean ?? -Infinity, (row) => number(row.return_mean)],
  ["done", "Progress", (row) => (row.budget ? row.reached / row.budget : 0), bar],
  ["steps", "Interactions", (row) => row.reached, (row) => count(row.reached)],
  ["speed", "Speed", (row) => (row.state === "running" ? row.speed : 0), (row) => (row.state === "running" ? speed(row.speed) : "")],
  ["left", "Left", (row) => left(row) ?? Infinity, (row) => (left(row) === null ? "" : duration(left(row)))],
  ["news", "Last write", (row) => -row.news_unix, (row, shared) => ago(shared.now() - row.news_unix)],
];

/** Filter and sort order, kept between visits. */
const kept = { text: "", world: "", agent: "", seed: "", state: "", by: "state", down: false };

export class Overview {
  constructor(shared) {
    this.shared = shared;
    this.title = "Runs";
    this.lines = new Map();
    this.filter = el("input", { type: "search", placeholder: "Filter: game, agent, seed …", "aria-label": "Filter runs", value: kept.text, input: () => this.set("text", this.filter.value) });
    this.world = el("select", { "aria-label": "Game", change: () => this.set("world", this.world.value) });
    this.agent = el("select", { "aria-label": "Agent", change: () => this.set("agent", this.agent.value) });
    this.seed = el("select", { "aria-label": "Seed", change: () => this.set("seed", this.seed.value) });
    this.sort = el("select", { "aria-label": "Sort by", class: "sort", change: () => this.order(this.sort.value) }, COLUMNS.filter((column) => column[2]).map(([name, head]) => el("option", { value: name }, `by ${head.toLowerCase()}`)));
    this.states = el("div", { class: "states", role: "group", "aria-label": "States" });
    this.body = el("tbody");
    this.heads = COLUMNS.map(([name, head, by]) => el("th", { scope: "col", class: `col-${name}` }, by ? el("button", { type: "button", click: () => this.order(name) }, head) : head));
    this.hint = el("p", { class: "hint" }, "Reading the runs …");
    this.bar = el("div", { class: "chosen", hidden: true }, el("span"), el("a", { href: "#/compare", class: "button" }, "Compare"), el("button", { type: "button", click: () => this.unchoose() }, "Clear"));
    this.root = el(
      "div",
      { class: "overview" },
      el("div", { class: "tools" }, this.filter, this.world, this.agent, this.seed, this.sort, this.states),
      el("table", { class: "runs" }, el("caption", { class: "hidden" }, "Runs"), el("thead", {}, el("tr", {}, el("th", { class: "col-choose" }, el("span", { class: "hidden" }, "Choose")), this.heads)), this.body),
      this.hint,
      this.bar,
    );
    this.render();
  }

  close() {}

  update() {
    this.render();
  }

  /** Ages grow without updates. */
  tick() {
    for (const [id, line] of this.lines) {
      const row = this.shared.rows.get(id);
      if (row) line.querySelector("td.col-news").textContent = ago(this.shared.now() - row.news_unix);
    }
  }

  set(name, value) {
    kept[name] = value;
    this.render();
  }

  order(name) {
    kept.down = kept.by === name ? !kept.down : name === "return" || name === "done" || name === "steps" || name === "speed";
    kept.by = name;
    this.render();
  }

  unchoose() {
    this.shared.setChosen([]);
    this.render();
  }

  shown() {
    const words = kept.text.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (row, word) => (/^\d+$/.test(word) ? row.seed === Number(word) || row.world.includes(word) : `${row.world} ${row.label} seed-${row.seed} ${row.state} ${row.name}`.toLowerCase().includes(word));
    const by = COLUMNS.find((column) => column[0] === kept.by)[2];
    const compare = (a, b) => (a < b ? -1 : b < a ? 1 : 0);
    const order = (a, b) => (kept.down ? -1 : 1) * compare(by(a), by(b)) || compare(a.world, b.world) || compare(a.label, b.label) || a.seed - b.seed || compare(a.name, b.name);
    return [...this.shared.rows.values()]
      .filter((row) => (!kept.world || row.world === kept.world) && (!kept.agent || row.label === kept.agent) && (!kept.seed || row.seed === Number(kept.seed)) && (!kept.state || row.state === kept.state))
      .filter((row) => words.every((word) => fits(row, word)))
      .sort(order);
  }

  render() {
    const { rows, chosen, isComplete } = this.shared;
    const all = [...rows.values()];
    options(this.world, "All games", all.map((row) => row.world), kept.world);
    options(this.agent, "All agents", all.map((row) => row.label), kept.agent);
    options(this.seed, "All seeds", all.map((row) => String(row.seed)), kept.seed);
    this.sort.value = kept.by;
    this.states.replaceChildren(
      ...STATES.map((name) => [name, all.filter((row) => row.state === name).length])
        .filter(([name, number]) => number || kept.state === name)
        .map(([name, number]) => el("button", { type: "button", class: `state ${name}`, "aria-pressed": kept.state === name, click: () => this.set("state", kept.state === name ? "" : name) }, `${number} ${name}`)),
    );
    this.heads.forEach((head, i) => {
      if (COLUMNS[i][0] === kept.by) head.setAttribute("aria-sort", kept.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const shown = this.shown();
    const focused = document.activeElement?.closest?.("tr")?.dataset.id;
    const lines = shown.map((row) => this.line(row));
    const isSame = lines.length === this.body.children.length && lines.every((line, i) => this.body.children[i] === line);
    if (!isSame) this.body.replaceChildren(...lines);
    if (focused && !isSame) this.lines.get(focused)?.querySelector("a")?.focus({ preventScroll: true });
    this.hint.hidden = 0 < shown.length;
    this.hint.textContent = !isComplete ? "Reading the runs …" : all.length ? "No run fits the filter." : "No runs here yet. Start one with: sane train minatar/breakout --agent sane";
    const known = [...chosen].filter((id) => rows.has(id));
    this.bar.hidden = known.length === 0;
    this.bar.firstChild.textContent = `${known.length} ${known.length === 1 ? "run" : "runs"} chosen`;
  }

  /** The row's line, rebuilt only if the row changed. */
  line(row) {
    let line = this.lines.get(row.id);
    const isChosen = this.shared.chosen.has(row.id);
    if (line && line.row === row) {
      line.querySelector("input").checked = isChosen;
      return line;
    }
    const box = el("input", { type: "checkbox", "aria-label": `Choose ${row.world} ${row.label} seed ${row.seed}`, change: () => this.choose(row.id) });
    box.checked = isChosen;
    const cells = COLUMNS.map(([name, , , cell]) => el("td", { class: `col-${name}` }, cell(row, this.shared)));
    if (!line) {
      line = el("tr", { "data-id": row.id, click: (event) => event.target.closest("a, input, label, button") || String(getSelection()) || (location.hash = `#/run/${row.id}`) });
      this.lines.set(row.id, line);
    }
    line.replaceChildren(el("td", { class: "col-choose" }, box), ...cells);
    line.row = row;
    return line;
  }

  choose(id) {
    this.shared.choose(id);
    this.render();
  }

  key(event) {
    const links = [...this.body.querySelectorAll("td.col-world a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "/") this.filter.focus();
    else if (event.key === "j" || event.key === "ArrowDown") links[Math.min(links.length - 1, at + 1)]?.focus();
    else if (event.key === "k" || event.key === "ArrowUp") links[Math.max(0, at - 1)]?.focus();
    else if (event.key === "x" && 0 <= at) this.choose(links[at].closest("tr").dataset.id);
    else return false;
    return true;
  }
}

function options(select, all, values, chosen) {
  const names = [...new Set(values)].filter(Boolean).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const wanted = ["", ...names].join("\n");
  if (select.dataset.names !== wanted) {
    select.dataset.names = wanted;
    select.replaceChildren(el("option", { value: "" }, all), ...names.map((name) => el("option", { value: name }, name)));
  }
  select.value = chosen;
  select.hidden = names.length < 2;
}
