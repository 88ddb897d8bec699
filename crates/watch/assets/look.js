// How curves are told apart: the colour and the dashes belong to the agent, the marker to the variant or the seed.

import { el } from "/format.js";

/** By an agent's pattern, as in the reports. */
const DASHES = [[], [6, 3], [2, 2.5], [8, 3, 2, 3], [12, 4], [4, 1.5]];

/** Outlines around (0, 0), one unit high to each side; each is drawn filled, then hollow. */
const OUTLINES = [
  null,
  [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  [[0, -1.15], [1.05, 0.8], [-1.05, 0.8]],
  [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
  [[0, 1.15], [1.05, -0.8], [-1.05, -0.8]],
  [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]],
  [[-1.3, -0.5], [1.3, -0.5], [1.3, 0.5], [-1.3, 0.5]],
  [[-1.2, -1.2], [0, -0.45], [1.2, -1.2], [0.45, 0], [1.2, 1.2], [0, 0.45], [-1.2, 1.2], [-0.45, 0]],
];

/**
 * Dashes and marker of an agent's curve, by its colour and pattern; `rank` is the place of a seed among its agent's, 0 for a
 * mean of all. An agent keeps its shape: filled for its first seed, hollow for the second, other shapes for more.
 */
export function look({ colour, pattern }, rank = 0) {
  const shapes = OUTLINES.length;
  const shape = (colour + pattern + Math.floor(rank / 2)) % shapes;
  return { dash: DASHES[pattern % DASHES.length], marker: rank < 2 * shapes ? shape + (rank % 2) * shapes : rank };
}

/** Draws the marker; those after the last shape are numbers. */
export function marker(pen, which, x, y, size, colour, ground) {
  if (2 * OUTLINES.length <= which) {
    pen.fillStyle = colour;
    pen.font = "bold 9px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(String(which), x, y);
    return;
  }
  const outline = OUTLINES[which % OUTLINES.length];
  pen.beginPath();
  if (outline) outline.forEach(([dx, dy], i) => (i ? pen.lineTo(x + size * dx, y + size * dy) : pen.moveTo(x + size * dx, y + size * dy)));
  else pen.arc(x, y, size, 0, 2 * Math.PI);
  pen.closePath();
  const isHollow = OUTLINES.length <= which;
  pen.fillStyle = isHollow ? ground : colour;
  pen.fill();
  if (!isHollow) return;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.3;
  pen.stroke();
}

/** Line and marker of a curve, beside its name. */
export function sample(curve) {
  const canvas = el("canvas", { class: "sample", width: 72, height: 24, "aria-hidden": "true" });
  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    const ink = (name) => style.getPropertyValue(name).trim();
    const pen = canvas.getContext("2d");
    pen.setTransform(2, 0, 0, 2, 0, 0);
    pen.clearRect(0, 0, 36, 12);
    stroke(pen, curve, 0, 6, ink);
  };
  canvas.redraw = draw;
  draw();
  return canvas;
}

/** A short piece of the curve's line with its marker, 36 pixels wide. */
export function stroke(pen, curve, x, y, ink) {
  const colour = ink(`--c${curve.colour}`);
  pen.strokeStyle = colour;
  pen.lineWidth = 1.8;
  pen.setLineDash(curve.dash || []);
  pen.beginPath();
  pen.moveTo(x + 1, y);
  pen.lineTo(x + 35, y);
  pen.stroke();
  pen.setLineDash([]);
  if (curve.marker !== undefined) marker(pen, curve.marker, x + 18, y, 3.2, colour, ink("--card"));
}
