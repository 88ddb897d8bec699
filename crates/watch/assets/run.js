// One run: its state, curves, film, evaluations, gallery and settings. Follows the updates of the run.

import { of, write } from "/address.js";
import { Chart } from "/chart.js";
import { Controls } from "/controls.js";
import { Film } from "/film.js";
import { gallery } from "/gallery.js";
import { ago, agent, bar, bytes, count, date, el, leftText, number, percent, speed, state } from "/format.js";

/** Name, title, label of the axis, quantities drawn together, a word of explanation, options. */
const CHARTS = [
  { key: "return", title: "Return", label: "return of an episode", of: ["return", "curve"], about: "Line: mean of the last 100 training episodes. Band: lowest to highest episode." },
  { key: "evaluation", title: "Evaluation while training", label: "mean return", of: ["evaluation"], dots: true, about: "Mean return without noise, on seeds of its own. Band: 95 % interval of the mean." },
  { key: "sigma", title: "|σ| of the states", label: "|σ|", of: ["sigma"], isLog: true, about: "How much noise the states it acts in get: mean, and smallest to largest." },
  { key: "exploration", title: "Effective exploration", label: "share of actions", of: ["exploration"], from: 0, to: 1, format: percent, tick: percent, about: "Share of interactions in which noise or chance changed the action." },
  { key: "loss", title: "Loss", label: "loss", of: ["loss"], isLog: true, wide: false, about: "Mean loss of the training steps. It need not fall: its target moves." },
  { key: "q", title: "Q of the actions taken", label: "Q", of: ["q"], about: "Discounted return that the agent expects from its actions." },
  { key: "speed", title: "Interactions per second", label: "interactions per second", of: ["speed"], from: 0, about: "Fast before it learns, then the speed of learning." },
];

const NAMES = { return: "episodes (mean, range)", curve: "mean of the last 100", sigma: "mean |σ| (range)", exploration: "share of actions", loss: "loss", q: "Q", speed: "per second", evaluation: "evaluation (95 % interval)" };

export class RunView {
  constructor(shared, id, question) {
    this.shared = shared;
    this.id = id;
    this.title = "Run";
    const list = (name) => (question.get(name) || "").split(",").filter(Boolean);
    this.logs = question.has("log") ? new Set(list("log")) : new Set(CHARTS.filter((chart) => chart.isLog).map((chart) => chart.key));
    this.larges = new Set(list("large"));
    this.controls = new Controls(question, (what) => this.changed(what));
    this.head = el("div", { class: "run-head" }, el("p", { class: "hint" }, "Reading the run …"));
    this.figures = el("dl", { class: "figures" });
    const toggle = (set, key) => (is) => {
      if (is) set.add(key);
      else set.delete(key);
      this.remember();
    };
    this.charts = CHARTS.map((options) => {
      const { key } = options;
      const chart = new Chart({ ...options, isLog: this.logs.has(key), zoomed: (zoom) => this.controls.setZoom(zoom), logged: toggle(this.logs, key), enlarged: toggle(this.larges, key) });
      chart.setLarge(this.larges.has(key));
      return { ...options, chart };
    });
    this.film = null;
    this.filmPlace = el("section", { class: "film", hidden: true, "aria-label": "The agent, live" });
    this.galleryPlace = el("section", { class: "gallery", hidden: true, "aria-label": "Risk gallery" });
    this.evaluations = el("section", { hidden: true });
    this.processes = el("section", { hidden: true });
    this.settings = el("details", { class: "settings" }, el("summary", {}, "Settings"), el("pre"));
    this.root = el(
      "div",
      { class: "run" },
      this.head,
      this.figures,
      this.filmPlace,
      el("div", { class: "tools" }, this.controls.root),
      el("div", { class: "charts" }, this.charts.map(({ chart }) => chart.root)),
      this.evaluations,
      this.galleryPlace,
      this.processes,
      this.settings,
    );
    this.shown = {};
    this.asked = 0;
    this.remember();
    this.load();
  }

