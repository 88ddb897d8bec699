// A chart on a canvas: curves with bands over interactions. Read with the mouse, a finger or the arrow keys.

import { count, el, number, tick } from "/format.js";

/** The line patterns that distinguish curves of one colour, as in the reports. */
export const DASHES = [[], [6, 3], [2, 2.5], [8, 3, 2, 3], [12, 4], [4, 1.5]];

const MARGIN = { right: 14, top: 8, bottom: 24 };

export class Chart {
  /** `options`: title, format (of a value), from (a value the axis must include), log (whether it starts logarithmic). */
  constructor(options) {
    this.options = { format: number, ...options };
    this.curves = [];
    this.end = 1;
    this.cursor = null;
    this.isLog = Boolean(options.log);
    this.margin = 50;
    this.canvas = el("canvas", { tabindex: 0, role: "img" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.now = el("span", { class: "now" });
    this.scale = el("button", { type: "button", class: "scale", "aria-pressed": this.isLog, title: "logarithmic axis", click: () => this.turn() }, "log");
    this.plot = el("div", { class: "plot" }, this.canvas, this.tip);
    this.root = el("figure", { class: "chart" }, el("figcaption", {}, el("span", {}, options.title), this.now, options.log === undefined ? null : this.scale), this.plot);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.clear());
    this.canvas.addEventListener("blur", () => this.clear());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.plot);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.draw();
    this.scheme.addEventListener("change", this.redraw);
  }

  /** Curves: {name, colour, dash, x, mean, low, high, faint, bandOnly, complete_to}; `now` is the newest value, for the title. */
  show(curves, end, now) {
    this.curves = curves.filter((curve) => 0 < curve.x.length);
    this.end = Math.max(end || 0, ...this.curves.map((curve) => curve.x[curve.x.length - 1]), 1);
    this.now.textContent = now === undefined || now === null ? "" : this.options.format(now);
    const names = this.curves.map((curve) => `${curve.name} now ${this.options.format(curve.mean[curve.mean.length - 1])}`);
    this.canvas.setAttribute("aria-label", `${this.options.title}: ${names.join("; ") || "no values yet"}`);
    this.root.dataset.points = Math.max(0, ...this.curves.map((curve) => curve.x.length));
    this.root.dataset.reach = Math.max(0, ...this.curves.map((curve) => curve.x[curve.x.length - 1]));
    this.draw();
  }

