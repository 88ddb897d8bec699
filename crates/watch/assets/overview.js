// All runs in a table: filtered, sorted, chosen for comparison.

import { write } from "/address.js";
import { agent, ago, bar, count, el, left, leftText, number, speed, state, trend } from "/format.js";
import { csv, download } from "/save.js";

const STATES = ["running", "failed", "stale", "stopped", "finished"];

/** Columns: name, heading, sort key, cell, a word of explanation. */
const COLUMNS = [
  ["state", "State", (row) => STATES.indexOf(row.state), state, "running, finished, stopped, failed or stale; ? explains them"],
  ["world", "Game", (row) => row.world || row.name, (row) => el("a", { href: `#/run/${row.id}`, title: `${row.world}\n${row.name}` }, row.world || row.name), "the world it plays in"],
  ["agent", "Agent", (row) => row.label, agent, "the agent; in brackets what tells it from its variants in the same game"],
  ["seed", "Seed", (row) => row.seed, (row) => String(row.seed), "seed of all its randomness"],
  ["trend", "Learning curve", null, (row) => (row.problem ? el("span", { class: "problem" }, row.problem) : el("a", { href: `#/run/${row.id}`, tabindex: -1, title: "open the run" }, trend(row))), "mean return of the last 100 episodes over interactions, up to its budget"],
  ["return", "Return", (row) => row.return_mean ?? -Infinity, (row) => number(row.return_mean), "mean of the last 100 episodes of training"],
  ["done", "Progress", (row) => (row.budget ? row.reached / row.budget : 0), bar, "interactions so far, of its budget"],
  ["steps", "Interactions", (row) => row.reached, (row) => count(row.reached), "decisions of the agent so far; one is 4 frames on Atari"],
  ["speed", "Speed", (row) => (row.state === "running" ? row.speed : 0), (row) => (row.state === "running" ? speed(row.speed) : ""), "interactions per second, of the last record"],
  ["left", "Left", (row) => left(row) ?? Infinity, (row) => el("span", { title: leftText(row) === "warm-up" ? `it learns from ${count(row.learning_starts)} interactions on; until then its speed says nothing about the rest` : "" }, leftText(row)), "time it still needs, at its speed since it learns"],
  ["updated", "Last write", (row) => -row.updated_unix, (row, shared) => ago(shared.now() - row.updated_unix), "age of its newest record"],
];

/** Filter and sort order, kept between visits. */
const kept = { text: "", world: "", agent: "", seed: "", state: "", by: "state", down: false };