  /** After a change of what the charts share. */
  changed(what) {
    if (what === "smooth") this.charts.forEach(({ chart }) => chart.setSmooth(this.controls.smooth));
    else if (what === "zoom") this.charts.forEach(({ chart }) => chart.showZoom(this.controls.zoom));
    else this.load();
    this.remember();
  }

  remember() {
    write(`run/${this.id}`, { ...this.controls.values(), log: [...this.logs].join(",") || "none", large: [...this.larges].join(",") });
  }

  close() {
    this.isClosed = true;
    this.charts.forEach(({ chart }) => chart.close());
    this.film?.close();
  }

  update(changed) {
    if (changed === null || changed.has(this.id)) this.load();
  }

  tick() {
    const row = this.shared.rows.get(this.id);
    if (row && this.age) this.age.textContent = ago(this.shared.now() - row.updated_unix);
  }

  /** Requests the run; updates that arrive while a response is awaited cause one more request. */
  async load() {
    this.asked += 1;
    if (this.isLoading) return;
    this.isLoading = true;
    while (this.asked && !this.isClosed) {
      this.asked = 0;
      try {
        const { x } = this.controls;
        const answer = await fetch(`/api/runs/${encodeURIComponent(this.id)}?x=${x}`);
        if (this.isClosed) return;
        if (answer.ok) this.show(await answer.json(), x);
        else if (this.shared.isComplete) this.head.replaceChildren(el("p", { class: "hint" }, await answer.text(), el("a", { href: "#/" }, "All runs")));
      } catch {
        // The connection is lost; the update after reconnecting requests again.
      }
    }
    this.isLoading = false;
  }

  show({ row, head, history }, axis) {
    this.title = `${row.world} ${row.label} seed ${row.seed}`;
    document.title = `${this.title} · SANE watch`;
    this.hasModule = Object.keys(head.settings || {}).some((key) => key.startsWith("learner.exploration.module."));
    this.showHead(row);
    this.showFigures(row, history);
    const last = history.last_interval || {};
    const newest = history.series.evaluation.mean;
    const now = { curve: row.return_mean, sigma: last.sigma?.mean_abs, exploration: last.effective_exploration_share, loss: last.loss_mean, q: last.q_mean, speed: row.speed, evaluation: newest[newest.length - 1] };
    for (const { chart, of: quantities, key, dots } of this.charts) {
      const drawn = (name) => (name === "return" ? { ...groups(history.series.return), faint: true, bandOnly: true } : history.series[name]);
      const curves = quantities.map((name) => ({ name: NAMES[name], quantity: name, world: row.world, label: row.label, seeds: [row.seed], colour: row.colour, dots, ...drawn(name) }));
      chart.options.file = `${row.world}-${row.label}-seed-${row.seed}-${key}`;
      chart.options.caption = `${chart.options.title}: ${this.title}`;
      chart.root.hidden = curves.every((curve) => curve.x.length === 0) && key !== "return";
      chart.show(curves, { axis, smooth: this.controls.smooth, zoom: this.controls.zoom, end: axis === "interactions" ? row.reached : 0, now: now[quantities[quantities.length - 1]] });
    }
    this.showEvaluations(head.evaluations);
    this.showProcesses(history);
    this.settings.querySelector("pre").textContent = head.settings ? Object.entries(head.settings).map(([key, value]) => `${key} = ${value}`).join("\n") : row.problem || "";
    this.showFilm(row);
    this.showGallery(row);
  }

