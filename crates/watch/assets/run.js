// One run: its state, curves, film, evaluations, gallery and settings. Follows the updates of the run.

import { Chart } from "/chart.js";
import { Film } from "/film.js";
import { gallery } from "/gallery.js";
import { ago, agent, bar, bytes, count, date, duration, el, left, number, percent, speed, state } from "/format.js";

/** Title, quantities drawn together, options. */
const CHARTS = [
  { title: "Return", of: ["return", "curve"] },
  { title: "|σ| of the states", of: ["sigma"], log: true },
  { title: "Effective exploration", of: ["exploration"], from: 0, to: 1, format: percent, tick: percent },
  { title: "Loss", of: ["loss"], log: true, wide: false },
  { title: "Q of the actions taken", of: ["q"] },
  { title: "Interactions per second", of: ["speed"], from: 0 },
];

const NAMES = { return: "episodes (mean, range)", curve: "mean of the last 100", sigma: "mean |σ| (range)", exploration: "share of actions", loss: "loss", q: "Q", speed: "per second" };

export class RunView {
  constructor(shared, id) {
    this.shared = shared;
    this.id = id;
    this.title = "Run";
    this.head = el("div", { class: "run-head" }, el("p", { class: "hint" }, "Reading the run …"));
    this.figures = el("dl", { class: "figures" });
    this.charts = CHARTS.map((options) => ({ ...options, chart: new Chart(options) }));
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
      el("div", { class: "charts" }, this.charts.map(({ chart }) => chart.root)),
      this.evaluations,
      this.galleryPlace,
      this.processes,
      this.settings,
    );
    this.shown = {};
    this.asked = 0;
    this.load();
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
    if (row && this.age) this.age.textContent = ago(this.shared.now() - row.news_unix);
  }

  /** Requests the run; updates that arrive while a response is awaited cause one more request. */
  async load() {
    this.asked += 1;
    if (this.isLoading) return;
    this.isLoading = true;
    while (this.asked && !this.isClosed) {
      this.asked = 0;
      try {
        const answer = await fetch(`/api/runs/${this.id}`);
        if (this.isClosed) return;
        if (answer.ok) this.show(await answer.json());
        else if (this.shared.isComplete) this.head.replaceChildren(el("p", { class: "hint" }, await answer.text(), el("a", { href: "#/" }, "All runs")));
      } catch {
        // The connection is lost; the update after reconnecting requests again.
      }
    }
    this.isLoading = false;
  }

  show({ row, head, history }) {
    this.title = `${row.world} ${row.label} seed ${row.seed}`;
    document.title = `${this.title} · SANE watch`;
    this.showHead(row);
    this.showFigures(row, history);
    const last = history.last_interval || {};
    const now = { curve: row.return_mean, sigma: last.sigma?.mean_abs, exploration: last.effective_exploration_share, loss: last.loss_mean, q: last.q_mean, speed: row.speed };
    for (const { chart, of, title } of this.charts) {
      const drawn = (name) => (name === "return" ? { ...groups(history.series.return), faint: true, bandOnly: true } : history.series[name]);
      const curves = of.map((name) => ({ name: NAMES[name], colour: row.colour, ...drawn(name) }));
      chart.root.hidden = curves.every((curve) => curve.x.length === 0) && title !== "Return";
      chart.show(curves, row.reached, now[of[of.length - 1]]);
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
    const rivals = [...new Map(rows.filter((other) => other.world === row.world && other.budget === row.budget).map((other) => [other.group, other])).values()];
    this.age = el("span", {}, ago(this.shared.now() - row.news_unix));
    const compare = (ids, by) => () => {
      this.shared.setChosen(ids);
      location.hash = `#/compare?by=${by}`;
    };
    this.head.replaceChildren(
      el("h1", {}, row.world || row.name, " ", agent(row), el("small", {}, `seed ${row.seed}`)),
      el("p", { class: "standing" }, state(row), bar(row), el("span", {}, `${count(row.reached)} of ${count(row.budget)} interactions`), el("span", { class: "muted" }, "last write ", this.age), el("code", {}, row.name)),
      el(
        "p",
        { class: "ways" },
        1 < seeds.length ? el("button", { type: "button", click: compare(seeds.map((other) => other.id), "run") }, `Compare its ${seeds.length} seeds`) : null,
        1 < rivals.length ? el("button", { type: "button", click: compare(rivals.map((other) => other.id), "seeds") }, `Compare ${rivals.length} agents in this game`) : null,
      ),
    );
  }

  showFigures(row, history) {
    const last = history.last_interval || {};
    const known = [
      ["Return (last 100)", number(row.return_mean)],
      ["Episodes", count(row.episodes)],
      row.state === "running" ? ["Speed", speed(row.speed)] : null,
      row.state === "running" ? ["Time left", duration(left(row))] : null,
      last.sigma ? ["|σ|", number(last.sigma.mean_abs)] : null,
      last.epsilon !== undefined ? ["ε", number(last.epsilon)] : null,
      last.effective_exploration_share !== undefined ? ["Explores", percent(last.effective_exploration_share)] : null,
      last.loss_mean !== undefined ? ["Loss", number(last.loss_mean)] : null,
      last.module ? ["Live units of σ", percent(last.module.live_units_share)] : null,
      last.module?.dead_states_share !== undefined ? ["States without σ(s)", percent(last.module.dead_states_share) + (last.module.dead_states_share > 0.5 ? " ⚠" : "")] : null,
      history.resident_bytes ? ["Memory", bytes(history.resident_bytes)] : null,
      history.started ? ["Parameters", count(history.started.parameters)] : null,
      history.bad_lines ? ["Unreadable lines", count(history.bad_lines)] : null,
    ];
    this.figures.replaceChildren(...known.filter(Boolean).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  }

  showEvaluations(evaluations) {
    this.evaluations.hidden = evaluations.length === 0;
    if (this.evaluations.hidden) return;
    const lines = evaluations.slice(-12).reverse().map((found) => el("tr", {}, el("td", {}, count(found.trained_interactions)), el("td", {}, found.noise), el("td", {}, number(found.return_mean)), el("td", {}, `${number(found.interval[0])} – ${number(found.interval[1])}`), el("td", {}, count(found.episodes)), el("td", {}, found.human_normalised === null ? "–" : percent(found.human_normalised))));
    this.evaluations.replaceChildren(
      el("h2", {}, "Evaluations"),
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
    this.filmPlace.replaceChildren(el("h2", {}, "The agent, live"), film.root);
    film.begin();
  }

  async showGallery(row) {
    if (row.gallery === null || row.gallery === this.shown.gallery) return;
    this.shown.gallery = row.gallery;
    const answer = await fetch(`/api/runs/${this.id}/gallery`);
    const found = answer.ok ? await answer.json().catch(() => null) : null;
    if (!found || this.isClosed) return;
    this.galleryPlace.hidden = false;
    this.galleryPlace.replaceChildren(el("h2", {}, "Risk gallery"), gallery(found, (name) => `/api/runs/${this.id}/gallery/${name.split("/").map(encodeURIComponent).join("/")}?made=${row.gallery}`));
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
