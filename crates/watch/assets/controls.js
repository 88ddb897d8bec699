// What all charts of a view share: what they are drawn over, how much they are smoothed, which part is seen.

import { count, duration, el, tick } from "/format.js";

const TIME_UNITS = [[86400, "days"], [3600, "hours"], [60, "minutes"], [1, "seconds"]];

/** By the name in requests: heading, label of the axis, a value in words, the unit of its ticks. */
export const AXES = {
  interactions: { text: "Interactions", label: () => "interactions", format: (value) => `${count(Math.round(value))} interactions`, unit: () => 1 },
  frames: { text: "Frames", label: () => "frames of the game", format: (value) => `${count(Math.round(value))} frames`, unit: () => 1 },
  seconds: { text: "Training time", label: (end) => `training time in ${timeUnit(end)[1]}`, format: (value) => `${duration(value)} of training`, unit: (end) => timeUnit(end)[0] },
  episodes: { text: "Episodes", label: () => "episodes", format: (value) => `${count(Math.round(value))} episodes`, unit: () => 1 },
};

/** In this tab, until an address says otherwise. */
const kept = { x: "interactions", smooth: 0 };

export class Controls {
  /** `changed(what)` is called after a change of `x`, `smooth` or `zoom`. */
  constructor(question, changed) {
    if ([...question.keys()].length) Object.assign(kept, { x: AXES[question.get("x")] ? question.get("x") : "interactions", smooth: share(question.get("smooth")) });
    this.zoom = range(question.get("zoom"));
    this.changed = changed;
    this.over = el("select", { "aria-label": "Over", title: "What the charts are drawn over", change: () => this.set("x", this.over.value) }, Object.entries(AXES).map(([name, { text }]) => el("option", { value: name }, text)));
    this.over.value = kept.x;
    this.slider = el("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: kept.smooth, "aria-label": "Smoothing", input: () => this.set("smooth", Number(this.slider.value)) });
    this.amount = el("output", {}, kept.smooth ? kept.smooth.toFixed(2) : "off");
    this.whole = el("button", { type: "button", class: "whole", hidden: !this.zoom, title: "Double click on a chart does the same", click: () => this.setZoom(null) }, "Whole range");
    this.root = el(
      "div",
      { class: "controls-row" },
      el("label", {}, "Over ", this.over),
      el("label", { title: "Exponential moving average; the values as they are stay visible behind it" }, "Smoothing ", this.slider, this.amount),
      this.whole,
    );
  }

  get x() {
    return kept.x;
  }

  get smooth() {
    return kept.smooth;
  }

  /** For the address. */
  values() {
    return { x: kept.x, smooth: kept.smooth || "0", zoom: this.zoom ? this.zoom.map((end) => Number(end.toPrecision(6))).join("~") : null };
  }

  set(name, value) {
    kept[name] = value;
    this.amount.textContent = kept.smooth ? kept.smooth.toFixed(2) : "off";
    if (name === "x") this.setZoom(null, true);
    this.changed(name);
  }

  setZoom(zoom, isQuiet) {
    this.zoom = zoom;
    this.whole.hidden = !zoom;
    if (!isQuiet) this.changed("zoom");
  }
}

/** Round values in the axis's unit: [value, text]. */
export function ticksOf(axis, low, high, many, steps) {
  const unit = AXES[axis].unit(high);
  return steps(low / unit, high / unit, many).map((value) => [value * unit, tick(value)]);
}

function timeUnit(end) {
  return TIME_UNITS.find(([seconds]) => 2 * seconds <= end) || TIME_UNITS[TIME_UNITS.length - 1];
}

function share(text) {
  const value = Number(text);
  return 0 <= value && value < 1 ? Math.min(0.99, value) : 0;
}

function range(text) {
  const [low, high] = (text || "").split("~").map(Number);
  return Number.isFinite(low) && Number.isFinite(high) && low < high ? [low, high] : null;
}
