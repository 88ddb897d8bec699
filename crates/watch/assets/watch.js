// The page: keeps the rows that the server sends, shows the view that the URL names, passes updates and keys to it.

import { read } from "/address.js";
import { Overview } from "/overview.js";
import { RunView } from "/run.js";
import { Compare } from "/compare.js";

/** As many as the server compares. */
const MOST_CHOSEN = 512;

/** What all views share. */
export const shared = {
  rows: new Map(),
  /** Seconds by which the server's clock is ahead of this one. */
  ahead: 0,
  /** Ids of the runs chosen for the comparison, or "all". */
  chosen: remembered(),
  isComplete: false,
  now: () => Date.now() / 1000 + shared.ahead,
  isChosen: (id) => shared.chosen === "all" || shared.chosen.has(id),
  chosenRows: () => (shared.chosen === "all" ? [...shared.rows.values()].filter((row) => row.world).slice(0, MOST_CHOSEN) : [...shared.chosen].map((id) => shared.rows.get(id)).filter((row) => row?.world)),
  /** Toggles the choice of a run. */
  choose(id) {
    const ids = new Set(shared.chosen === "all" ? shared.rows.keys() : shared.chosen);
    if (!ids.delete(id)) ids.add(id);
    shared.setChosen([...ids]);
  },
  setChosen(ids) {
    if (MOST_CHOSEN < ids.length) say(`Up to ${MOST_CHOSEN} runs can be compared.`);
    shared.chosen = ids === "all" ? "all" : new Set(ids.slice(0, MOST_CHOSEN));
    keepChosen();
  },
};

const place = document.getElementById("view");
const line = document.getElementById("line");
const help = document.getElementById("help");
let view = null;

function remembered() {
  const known = JSON.parse(sessionStorage.getItem("chosen") || "[]");
  return known === "all" ? known : new Set(known);
}

function keepChosen() {
  sessionStorage.setItem("chosen", JSON.stringify(shared.chosen === "all" ? "all" : [...shared.chosen]));
  const count = shared.chosenRows().length;
  document.getElementById("chosen").textContent = count ? ` ${count}` : "";
}

function say(text) {
  line.textContent = text;
  setTimeout(() => setLine(line.className.replace("line ", "")), 4000);
}

function setLine(state) {
  line.className = `line ${state}`;
  line.textContent = { waiting: "connecting", live: "live", lost: "no connection" }[state];
}

function show() {
  const { parts, question } = read();
  if (view) view.close();
  const kind = parts[0] === "run" ? RunView : parts[0] === "compare" ? Compare : Overview;
  view = new kind(shared, parts[1], question);
  place.replaceChildren(view.root);
  for (const [id, is] of [["to-runs", kind === Overview], ["to-compare", kind === Compare]]) {
    if (is) document.getElementById(id).setAttribute("aria-current", "page");
    else document.getElementById(id).removeAttribute("aria-current");
  }
  document.title = `${view.title} · SANE watch`;
  view.opened?.();
  if (kind !== Overview) scrollTo(0, 0);
}

function take(message) {
  shared.ahead = message.now_unix - Date.now() / 1000;
  if (message.whole) shared.rows.clear();
  message.gone.forEach((id) => shared.rows.delete(id));
  message.rows.forEach((row) => shared.rows.set(row.id, row));
  shared.isComplete = true;
  keepChosen();
  view.update(message.whole ? null : new Set([...message.rows.map((row) => row.id), ...message.gone]));
}

async function begin() {
  let since = "";
  try {
    const answer = await fetch("/api/runs");
    if (!answer.ok) throw new Error(await answer.text());
    const message = await answer.json();
    since = message.place;
    // A server that has just started may have no rows yet; its first message then holds all runs.
    if (!since.endsWith("-0")) take(message);
  } catch (error) {
    place.replaceChildren(Object.assign(document.createElement("p"), { className: "hint", textContent: String(error.message || error) }));
    setLine("lost");
    setTimeout(() => location.reload(), 5000);
    return;
  }
  const stream = new EventSource(`/api/live?since=${since}`);
  stream.onopen = () => setLine("live");
  stream.onerror = () => setLine("lost");
  stream.onmessage = (event) => take(JSON.parse(event.data));
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input:not([type=checkbox], [type=radio], [type=range]), select, textarea");
  if (document.querySelector("dialog.picture[open]")) return;
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (isTyping) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "?") help.showModal();
  else if (event.key === "c") location.hash = "#/compare";
  else if (event.key === "g" || event.key === "Escape") location.hash = "#/";
  else if (!view.key?.(event)) return;
  event.preventDefault();
});

document.getElementById("help-button").addEventListener("click", () => help.showModal());
help.addEventListener("click", (event) => event.target === help && help.close());
window.addEventListener("hashchange", show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.querySelectorAll("canvas.sample").forEach((canvas) => canvas.redraw()));
setInterval(() => view?.tick?.(), 1000);
keepChosen();
show();
begin();
