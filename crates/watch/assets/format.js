// Formatting: numbers, times, and small elements of the page.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A value with three significant digits. */
export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-3) return value.toExponential(1).replace("e-", "·10⁻").replace(/(\d+)$/, (digits) => raised(digits));
  if (1e6 <= size) return count(value);
  if (1e3 <= size) return grouped.format(value);
  return String(Number(value.toPrecision(3)));
}

/** A count: in full up to a million, then in millions. */
export function count(value) {
  const size = Math.abs(value);
  if (1e9 <= size) return trimmed(value / 1e9) + " G";
  if (1e6 <= size) return trimmed(value / 1e6) + " M";
  return grouped.format(value);
}

/** A short count for an axis. */
export function tick(value) {
  const size = Math.abs(value);
  if (1e9 <= size) return trimmed(value / 1e9) + "G";
  if (1e6 <= size) return trimmed(value / 1e6) + "M";
  if (1e3 <= size) return trimmed(value / 1e3) + "k";
  if (size !== 0 && size < 1e-3) return power(value);
  return String(Number(value.toPrecision(6)));
}

export function percent(share) {
  if (share === null || share === undefined) return "–";
  const value = 100 * share;
  return (value < 10 ? Number(value.toPrecision(2)) : Math.round(value)) + " %";
}

export function speed(value) {
  return value ? number(value) + "/s" : "–";
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const s = Math.max(0, seconds);
  if (s < 59.5) return `${Math.round(s)} s`;
  if (s < 59.5 * 60) return `${Math.round(s / 60)} min`;
  if (s < 47.5 * 3600) return `${s < 9.95 * 3600 ? Number((s / 3600).toFixed(1)) : Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}

export function ago(seconds) {
  return seconds < 3 ? "now" : `${duration(seconds)} ago`;
}

export function bytes(value) {
  return value ? (value < 1e9 ? `${Math.round(value / 1e6)} MB` : `${trimmed(value / 1e9)} GB`) : "–";
}

export function date(unix) {
  return unix ? new Date(1000 * unix).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) : "–";
}

/** Seconds a running run still needs, at the speed it has had since it learns; null before that is known. */
export function left(row) {
  return row.state === "running" ? row.seconds_left : null;
}

/** The time left in words; of a run that does not learn yet, that. */
export function leftText(row) {
  if (row.state !== "running") return "";
  if (row.seconds_left !== null) return duration(row.seconds_left);
  return row.reached < row.learning_starts ? "warm-up" : "";
}

/** An element with attributes and children; functions become listeners. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name.startsWith("aria-") && typeof value === "boolean") made.setAttribute(name, String(value));
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** The agent's name with its colour before it; what the name leaves out is in the tooltip. */
export function agent(row) {
  return el("span", { class: `agent c${row.colour}`, title: [row.label, row.note].filter(Boolean).join("\n") }, row.label);
}

export function state(row) {
  return el("span", { class: `state ${row.state}` }, row.state);
}

export function bar(row) {
  const share = row.budget ? Math.min(1, row.reached / row.budget) : 0;
  const text = row.budget ? percent(share) : "–";
  return el(
    "span",
    { class: "progress", title: `${count(row.reached)} of ${count(row.budget)} interactions` },
    el("progress", { max: 1, value: share, "aria-label": `${text} done` }),
    el("span", {}, text),
  );
}

const SVG = "http://www.w3.org/2000/svg";

/** A small curve of the return; its picture is drawn by the style sheet's colours. */
export function trend(row, width = 110, height = 26) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", `trend c${row.colour}`);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  const points = row.trend;
  if (points.length === 0) {
    svg.setAttribute("aria-label", "no episode yet");
    return svg;
  }
  const ys = points.map((point) => point[1]);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const end = Math.max(row.budget || 0, points[points.length - 1][0], 1);
  const x = (value) => 2 + ((width - 4) * value) / end;
  const y = (value) => (low === high ? height / 2 : 3 + ((height - 6) * (high - value)) / (high - low));
  svg.setAttribute("aria-label", `return from ${number(ys[0])} to ${number(ys[ys.length - 1])}`);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`).join(""));
  const dot = document.createElementNS(SVG, "circle");
  const last = points[points.length - 1];
  dot.setAttribute("cx", x(last[0]).toFixed(1));
  dot.setAttribute("cy", y(last[1]).toFixed(1));
  dot.setAttribute("r", "2");
  svg.append(path, dot);
  return svg;
}

function trimmed(value) {
  return String(Number(value.toPrecision(3)));
}

function power(value) {
  const exponent = Math.floor(Math.log10(Math.abs(value)) + 1e-9);
  const front = Number((value / 10 ** exponent).toPrecision(2));
  return `${front === 1 ? "" : front + "·"}10⁻${raised(String(-exponent))}`;
}

function raised(digits) {
  return [...digits].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");
}
