// Downloads: curves as CSV, charts as SVG and PNG. The SVG is written by the same drawing code as the canvas.

/** Offers `content` as a file. */
export function download(name, kind, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  const link = Object.assign(document.createElement("a"), { href: url, download: fileName(name) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Lines of cells. Text that a spreadsheet would take for a formula gets a quotation mark in front. */
export function csv(lines) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return lines.map((line) => line.map(cell).join(",")).join("\n") + "\n";
}

/** The points of curves, one per line. */
export function curvesCsv(curves, { title, axis }) {
  const lines = [["game", "agent", "seeds", "quantity", axis, "mean", "low", "high"]];
  for (const curve of curves) {
    const first = [curve.world ?? "", curve.label ?? curve.name, (curve.seeds || []).join(" "), curve.quantity ?? title];
    curve.x.forEach((x, i) => lines.push([...first, x, curve.mean[i], curve.low[i], curve.high[i]]));
  }
  return csv(lines);
}

function fileName(name) {
  const [, stem, ending] = name.match(/^(.*?)(\.[a-z]+)?$/s);
  return stem.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80) + (ending || "");
}

const MEASURE = document.createElement("canvas").getContext("2d");

/** The part of a canvas context that charts use, writing SVG. */
export class SvgPen {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], path: "", kept: [], clips: 0 });
    Object.assign(this, { font: "11px sans-serif", textAlign: "left", textBaseline: "alphabetic", fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, lineJoin: "round", dash: [], transform: "", clipped: "" });
  }

  save() {
    const { font, textAlign, textBaseline, fillStyle, strokeStyle, lineWidth, globalAlpha, dash, transform, clipped } = this;
    this.kept.push({ font, textAlign, textBaseline, fillStyle, strokeStyle, lineWidth, globalAlpha, dash, transform, clipped });
  }

  restore() {
    Object.assign(this, this.kept.pop());
  }

  translate(x, y) {
    this.transform += `translate(${short(x)} ${short(y)})`;
  }

  rotate(angle) {
    this.transform += `rotate(${short((180 * angle) / Math.PI)})`;
  }

  beginPath() {
    this.path = "";
  }

  moveTo(x, y) {
    this.path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x, y) {
    this.path += `${this.path ? "L" : "M"}${short(x)} ${short(y)}`;
  }

  rect(x, y, width, height) {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`;
  }

  /** Whole circles only. */
  arc(x, y, r) {
    this.path += `M${short(x - r)} ${short(y)}a${short(r)} ${short(r)} 0 1 0 ${short(2 * r)} 0a${short(r)} ${short(r)} 0 1 0 ${short(-2 * r)} 0`;
  }

  closePath() {
    this.path += "Z";
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  clip() {
    this.clips += 1;
    this.parts.push(`<clipPath id="c${this.clips}"><path d="${this.path}"${this.placed()}/></clipPath>`);
    this.clipped = ` clip-path="url(#c${this.clips})"`;
  }

  stroke() {
    if (!this.path) return;
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    this.add(`<path d="${this.path}" fill="none" stroke="${escape(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}" stroke-linejoin="round"${dash}${this.opacity()}${this.placed()}/>`);
  }

  fill() {
    if (this.path) this.add(`<path d="${this.path}" fill="${escape(this.fillStyle)}"${this.opacity()}${this.placed()}/>`);
  }

  fillRect(x, y, width, height) {
    this.add(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${escape(this.fillStyle)}"${this.opacity()}${this.placed()}/>`);
  }

  clearRect() {}

  setTransform() {}

  measureText(text) {
    MEASURE.font = this.font;
    return MEASURE.measureText(text);
  }

  fillText(text, x, y) {
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign];
    const base = { top: "hanging", middle: "central", alphabetic: "auto", bottom: "auto" }[this.textBaseline];
    const [, bold, size] = this.font.match(/(bold )?([\d.]+)px/);
    this.add(`<text x="${short(x)}" y="${short(y)}" font-size="${size}"${bold ? ' font-weight="bold"' : ""} text-anchor="${anchor}" dominant-baseline="${base}" fill="${escape(this.fillStyle)}"${this.opacity()}${this.placed()}>${escape(text)}</text>`);
  }

  opacity() {
    return this.globalAlpha === 1 ? "" : ` opacity="${short(this.globalAlpha)}"`;
  }

  placed() {
    return this.transform ? ` transform="${this.transform}"` : "";
  }

  /** A clip path is in the coordinates of the group around the element, not of its own transform. */
  add(part) {
    this.parts.push(this.clipped ? `<g${this.clipped}>${part}</g>` : part);
  }

  text() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif">\n${this.parts.join("\n")}\n</svg>\n`;
  }
}

function short(value) {
  return String(Math.round(100 * value) / 100);
}

/** No run folder's text becomes markup, whatever it holds. */
function escape(text) {
  return String(text).replace(/[&<>"']/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[letter]);
}
