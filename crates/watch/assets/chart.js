// A chart on a canvas: curves with bands. Read with the mouse, a finger or the arrow keys; a part of it is enlarged by
// dragging over it; saved as CSV, SVG or PNG.

import { AXES, ticksOf } from "/controls.js";
import { el, number, tick } from "/format.js";
import { marker, stroke } from "/look.js";
import { SvgPen, curvesCsv, download } from "/save.js";

const MARGIN = { right: 14, top: 8, bottom: 38, label: 15 };

/** Pixels between two markers of a curve. */
const MARKER_PERIOD = 96;

/** Rows of the box that reads the values. */
const MOST_READ = 10;

export class Chart {
  /**
   * `options`: title, about (a word of explanation), label (of the vertical axis), format (of a value), from and to (values
   * that the axis includes), isLog, file (the name under which it is saved); zoomed, logged and enlarged are called after
   * the user did that.
   */
  constructor(options) {
    this.options = { format: number, label: options.title, file: options.title, ...options };
    this.curves = [];
    this.given = [];
    this.axis = "interactions";
    this.span = [0, 1];
    this.end = 1;
    this.smooth = 0;
    this.zoom = null;
    this.cursor = null;
    this.drag = null;
    this.isLog = Boolean(options.isLog);
    this.margin = 50;
    this.canvas = el("canvas", { tabindex: 0, role: "img" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.now = el("span", { class: "now" });
    this.scale = el("button", { type: "button", class: "small-button scale", "aria-pressed": this.isLog, title: "Logarithmic vertical axis", click: () => this.turn() }, "log");
    this.large = el("button", { type: "button", class: "small-button large", "aria-pressed": false, title: "Large, or as the others", click: () => this.enlarge() }, "⤢");
    this.menu = el(
      "details",
      { class: "save" },
      el("summary", { class: "small-button", title: "Save the values or the picture" }, "save"),
      el("div", {}, [["CSV", () => this.saveCsv()], ["SVG", () => this.saveSvg()], ["PNG", () => this.savePng()]].map(([name, save]) => el("button", { type: "button", "data-save": name, click: () => (save(), (this.menu.open = false)) }, name))),
    );
    this.plot = el("div", { class: "plot" }, this.canvas, this.tip);
    this.about = el("p", { class: "about" }, options.about || "");
    this.root = el("figure", { class: "chart" }, el("figcaption", {}, el("span", { class: "title", title: options.title }, options.title), this.now, this.scale, this.large, this.menu), this.about, this.plot);
    this.about.hidden = !options.about;
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerup", (event) => this.release(event));
    this.canvas.addEventListener("pointercancel", () => this.clear());
    this.canvas.addEventListener("pointerleave", () => this.drag === null && this.clear());
    this.canvas.addEventListener("dblclick", () => this.setZoom(null));
    this.canvas.addEventListener("blur", () => this.clear());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.menu.addEventListener("focusout", (event) => !this.menu.contains(event.relatedTarget) && (this.menu.open = false));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.plot);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.draw();
    this.scheme.addEventListener("change", this.redraw);
  }

  /**
   * Curves: {name, colour, dash, marker, x, mean, low, high, faint, bandOnly, dots, complete_to}; `now` is the newest value,
   * for the title; `end` is a place that the axis includes.
   */
  show(curves, { axis = "interactions", smooth = 0, zoom = null, end = 0, now = null } = {}) {
    this.isRead = true;
    this.given = curves.filter((curve) => 0 < curve.x.length);
    Object.assign(this, { axis, zoom });
    this.end = Math.max(end, ...this.given.map((curve) => curve.x[curve.x.length - 1]), Number.MIN_VALUE) || 1;
    this.now.textContent = now === null || now === undefined ? "" : this.options.format(now);
    const names = this.given.map((curve) => `${curve.name} now ${this.options.format(curve.mean[curve.mean.length - 1])}`);
    this.canvas.setAttribute("aria-label", `${this.options.title} over ${AXES[axis].label(this.end)}: ${names.join("; ") || "no values yet"}`);
    this.root.dataset.points = Math.max(0, ...this.given.map((curve) => curve.x.length));
    this.root.dataset.reach = Math.max(0, ...this.given.map((curve) => curve.x[curve.x.length - 1]));
    this.setSmooth(smooth);
  }

  setSmooth(smooth) {
    this.smooth = smooth;
    this.curves = this.given.map((curve) => smoothed(curve, smooth));
    this.draw();
  }

  setZoom(zoom) {
    this.showZoom(zoom);
    this.options.zoomed?.(zoom);
  }

  showZoom(zoom) {
    this.zoom = zoom;
    this.cursor = null;
    this.draw();
  }

  close() {
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.redraw);
  }