  showHead(row) {
    const rows = [...this.shared.rows.values()];
    const seeds = rows.filter((other) => other.group === row.group);
    const rivals = rows.filter((other) => other.world === row.world && other.budget === row.budget);
    const agents = new Set(rivals.map((other) => other.group)).size;
    this.age = el("span", {}, ago(this.shared.now() - row.updated_unix));
    const compare = (chosen, by) => of("compare", { x: this.controls.x, smooth: this.controls.smooth || "0", by, runs: chosen.map((other) => other.id).join(",") });
    this.head.replaceChildren(
      el("h1", {}, row.world || row.name, " ", agent(row), el("small", {}, `seed ${row.seed}`)),
      row.note ? el("p", { class: "muted small note" }, row.note) : "",
      el("p", { class: "run-progress" }, state(row), bar(row), el("span", {}, `${count(row.reached)} of ${count(row.budget)} interactions`), el("span", { class: "muted" }, "last write ", this.age), el("code", {}, row.name)),
      el(
        "p",
        { class: "run-links" },
        1 < seeds.length ? el("a", { href: compare(seeds, "run") }, `Compare its ${seeds.length} seeds`) : null,
        1 < agents ? el("a", { href: compare(rivals, "agent") }, `Compare ${agents} agents in this game`) : null,
      ),
    );
  }

  // The share of states in which σ(s) is one constant. A module may be constant with units that react: at the floor of σ.
  constantShare(module) {
    if (!module || !this.hasModule) return null;
    const isConstant = module.live_units_share <= 0 || module.sigma_spread_abs <= 1e-6 * module.sigma_mean_abs;
    return isConstant ? 1 : module.dead_states_share;
  }

