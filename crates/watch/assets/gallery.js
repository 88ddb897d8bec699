// The risk gallery that `sane risk gallery` wrote: the states with the smallest and the largest |σ|.

import { count, el, number, percent } from "/format.js";

/** `found` is `gallery.json`; `address` gives the URL of a picture. */
export function gallery({ subject, smallest, largest }, address) {
  const shown = (state) => {
    const action = subject.actions[state.action] || state.action;
    const words = `|σ| ${number(state.sigma_abs)}, ${action}${state.noise_changed_action ? ", changed by noise" : ""}${state.true_risk === undefined ? "" : `, true risk ${percent(state.true_risk)}`}`;
    return el("figure", {}, el("img", { src: address(state.picture), alt: `Episode ${state.episode}, interaction ${state.interaction}: ${words}`, loading: "lazy" }), el("figcaption", {}, words));
  };
  const row = (title, states) => [el("h3", {}, title), el("div", { class: "pictures" }, states.map(shown))];
  return el(
    "div",
    {},
    el("p", { class: "muted small" }, `After ${count(subject.trained_interactions)} interactions of training; ${count(subject.interactions)} interactions in ${count(subject.episodes)} ${subject.episodes === 1 ? "episode" : "episodes"}, noise ${subject.noise}; |σ| from ${number(subject.sigma.min_abs)} to ${number(subject.sigma.max_abs)}, mean ${number(subject.sigma.mean_abs)}.`),
    ...row("Smallest |σ|", smallest),
    ...row("Largest |σ|", largest),
  );
}