  close() {
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.redraw);
  }

  turn() {
    this.isLog = !this.isLog;
    this.scale.setAttribute("aria-pressed", this.isLog);
    this.draw();
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - this.margin) / (box.width - this.margin - MARGIN.right);
    this.cursor = Math.min(1, Math.max(0, share)) * this.end;
    this.draw();
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const from = this.cursor === null ? this.end : this.cursor;
    this.cursor = Math.min(this.end, Math.max(0, from + (step * this.end) / 100));
    this.draw();
  }

  clear() {
    this.cursor = null;
    this.draw();
  }

  draw() {
    const width = this.plot.clientWidth;
    const height = this.plot.clientHeight;
    if (width === 0 || height === 0) return;
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    this.ink = (name) => style.getPropertyValue(name).trim();
    pen.font = "11px system-ui, sans-serif";
    const range = this.range();
    const lines = this.isLog ? decades(range.low, range.high) : steps(range.low, range.high, Math.max(2, Math.floor((height - MARGIN.top - MARGIN.bottom) / 36)));
    const written = lines.map((value) => (this.options.tick || tick)(value));
    this.margin = Math.max(38, 14 + Math.max(0, ...written.map((text) => pen.measureText(text).width)));
    const frame = { left: this.margin, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    const toY = this.isLog
      ? (value) => frame.bottom - ((Math.log10(Math.max(value, range.low)) - Math.log10(range.low)) / (Math.log10(range.high) - Math.log10(range.low))) * (frame.bottom - frame.top)
      : (value) => frame.bottom - ((value - range.low) / (range.high - range.low)) * (frame.bottom - frame.top);
    const toX = (value) => frame.left + (value / this.end) * (frame.right - frame.left);
    this.axes(pen, frame, lines, written, toX, toY);
    if (this.curves.length === 0) {
      pen.fillStyle = this.ink("--muted");
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText("no values yet", (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2);
      this.tip.hidden = true;
      return;
    }
    pen.save();
    pen.beginPath();
    pen.rect(frame.left, frame.top - 2, frame.right - frame.left + 2, frame.bottom - frame.top + 4);
    pen.clip();
    for (const curve of this.curves) this.band(pen, curve, toX, toY);
    for (const curve of this.curves) this.line(pen, curve, toX, toY);
    pen.restore();
    this.read(pen, frame, toX, toY);
  }

  /** Lowest and highest value shown, with a margin. */
  range() {
    let [low, high] = [Infinity, -Infinity];
    const take = (value) => {
      if (this.isLog && value <= 0) return;
      low = Math.min(low, value);
      high = Math.max(high, value);
    };
    for (const curve of this.curves) {
      (this.options.wide === false ? curve.mean : curve.low).forEach(take);
      (this.options.wide === false ? curve.mean : curve.high).forEach(take);
    }
    if (this.options.from !== undefined && !this.isLog) take(this.options.from);
    if (low === Infinity) return this.isLog ? { low: 0.1, high: 1 } : { low: 0, high: 1 };
    if (this.isLog) {
      // A single value near zero must not compress all others into the last decade.
      const means = this.curves.flatMap((curve) => curve.mean.filter((value) => 0 < value));
      low = Math.max(low, Math.min(...means, high) / 20);
      return low === high ? { low: low / 2, high: high * 2 } : { low: low / 1.15, high: high * 1.15 };
    }
    if (low === high) return { low: low - (Math.abs(low) || 1) / 10, high: high + (Math.abs(high) || 1) / 10 };
    const air = (high - low) * 0.05;
    return { low: this.options.from === low ? low : low - air, high: this.options.to === undefined ? high + air : Math.max(high, Math.min(high + air, this.options.to)) };
  }

  axes(pen, frame, lines, written, toX, toY) {
    pen.lineWidth = 1;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    lines.forEach((value, i) => {
      const y = Math.round(toY(value)) + 0.5;
      pen.strokeStyle = this.ink("--grid");
      pen.beginPath();
      pen.moveTo(frame.left, y);
      pen.lineTo(frame.right, y);
      pen.stroke();
      pen.fillStyle = this.ink("--muted");
      pen.fillText(written[i], frame.left - 7, y);
    });
    pen.textBaseline = "top";
    const across = steps(0, this.end, Math.max(2, Math.floor((frame.right - frame.left) / 62)));
    for (const value of across) {
      const x = toX(value);
      const text = tick(value);
      const half = pen.measureText(text).width / 2;
      pen.textAlign = frame.right + MARGIN.right < x + half ? "right" : "center";
      pen.fillStyle = this.ink("--muted");
      pen.fillText(text, pen.textAlign === "right" ? frame.right + MARGIN.right - 1 : x, frame.bottom + 7);
      pen.strokeStyle = this.ink("--grid");
      pen.beginPath();
      pen.moveTo(Math.round(x) + 0.5, frame.bottom);
      pen.lineTo(Math.round(x) + 0.5, frame.bottom + 4);
      pen.stroke();
    }
  }

  band(pen, curve, toX, toY) {
    if (curve.x.length < 2 || curve.low === curve.mean) return;
    pen.beginPath();
    curve.x.forEach((x, i) => pen.lineTo(toX(x), toY(curve.high[i])));
    for (let i = curve.x.length - 1; 0 <= i; i -= 1) pen.lineTo(toX(curve.x[i]), toY(curve.low[i]));
    pen.closePath();
    pen.globalAlpha = curve.faint ? 0.13 : 0.18;
    pen.fillStyle = this.ink(`--c${curve.colour}`);
    pen.fill();
    pen.globalAlpha = 1;
  }

  line(pen, curve, toX, toY) {
    if (curve.bandOnly) return;
    pen.strokeStyle = this.ink(`--c${curve.colour}`);
    pen.fillStyle = pen.strokeStyle;
    pen.lineJoin = "round";
    pen.lineWidth = curve.faint ? 1 : 1.8;
    pen.globalAlpha = curve.faint ? 0.45 : 1;
    pen.setLineDash(curve.dash || []);
    // Where not all seeds are in the mean, it is fainter.
    const whole = curve.complete_to === undefined ? curve.x.length : curve.x.filter((x) => x <= curve.complete_to).length;
    for (const [from, to, alpha] of [[0, whole, pen.globalAlpha], [Math.max(0, whole - 1), curve.x.length, 0.45]]) {
      pen.globalAlpha = alpha;
      pen.beginPath();
      for (let i = from; i < to; i += 1) pen.lineTo(toX(curve.x[i]), toY(curve.mean[i]));
      pen.stroke();
    }
    pen.globalAlpha = curve.faint ? 0.45 : 1;
    pen.setLineDash([]);
    if (!curve.faint) {
      const last = curve.x.length - 1;
      pen.beginPath();
      pen.arc(toX(curve.x[last]), toY(curve.mean[last]), 2.6, 0, 2 * Math.PI);
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  /** The values at the cursor, in a box inside the chart. */
  read(pen, frame, toX, toY) {
    if (this.cursor === null) {
      this.tip.hidden = true;
      return;
    }
    const read = this.curves.map((curve) => [curve, nearest(curve.x, this.cursor)]);
    const known = read.filter(([curve, i]) => Math.abs(curve.x[i] - this.cursor) <= this.end / 12);
    if (known.length === 0) {
      this.tip.hidden = true;
      return;
    }
    const x = toX(known[0][0].x[known[0][1]]);
    pen.strokeStyle = this.ink("--muted");
    pen.beginPath();
    pen.moveTo(Math.round(x) + 0.5, frame.top);
    pen.lineTo(Math.round(x) + 0.5, frame.bottom);
    pen.stroke();
    const rows = known.map(([curve, i]) => {
      pen.fillStyle = this.ink(`--c${curve.colour}`);
      pen.beginPath();
      pen.arc(toX(curve.x[i]), toY(curve.mean[i]), 3.5, 0, 2 * Math.PI);
      pen.fill();
      const spread = curve.low[i] === curve.high[i] ? "" : ` (${this.options.format(curve.low[i])} – ${this.options.format(curve.high[i])})`;
      return el("div", {}, el("span", { class: `agent c${curve.colour}` }, curve.name), el("b", {}, this.options.format(curve.mean[i])), spread);
    });
    this.tip.replaceChildren(el("div", { class: "where" }, `${count(known[0][0].x[known[0][1]])} interactions`), ...rows);
    this.tip.hidden = false;
    const wide = this.tip.offsetWidth;
    const beside = x + 12 + wide < frame.right ? x + 12 : x - 12 - wide;
    this.tip.style.left = `${Math.max(2, beside)}px`;
    this.tip.style.top = `${frame.top + 2}px`;
  }
}

function nearest(xs, wanted) {
  let [low, high] = [0, xs.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return 0 < low && wanted - xs[low - 1] < xs[low] - wanted ? low - 1 : low;
}

/** Round values, about `many` of them. */
function steps(low, high, many) {
  const raw = (high - low) / many;
  const scale = 10 ** Math.floor(Math.log10(raw));
  const step = scale * [1, 2, 2.5, 5, 10].find((factor) => raw <= factor * scale * (1 + 1e-9));
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push(Number((i * step).toPrecision(12)));
  return found;
}

/** Powers of ten; if they are few, also multiples of them. */
function decades(low, high) {
  const span = Math.log10(high / low);
  const factors = span < 1 ? [1, 2, 3, 5, 7] : span < 2.2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(span / 5));
  const found = [];
  for (let exponent = Math.floor(Math.log10(low)); exponent <= Math.ceil(Math.log10(high)); exponent += 1) {
    if (exponent % every !== 0) continue;
    for (const factor of factors) {
      const value = Number((factor * 10 ** exponent).toPrecision(3));
      if (low <= value && value <= high) found.push(value);
    }
  }
  return found;
}