  turn() {
    this.setLog(!this.isLog);
    this.options.logged?.(this.isLog);
  }

  setLog(isLog) {
    this.isLog = isLog;
    this.scale.setAttribute("aria-pressed", isLog);
    this.draw();
  }

  enlarge() {
    this.setLarge(!this.root.classList.contains("is-large"));
    this.options.enlarged?.(this.root.classList.contains("is-large"));
  }

  setLarge(is) {
    this.root.classList.toggle("is-large", is);
    this.large.setAttribute("aria-pressed", is);
  }

  /** The place on the axis under the pointer. */
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - this.margin) / (box.width - this.margin - MARGIN.right);
    return this.span[0] + Math.min(1, Math.max(0, share)) * (this.span[1] - this.span[0]);
  }

  press(event) {
    if (event.button !== 0 || event.pointerType === "touch") return;
    this.drag = { from: this.place(event), x: event.clientX };
    this.canvas.setPointerCapture?.(event.pointerId);
  }

  point(event) {
    this.cursor = this.place(event);
    this.draw();
  }

  release(event) {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    const to = this.place(event);
    if (5 < Math.abs(event.clientX - drag.x) && drag.from !== to) this.setZoom([Math.min(drag.from, to), Math.max(drag.from, to)]);
    else this.draw();
  }

  key(event) {
    const [low, high] = this.span;
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    const factor = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    if (step === undefined && factor === undefined && event.key !== "0") return;
    event.preventDefault();
    event.stopPropagation();
    const at = this.cursor === null ? (step ? high : (low + high) / 2) : this.cursor;
    if (step) {
      this.cursor = Math.min(high, Math.max(low, at + (step * (high - low)) / 100));
      this.draw();
      return;
    }
    const half = ((high - low) * (factor || 1)) / 2;
    const zoom = [Math.max(0, at - half), Math.min(this.end, at + half)];
    this.setZoom(event.key === "0" || (zoom[0] === 0 && zoom[1] === this.end) ? null : zoom);
  }

  clear() {
    this.cursor = null;
    this.drag = null;
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
    const { frame, toX, toY } = this.paint(pen, width, height);
    this.read(pen, frame, toX, toY);
  }

  /** Everything but what the pointer shows. */
  paint(pen, width, height) {
    const style = getComputedStyle(document.documentElement);
    this.ink = (name) => style.getPropertyValue(name).trim();
    pen.font = "11px system-ui, sans-serif";
    this.span = this.zoom ? this.zoom : [0, this.end];
    const range = this.range();
    const lines = this.isLog ? decades(range.low, range.high) : steps(range.low, range.high, Math.max(2, Math.floor((height - MARGIN.top - MARGIN.bottom) / 36)));
    const written = lines.map((value) => (this.options.tick || tick)(value));
    this.margin = MARGIN.label + Math.max(32, 12 + Math.max(0, ...written.map((text) => pen.measureText(text).width)));
    const frame = { left: this.margin, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    const tall = frame.bottom - frame.top;
    const toY = this.isLog
      ? (value) => frame.bottom - ((Math.log10(Math.max(value, range.low)) - Math.log10(range.low)) / (Math.log10(range.high) - Math.log10(range.low))) * tall
      : (value) => frame.bottom - ((value - range.low) / (range.high - range.low)) * tall;
    const toX = (value) => frame.left + ((value - this.span[0]) / (this.span[1] - this.span[0])) * (frame.right - frame.left);
    this.axes(pen, frame, lines, written, toX, toY);
    if (this.curves.length === 0) {
      pen.fillStyle = this.ink("--muted");
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(this.isRead ? "no values yet" : "reading …", (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2);
      return { frame, toX, toY };
    }
    pen.save();
    pen.beginPath();
    pen.rect(frame.left, frame.top - 3, frame.right - frame.left + 4, frame.bottom - frame.top + 6);
    pen.clip();
    for (const curve of this.curves) this.band(pen, curve, toX, toY);
    if (this.smooth) for (const curve of this.given) this.line(pen, { ...curve, faint: true }, toX, toY);
    for (const curve of this.curves) this.line(pen, curve, toX, toY);
    this.curves.forEach((curve, i) => this.markers(pen, curve, i, frame, toX, toY));
    pen.restore();
    return { frame, toX, toY };
  }

  /** Lowest and highest value in the part that is shown, with a margin. */
  range() {
    let [low, high] = [Infinity, -Infinity];
    const means = [];
    const take = (value) => {
      if (!Number.isFinite(value) || (this.isLog && value <= 0)) return;
      low = Math.min(low, value);
      high = Math.max(high, value);
    };
    for (const curve of this.curves) {
      // One point beyond each end: the line leads there.
      const from = Math.max(0, below(curve.x, this.span[0]) - 1);
      const to = Math.min(curve.x.length - 1, below(curve.x, this.span[1]));
      for (let i = from; i <= to; i += 1) {
        const isNarrow = this.options.wide === false;
        take(isNarrow ? curve.mean[i] : curve.low[i]);
        take(isNarrow ? curve.mean[i] : curve.high[i]);
        if (0 < curve.mean[i]) means.push(curve.mean[i]);
      }
    }
    if (this.options.from !== undefined && !this.isLog && !this.zoom) take(this.options.from);
    if (low === Infinity) return this.isLog ? { low: 0.1, high: 1 } : { low: 0, high: 1 };
    if (this.isLog) {
      // A single value near zero must not compress all others into the last decade.
      low = Math.max(low, means.reduce((least, value) => Math.min(least, value), high) / 20);
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
    (this.curves.length ? lines : []).forEach((value, i) => {
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
    const across = ticksOf(this.axis, this.span[0], this.span[1], Math.max(2, Math.floor((frame.right - frame.left) / 62)), steps);
    for (const [value, text] of across) {
      const x = toX(value);
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
    pen.fillStyle = this.ink("--muted");
    pen.textAlign = "center";
    pen.fillText(AXES[this.axis].label(this.span[1]), (frame.left + frame.right) / 2, frame.bottom + 22);
    pen.save();
    pen.translate(2, (frame.top + frame.bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(fitted(pen, this.options.label, frame.bottom - frame.top + 20), 0, 0);
    pen.restore();
  }

  band(pen, curve, toX, toY) {
    if (curve.x.length < 2 || curve.low === curve.mean) return;
    pen.beginPath();
    curve.x.forEach((x, i) => pen.lineTo(toX(x), toY(curve.high[i])));
    for (let i = curve.x.length - 1; 0 <= i; i -= 1) pen.lineTo(toX(curve.x[i]), toY(curve.low[i]));
    pen.closePath();
    pen.globalAlpha = curve.faint ? 0.13 : 0.16;
    pen.fillStyle = this.ink(`--c${curve.colour}`);
    pen.fill();
    pen.globalAlpha = 1;
  }

  line(pen, curve, toX, toY) {
    if (curve.bandOnly) return;
    pen.strokeStyle = this.ink(`--c${curve.colour}`);
    pen.lineJoin = "round";
    pen.lineWidth = curve.faint ? 1 : 1.8;
    const alpha = curve.faint ? 0.3 : 1;
    pen.setLineDash(curve.faint ? [] : curve.dash || []);
    // Where not all seeds are in the mean, it is fainter.
    const whole = curve.complete_to === undefined ? curve.x.length : curve.x.filter((x) => x <= curve.complete_to).length;
    for (const [from, to, strength] of [[0, whole, alpha], [Math.max(0, whole - 1), curve.x.length, 0.45 * alpha]]) {
      if (to - from < 2) continue;
      pen.globalAlpha = strength;
      pen.beginPath();
      for (let i = from; i < to; i += 1) pen.lineTo(toX(curve.x[i]), toY(curve.mean[i]));
      pen.stroke();
    }
    pen.globalAlpha = 1;
    pen.setLineDash([]);
  }

  /** A marker now and then, at other places for each curve, and one at the end. */
  markers(pen, curve, order, frame, toX, toY) {
    if (curve.bandOnly || curve.faint) return;
    const colour = this.ink(`--c${curve.colour}`);
    const shape = curve.marker ?? 0;
    const last = curve.x.length - 1;
    const draw = (i, size) => marker(pen, shape, toX(curve.x[i]), toY(curve.mean[i]), size, colour, this.ink("--card"));
    if (curve.dots) curve.x.forEach((_, i) => draw(i, 2.6));
    else if (curve.marker !== undefined) {
      for (let x = frame.left + 14 + ((order * 37) % MARKER_PERIOD); x < Math.min(frame.right, toX(curve.x[last])); x += MARKER_PERIOD) {
        const place = this.span[0] + ((x - frame.left) / (frame.right - frame.left)) * (this.span[1] - this.span[0]);
        const i = nearest(curve.x, place);
        if (Math.abs(toX(curve.x[i]) - x) < MARKER_PERIOD / 2) draw(i, 3.2);
      }
    }
    draw(last, curve.marker === undefined ? 2.6 : 3.6);
  }

  /** The values at the cursor, in a box inside the chart; the part that is being dragged over. */
  read(pen, frame, toX, toY) {
    this.tip.hidden = true;
    if (this.cursor === null || this.curves.length === 0) return;
    if (this.drag) {
      const [left, right] = [toX(this.drag.from), toX(this.cursor)].sort((a, b) => a - b);
      pen.globalAlpha = 0.15;
      pen.fillStyle = this.ink("--focus");
      pen.fillRect(left, frame.top, right - left, frame.bottom - frame.top);
      pen.globalAlpha = 1;
    }
    const read = this.curves.map((curve) => [curve, nearest(curve.x, this.cursor)]);
    const reach = (this.span[1] - this.span[0]) / 12;
    const known = read.filter(([curve, i]) => Math.abs(curve.x[i] - this.cursor) <= reach);
    if (known.length === 0) return;
    const x = toX(known[0][0].x[known[0][1]]);
    pen.strokeStyle = this.ink("--muted");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(Math.round(x) + 0.5, frame.top);
    pen.lineTo(Math.round(x) + 0.5, frame.bottom);
    pen.stroke();
    const ordered = known.length <= 3 ? known : known.slice().sort(([a, i], [b, j]) => b.mean[j] - a.mean[i]);
    const rows = ordered.slice(0, MOST_READ).map(([curve, i]) => {
      marker(pen, curve.marker ?? 0, toX(curve.x[i]), toY(curve.mean[i]), 3.8, this.ink(`--c${curve.colour}`), this.ink("--card"));
      const spread = curve.low[i] === curve.high[i] ? "" : ` (${this.options.format(curve.low[i])} – ${this.options.format(curve.high[i])})`;
      return el("div", {}, el("span", { class: `agent c${curve.colour}` }, curve.name), el("b", {}, this.options.format(curve.mean[i])), spread);
    });
    const more = ordered.length - rows.length;
    const where = AXES[this.axis].format(known[0][0].x[known[0][1]]);
    this.tip.replaceChildren(el("div", { class: "where" }, where), ...rows, ...(more ? [el("div", { class: "where" }, `and ${more} more`)] : []));
    this.tip.hidden = false;
    const wide = this.tip.offsetWidth;
    const beside = x + 12 + wide < frame.right ? x + 12 : x - 12 - wide;
    this.tip.style.left = `${Math.max(2, beside)}px`;
    this.tip.style.top = `${frame.top + 2}px`;
  }

  saveCsv() {
    download(`${this.options.file}.csv`, "text/csv", curvesCsv(this.given, { title: this.options.title, axis: this.axis }));
  }

  saveSvg() {
    const { width, height, draw } = this.picture();
    const pen = new SvgPen(width, height);
    draw(pen);
    download(`${this.options.file}.svg`, "image/svg+xml", pen.text());
  }

  savePng() {
    const { width, height, draw } = this.picture();
    const canvas = el("canvas", { width: 2 * width, height: 2 * height });
    const pen = canvas.getContext("2d");
    pen.setTransform(2, 0, 0, 2, 0, 0);
    draw(pen);
    canvas.toBlob((blob) => blob && download(`${this.options.file}.png`, "image/png", blob), "image/png");
  }

  /** The chart with its title and a legend, in the colours of the page. */
  picture() {
    const [width, plot] = [Math.max(480, this.plot.clientWidth), Math.max(260, this.plot.clientHeight)];
    const measure = el("canvas").getContext("2d");
    measure.font = "12px system-ui, sans-serif";
    const places = [];
    let [x, y] = [14, 34 + plot];
    for (const curve of this.curves) {
      const wide = 62 + measure.measureText(curve.name).width;
      if (14 < x && width < x + wide) [x, y] = [14, y + 20];
      places.push([curve, x, y + 10]);
      x += wide;
    }
    const height = y + 28;
    const draw = (pen) => {
      const style = getComputedStyle(document.documentElement);
      const ink = (name) => style.getPropertyValue(name).trim();
      pen.fillStyle = ink("--card");
      pen.fillRect(0, 0, width, height);
      pen.fillStyle = ink("--ink");
      pen.font = "bold 14px system-ui, sans-serif";
      pen.textAlign = "left";
      pen.textBaseline = "middle";
      pen.fillText(fitted(pen, this.options.caption || this.options.title, width - 28), 14, 18);
      pen.save();
      pen.translate(0, 34);
      this.paint(pen, width, plot);
      pen.restore();
      for (const [curve, left, middle] of places) {
        stroke(pen, curve, left, middle, ink);
        pen.fillStyle = ink("--ink");
        pen.font = "12px system-ui, sans-serif";
        pen.textAlign = "left";
        pen.textBaseline = "middle";
        pen.fillText(curve.name, left + 42, middle);
      }
    };
    return { width, height, draw };
  }
}

/** Exponential moving average, corrected for its start; `weight` is that of the past. */
function smoothed(curve, weight) {
  if (!weight || curve.bandOnly) return curve;
  const average = (list) => {
    let [sum, total] = [0, 0];
    return list.map((value) => {
      [sum, total] = [weight * sum + (1 - weight) * value, weight * total + (1 - weight)];
      return sum / total;
    });
  };
  const mean = average(curve.mean);
  return { ...curve, mean, low: curve.low === curve.mean ? mean : average(curve.low), high: curve.high === curve.mean ? mean : average(curve.high) };
}

/** The text, or its beginning with an ellipsis. */
function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let short = text;
  while (1 < short.length && width < pen.measureText(`${short}…`).width) short = short.slice(0, -1);
  return `${short}…`;
}

/** How many of the sorted places are below `wanted`. */
function below(xs, wanted) {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nearest(xs, wanted) {
  const at = Math.min(xs.length - 1, below(xs, wanted));
  return 0 < at && wanted - xs[at - 1] < xs[at] - wanted ? at - 1 : at;
}

/** Round values, about `many` of them. */
function steps(low, high, many) {
  const raw = (high - low) / many;
  const scale = 10 ** Math.floor(Math.log10(raw));
  const step = scale * [1, 2, 2.5, 5, 10].find((factor) => raw <= factor * scale * (1 + 1e-9));
  const found = [];
  if (!(0 < step) || !Number.isFinite(step)) return found;
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9 && found.length < 100; i += 1) found.push(Number((i * step).toPrecision(12)));
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