export class Overview {
  constructor(shared, _id, question) {
    this.shared = shared;
    this.title = "Runs";
    if ([...question.keys()].length) {
      for (const name of ["text", "world", "agent", "seed"]) kept[name] = question.get(name) || "";
      kept.state = STATES.includes(question.get("state")) ? question.get("state") : "";
      kept.by = COLUMNS.some(([name, , by]) => by && name === question.get("sort")) ? question.get("sort") : "state";
      kept.down = question.has("down");
      if (question.has("chosen")) shared.setChosen(question.get("chosen") === "all" ? "all" : question.get("chosen").split(","));
    }
    this.lines = new Map();
    this.filter = el("input", { type: "search", placeholder: "Filter: game, agent, seed …", "aria-label": "Filter runs", value: kept.text, input: () => this.set("text", this.filter.value) });
    this.world = el("select", { "aria-label": "Game", change: () => this.set("world", this.world.value) });
    this.agent = el("select", { "aria-label": "Agent", change: () => this.set("agent", this.agent.value) });
    this.seed = el("select", { "aria-label": "Seed", change: () => this.set("seed", this.seed.value) });
    this.sort = el("select", { "aria-label": "Sort by", class: "sort", change: () => this.order(this.sort.value) }, COLUMNS.filter((column) => column[2]).map(([name, head]) => el("option", { value: name }, `by ${head.toLowerCase()}`)));
    this.states = el("div", { class: "states", role: "group", "aria-label": "States" });
    this.body = el("tbody");
    this.heads = COLUMNS.map(([name, head, by, , about]) => el("th", { scope: "col", class: `col-${name}`, title: about }, by ? el("button", { type: "button", click: () => this.order(name) }, head) : head));
    this.hint = el("p", { class: "hint" }, "Reading the runs …");
    this.every = el("input", { type: "checkbox", "aria-label": "Choose all runs shown", title: "Choose all runs shown", change: () => this.chooseShown() });
    this.csv = el("button", { type: "button", class: "small-button", "data-save": "runs", title: "The table as it is filtered and sorted", click: () => this.saveCsv() }, "CSV");
    this.bar = el("div", { class: "chosen", hidden: true }, el("span"), el("a", { href: "#/compare", class: "button" }, "Compare"), el("button", { type: "button", click: () => this.unchoose() }, "Clear"));
    this.root = el(
      "div",
      { class: "overview" },
      el("div", { class: "tools" }, this.filter, this.world, this.agent, this.seed, this.sort, this.csv, this.states),
      el("table", { class: "runs" }, el("caption", { class: "hidden" }, "Runs"), el("thead", {}, el("tr", {}, el("th", { class: "col-choose" }, this.every), this.heads)), this.body),
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
      if (row) line.querySelector("td.col-updated").textContent = ago(this.shared.now() - row.updated_unix);
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
    // Of the folder only the last two parts count: those above them are the same for all runs.
    const words = kept.text.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (row, word) => (/^\d+$/.test(word) ? row.seed === Number(word) || row.world.includes(word) : `${row.world} ${row.label} ${row.note || ""} seed-${row.seed} ${row.state} ${row.name.split("/").slice(-2).join("/")}`.toLowerCase().includes(word));
    const by = COLUMNS.find((column) => column[0] === kept.by)[2];
    const compare = (a, b) => (a < b ? -1 : b < a ? 1 : 0);
    const order = (a, b) => (kept.down ? -1 : 1) * compare(by(a), by(b)) || compare(a.world, b.world) || compare(a.label, b.label) || a.seed - b.seed || compare(a.name, b.name);
    return [...this.shared.rows.values()]
      .filter((row) => (!kept.world || row.world === kept.world) && (!kept.agent || row.label === kept.agent) && (!kept.seed || row.seed === Number(kept.seed)) && (!kept.state || row.state === kept.state))
      .filter((row) => words.every((word) => fits(row, word)))
      .sort(order);
  }

  render() {
    const { rows, isComplete } = this.shared;
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
    const known = this.shared.chosenRows();
    this.bar.hidden = known.length === 0;
    this.bar.firstChild.textContent = `${known.length} ${known.length === 1 ? "run" : "runs"} chosen`;
    this.every.checked = 0 < shown.length && shown.every((row) => this.shared.isChosen(row.id));
    this.csv.hidden = shown.length === 0;
    this.remember();
  }

  remember() {
    if (!this.shared.isComplete) return;
    const { chosen } = this.shared;
    write("", { sort: kept.by, down: kept.down ? 1 : null, text: kept.text, world: kept.world, agent: kept.agent, seed: kept.seed, state: kept.state, chosen: chosen === "all" ? "all" : [...chosen].join(",") });
  }

  chooseShown() {
    const shown = this.shown().map((row) => row.id);
    const others = this.shared.chosenRows().map((row) => row.id).filter((id) => !shown.includes(id));
    const isAll = this.every.checked && shown.length === this.shared.rows.size;
    this.shared.setChosen(isAll ? "all" : this.every.checked ? [...others, ...shown] : others);
    this.render();
  }

  saveCsv() {
    const lines = this.shown().map((row) => [row.world, row.label, row.note, row.seed, row.state, row.return_mean, row.episodes, row.reached, row.budget, row.speed, row.name]);
    download("runs.csv", "text/csv", csv([["game", "agent", "settings", "seed", "state", "return_mean_last_100", "episodes", "interactions", "budget_interactions", "interactions_per_second", "folder"], ...lines]));
  }

  /** The row's line, rebuilt only if the row changed. */
  line(row) {
    let line = this.lines.get(row.id);
    const isChosen = this.shared.isChosen(row.id);
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