  showFigures(row, history) {
    const last = history.last_interval || {};
    const best = history.best_evaluation;
    const isWarmUp = leftText(row) === "warm-up";
    const dead = this.constantShare(last.module);
    const known = [
      ["Return", number(row.return_mean), "mean of the last 100 episodes"],
      best ? ["Best evaluation", number(best.mean), `mean of ${count(best.episodes)} episodes, after ${count(best.interactions)} interactions`] : null,
      ["Episodes", count(row.episodes), "whole ones so far"],
      row.state === "running" ? ["Speed", speed(row.speed), "interactions per second, now"] : null,
      row.state === "running" ? ["Time left", isWarmUp ? "…" : leftText(row) || "–", isWarmUp ? `known once it learns, from ${count(row.learning_starts)} interactions on` : "at its speed since it learns"] : null,
      last.sigma ? ["|σ|", number(last.sigma.mean_abs), "mean noise of its states, now"] : null,
      last.epsilon !== undefined ? ["ε", number(last.epsilon), "chance of a random action"] : null,
      last.effective_exploration_share !== undefined ? ["Explores", percent(last.effective_exploration_share), "actions changed by noise or chance"] : null,
      last.loss_mean !== undefined ? ["Loss", number(last.loss_mean), "mean of the last interval"] : null,
      last.module && this.hasModule ? ["Live units of σ", percent(last.module.live_units_share), "units of its σ network that react"] : null,
      dead !== undefined && dead !== null ? ["States without σ(s)", percent(dead) + (0.5 < dead ? " ⚠" : ""), "where σ is the same constant"] : null,
      history.resident_bytes ? ["Memory", bytes(history.resident_bytes), "of its process"] : null,
      history.started ? ["Parameters", count(history.started.parameters), "trainable numbers of its network"] : null,
      history.bad_lines ? ["Unreadable lines", count(history.bad_lines), "of its records, left out here"] : null,
    ];
    this.figures.replaceChildren(...known.filter(Boolean).map(([name, value, about]) => el("div", { title: about }, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "about" }, about))));
  }

  showEvaluations(evaluations) {
    this.evaluations.hidden = evaluations.length === 0;
    if (this.evaluations.hidden) return;
    const lines = evaluations.slice(-12).reverse().map((found) => el("tr", {}, el("td", {}, count(found.trained_interactions)), el("td", {}, found.noise), el("td", {}, number(found.return_mean)), el("td", {}, `${number(found.interval[0])} – ${number(found.interval[1])}`), el("td", {}, count(found.episodes) + (found.partial ? " (stopped early)" : "")), el("td", {}, found.human_normalised === null ? "–" : percent(found.human_normalised))));
    this.evaluations.replaceChildren(
      el("h2", {}, "Evaluations"),
      el("p", { class: "muted small" }, "Made by sane eval: the trained policy plays whole episodes; the interval is that of the mean."),
      el("div", { class: "scroll" }, el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ["After", "Noise", "Return", "95 % interval", "Episodes", "Of human"].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, lines))),
    );
  }

  showProcesses({ processes, shares }) {
    this.processes.hidden = processes.length === 0;
    if (this.processes.hidden) return;
    const lines = processes.slice(-8).reverse().map((process) => el("tr", {}, el("td", {}, date(process.started_unix)), el("td", {}, count(process.from_interactions)), el("td", {}, process.reason ? `${process.reason === "asked" ? "stopped" : process.reason} ${date(process.stopped_unix)}` : "–"), el("td", {}, String(process.threads)), el("td", {}, process.version), el("td", {}, process.machine || "–")));
    const named = { train_step: "train step", act: "act", emulator: "world", replay: "replay", checkpoint: "checkpoint", rest: "rest" };
    const parts = shares ? Object.entries(named).map(([key, name], i) => [name, shares[key], i]).filter(([, share]) => 0.005 <= share) : [];
    this.processes.replaceChildren(
      el("h2", {}, "Processes"),
      el("p", { class: "muted small" }, "Each start of the run, newest first; the bar shows what the time of the last interval went into."),
      shares ? el("div", { class: "shares", role: "img", "aria-label": `Time: ${parts.map(([name, share]) => `${name} ${percent(share)}`).join(", ")}` }, parts.map(([name, share, i]) => el("span", { class: `share s${i}`, title: `${name} ${percent(share)}` }, 0.09 <= share ? `${name} ${percent(share)}` : ""))) : null,
      el("div", { class: "scroll" }, el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ["Started", "From", "Ended", "Threads", "Version", "Machine"].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, lines))),
    );
    this.processes.querySelectorAll(".share").forEach((part, i) => part.style.setProperty("flex-grow", parts[i][1]));
  }

  async showFilm(row) {
    if (row.film === null || row.film === this.shown.film) return;
    this.shown.film = row.film;
    const answer = await fetch(`/api/runs/${this.id}/film?made=${row.film}`);
    if (!answer.ok || this.isClosed) return;
    const film = await Film.parse(await answer.arrayBuffer(), row).catch(() => null);
    if (!film || this.isClosed) return;
    this.film?.close(film);
    this.film = film;
    this.filmPlace.hidden = false;
    this.filmPlace.replaceChildren(el("h2", {}, "The agent, live"), el("p", { class: "muted small" }, "The newest filmed episode, as the agent saw it."), film.root);
    film.begin();
  }

  async showGallery(row) {
    if (row.gallery === null || row.gallery === this.shown.gallery) return;
    this.shown.gallery = row.gallery;
    const answer = await fetch(`/api/runs/${this.id}/gallery`);
    const found = answer.ok ? await answer.json().catch(() => null) : null;
    if (!found?.subject || this.isClosed) return;
    this.galleryPlace.hidden = false;
    this.galleryPlace.replaceChildren(el("h2", {}, "Risk gallery"), gallery(found, row.colour, (name) => `/api/runs/${this.id}/gallery/${name.split("/").map(encodeURIComponent).join("/")}?made=${row.gallery}`));
  }

  key(event) {
    if (event.key === " " && this.film && !event.target.closest("button, a, summary")) this.film.toggle();
    else if (event.key === "[" || event.key === "]") {
      const rows = [...this.shared.rows.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
      const at = rows.findIndex((row) => row.id === this.id) + (event.key === "]" ? 1 : -1);
      if (rows[at]) location.hash = `#/run/${rows[at].id}`;
    } else return false;
    return true;
  }
}

/** Episodes scatter: they are drawn as about eighty groups, each from its lowest to its highest return. */
function groups({ x, mean, low, high }) {
  const size = Math.ceil(x.length / 80);
  const starts = x.map((_, i) => i).filter((i) => i % size === 0);
  const part = (list, of) => starts.map((i) => of(list.slice(i, i + size)));
  const average = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
  return { x: part(x, average), mean: part(mean, average), low: part(low, (list) => Math.min(...list)), high: part(high, (list) => Math.max(...list)) };
}
