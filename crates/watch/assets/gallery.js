// The risk gallery that `sane risk gallery` wrote: the states with the smallest and the largest |σ|. Its pictures are cards
// on white paper; shown here is the frame of each, with its facts in the colours of the page. A click opens it large.

import { count, el, number, percent } from "/format.js";

/** Of the frame in the card, in pixels of the file. */
const MARGIN = 12;

/** `found` is `gallery.json`; `colour` the agent's; `address` gives the URL of a picture. */
export function gallery({ subject, smallest, largest }, colour, address) {
  const all = [...smallest, ...largest];
  const most = Math.max(...all.map((state) => state.sigma_abs), 0) || 1;
  const dialog = el("dialog", { class: "picture", "aria-label": "A state of the gallery", click: (event) => event.target === dialog && dialog.close(), keydown: (event) => move(event) });
  let at = 0;
  const title = (i) => (i < smallest.length ? `smallest |σ|, ${i + 1} of ${smallest.length}` : `largest |σ|, ${i - smallest.length + 1} of ${largest.length}`);
  const open = (i) => {
    at = (i + all.length) % all.length;
    const step = (by, text, name) => el("button", { type: "button", "aria-label": name, click: () => open(at + by) }, text);
    dialog.replaceChildren(
      el("header", {}, el("b", {}, title(at)), step(-1, "‹", "Previous state"), step(1, "›", "Next state"), el("button", { type: "button", class: "close", "aria-label": "Close", click: () => dialog.close() }, "×")),
      el("div", { class: "opened" }, frame(address(all[at].picture), words(all[at])), facts(all[at])),
    );
    if (!dialog.open) dialog.showModal();
  };
  const move = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) open(at + by);
  };
  const action = (i) => subject.actions[i] || String(i);
  const words = (state) => `|σ| ${number(state.sigma_abs)}, ${action(state.action)}${state.noise_changed_action ? ", changed by noise" : ""}${state.true_risk === undefined || state.true_risk === null ? "" : `, true risk ${percent(state.true_risk)}`}`;
  const meter = (state) => {
    const bar = el("span", { class: `meter c${colour}`, title: "|σ|, beside the largest of the gallery" }, el("i"));
    bar.firstChild.style.width = `${(100 * state.sigma_abs) / most}%`;
    return bar;
  };
  const facts = (state) => {
    const q = state.q || [];
    const [low, high] = [Math.min(...q), Math.max(...q)];
    const rows = q.map((value, i) => {
      const bar = el("i");
      bar.style.width = `${high === low ? 0 : (100 * (value - low)) / (high - low)}%`;
      return el("tr", { class: i === state.action ? "is-taken" : "" }, el("td", {}, action(i)), el("td", { class: "bar" }, el("span", { class: `meter c${colour}` }, bar)), el("td", {}, number(value)));
    });
    return el("div", { class: "facts-side" }, el("p", {}, words(state)), meter(state), el("p", { class: "muted small" }, `Episode ${count(state.episode)}, interaction ${count(state.interaction)}. Q of each action, the taken one in bold:`), el("table", {}, el("tbody", {}, rows)));
  };
  const shown = (state, i) => el("figure", {}, el("button", { type: "button", class: "thumb", title: "Open large", "aria-label": `Open large: ${title(i)}`, click: () => open(i) }, frame(address(state.picture), `Episode ${state.episode}, interaction ${state.interaction}: ${words(state)}`)), el("figcaption", {}, meter(state), words(state)));
  const row = (heading, about, states, from) => [el("h3", {}, heading, el("small", { class: "muted" }, about)), el("div", { class: "pictures" }, states.map((state, i) => shown(state, from + i)))];
  return el(
    "div",
    {},
    el("p", { class: "muted small" }, `After ${count(subject.trained_interactions)} interactions of training; ${count(subject.interactions)} interactions in ${count(subject.episodes)} ${subject.episodes === 1 ? "episode" : "episodes"}, noise ${subject.noise}; |σ| from ${number(subject.sigma.min_abs)} to ${number(subject.sigma.max_abs)}, mean ${number(subject.sigma.mean_abs)}.`),
    ...row("Smallest |σ|", "where the agent keeps to what it knows", smallest, 0),
    ...row("Largest |σ|", "where it tries", largest, smallest.length),
    dialog,
  );
}

/** The frame in the card at `url`; the whole card if it has no frame where one is expected. */
function frame(url, words) {
  const canvas = el("canvas", { class: "frame", role: "img", "aria-label": words, width: 4, height: 3 });
  const image = new Image();
  image.onload = () => {
    const box = cut(image);
    Object.assign(canvas, { width: box.width, height: box.height });
    canvas.getContext("2d").drawImage(image, -box.left, -box.top);
  };
  image.src = url;
  return canvas;
}

/** The outline around the frame begins at the margin: it ends where the paper's colour comes back. */
function cut(image) {
  const whole = { left: 0, top: 0, width: image.width, height: image.height };
  const canvas = el("canvas", { width: image.width, height: image.height });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.drawImage(image, 0, 0);
  const { data } = pen.getImageData(0, 0, image.width, image.height);
  const at = (x, y) => data.slice(4 * (y * image.width + x), 4 * (y * image.width + x) + 3).join();
  const paper = at(0, 0);
  let start = 1;
  while (start < Math.min(image.width, image.height, 4 * MARGIN) && at(start, start) === paper) start += 1;
  if (start < MARGIN - 2 || 4 * MARGIN <= start) return whole;
  let [right, bottom] = [start, start];
  while (right + 1 < image.width && at(right + 1, start) !== paper) right += 1;
  while (bottom + 1 < image.height && at(start, bottom + 1) !== paper) bottom += 1;
  const isFrame = 40 < right - start && 40 < bottom - start;
  return isFrame ? { left: start, top: start, width: right - start + 1, height: bottom - start + 1 } : whole;
}
