// The film of the newest episode: frames, the σ of each state below them, exploratory actions marked.

import { ago, count, el, number } from "/format.js";

const SPEEDS = [["½×", 7.5], ["1×", 15], ["2×", 30], ["4×", 60]];
const MAGIC = "SANEFILM";

export class Film {
  /** From the bytes of `film.bin`: magic, length of the header, header as JSON, compressed frames. */
  static async parse(buffer, row) {
    const text = new TextDecoder();
    if (text.decode(buffer.slice(0, 8)) !== MAGIC) throw new Error("not a film");
    const length = new DataView(buffer).getUint32(8, true);
    const head = JSON.parse(text.decode(buffer.slice(12, 12 + length)));
    const unpacked = new Blob([buffer.slice(12 + length)]).stream().pipeThrough(new DecompressionStream("deflate"));
    const pictures = new Uint8Array(await new Response(unpacked).arrayBuffer());
    const size = head.width * head.height;
    // Each byte is XORed with that of the previous frame.
    for (let i = size; i < pictures.length; i += 1) pictures[i] ^= pictures[i - size];
    return new Film(head, pictures, row);
  }

  constructor(head, pictures, row) {
    Object.assign(this, { head, pictures, row });
    this.length = head.action.length;
    this.at = 0;
    this.rate = 15;
    this.isPlaying = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.screen = el("canvas", { class: "screen", width: head.width, height: head.height, role: "img", "aria-label": "What the agent saw", title: "Open large", click: () => this.root.classList.toggle("is-large") });
    this.trace = el("canvas", { class: "trace", role: "img", "aria-label": this.words() });
    this.button = el("button", { type: "button", click: () => this.toggle() });
    this.slider = el("input", { type: "range", min: 0, max: this.length - 1, value: 0, "aria-label": "Place in the film", input: () => this.go(Number(this.slider.value)) });
    this.pace = el("select", { "aria-label": "Pace", change: () => (this.rate = Number(this.pace.value)) }, SPEEDS.map(([name, value]) => el("option", { value, selected: value === 15 }, name)));
    this.facts = el("dl", { class: "facts" });
    this.badge = el("p", { class: "badge" });
    const changed = head.explored.filter(Boolean).length;
    this.root = el(
      "div",
      { class: "film-grid" },
      el("div", { class: "screen-box" }, this.screen),
      el(
        "div",
        { class: "film-side" },
        el("div", { class: "controls" }, this.button, this.slider, this.pace),
        el("div", { class: "trace-box" }, this.trace),
        el("p", { class: "key" }, head.sigma.length ? el("span", { class: `key-sigma c${row.colour}` }, "|σ| of each state") : null, el("span", { class: "key-changed" }, `exploratory actions (${changed} of ${this.length})`), 1 < head.episode_starts.length ? el("span", { class: "key-start" }, "an episode begins") : null),
        el("div", { class: "film-now" }, this.facts, this.badge),
        el("p", { class: "muted small" }, `Episode ${count(head.episode)}, from interaction ${count(head.interactions)}${head.cut ? "; its first minute" : ""}. Filmed `, (this.age = el("span")), "."),
      ),
    );
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.trace.parentElement);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.redraw = () => this.draw();
    this.scheme.addEventListener("change", this.redraw);
    this.trace.addEventListener("pointerdown", (event) => this.seek(event));
    this.trace.addEventListener("pointermove", (event) => event.buttons && this.seek(event));
  }

  words() {
    const { sigma, explored } = this.head;
    const changed = explored.filter(Boolean).length;
    const range = sigma.length ? `|σ| from ${number(Math.min(...sigma))} to ${number(Math.max(...sigma))}; ` : "";
    return `${range}${changed} of ${this.length} actions changed by exploration`;
  }

  begin() {
    this.last = performance.now();
    this.paint();
    const step = (now) => {
      if (this.isClosed) return;
      if (this.isPlaying && 1000 / this.rate <= now - this.last) {
        this.last = now;
        // Pauses at the end, then starts again.
        this.rest = this.at === this.length - 1 ? (this.rest || 0) + 1 : 0;
        if (this.at < this.length - 1) this.go(this.at + 1);
        else if (this.rate < this.rest) this.go(0);
      }
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
    this.label();
  }

  close(next) {
    if (next) Object.assign(next, { rate: this.rate, isPlaying: this.isPlaying });
    if (next) next.pace.value = this.rate;
    this.isClosed = true;
    this.observer.disconnect();
    this.scheme.removeEventListener("change", this.redraw);
  }

  toggle() {
    this.isPlaying = !this.isPlaying;
    this.label();
  }

  label() {
    this.button.textContent = this.isPlaying ? "Pause" : "Play";
  }

  go(at) {
    this.at = at;
    this.rest = 0;
    this.paint();
  }

  seek(event) {
    const box = this.trace.getBoundingClientRect();
    const share = (event.clientX - box.left - 44) / (box.width - 52);
    this.go(Math.round(Math.min(1, Math.max(0, share)) * (this.length - 1)));
  }

  paint() {
    const { head, at } = this;
    const size = head.width * head.height;
    const pen = this.screen.getContext("2d");
    const image = pen.createImageData(head.width, head.height);
    for (let i = 0; i < size; i += 1) {
      const colour = head.palette[this.pictures[at * size + i]];
      image.data[4 * i] = colour[0];
      image.data[4 * i + 1] = colour[1];
      image.data[4 * i + 2] = colour[2];
      image.data[4 * i + 3] = 255;
    }
    pen.putImageData(image, 0, 0);
    this.slider.value = at;
    this.slider.setAttribute("aria-valuetext", `picture ${at + 1} of ${this.length}`);
    const facts = [["Action", head.actions[head.action[at]] || String(head.action[at])], ["Return", number(head.return_so_far[at])], ["Picture", `${at + 1} / ${this.length}`]];
    if (head.sigma.length) facts.splice(1, 0, ["|σ|", number(head.sigma[at])]);
    this.facts.replaceChildren(...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
    this.badge.textContent = head.explored[at] ? "exploratory action" : "";
    this.age.textContent = ago(Math.max(0, Date.now() / 1000 - head.unix_seconds));
    this.draw();
  }

  /** The trace: σ as a line, exploratory actions as marks below it, starts of episodes as thin lines. */
  draw() {
    const box = this.trace.parentElement;
    const [width, height] = [box.clientWidth, box.clientHeight];
    if (width === 0 || height === 0) return;
    const ratio = window.devicePixelRatio || 1;
    if (this.trace.width !== Math.round(width * ratio) || this.trace.height !== Math.round(height * ratio)) {
      this.trace.width = Math.round(width * ratio);
      this.trace.height = Math.round(height * ratio);
    }
    const pen = this.trace.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const ink = (name) => style.getPropertyValue(name).trim();
    const { sigma, explored, episode_starts: starts } = this.head;
    const [left, right, top, bottom] = [44, width - 8, 6, height - 18];
    const x = (i) => left + ((right - left) * i) / Math.max(1, this.length - 1);
    const most = Math.max(...sigma, 0) || 1;
    const y = (value) => bottom - ((bottom - top) * value) / most;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.lineWidth = 1;
    pen.strokeStyle = ink("--grid");
    for (const share of sigma.length ? [0, 0.5, 1] : [0]) {
      const line = Math.round(y(share * most)) + 0.5;
      pen.beginPath();
      pen.moveTo(left, line);
      pen.lineTo(right, line);
      pen.stroke();
      pen.fillStyle = ink("--muted");
      if (sigma.length) pen.fillText(number(share * most), left - 6, line);
    }
    pen.strokeStyle = ink("--muted");
    pen.globalAlpha = 0.5;
    for (const start of starts.filter((start) => 0 < start)) {
      pen.beginPath();
      pen.moveTo(Math.round(x(start)) + 0.5, top);
      pen.lineTo(Math.round(x(start)) + 0.5, bottom);
      pen.stroke();
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = ink(`--c${this.row.colour}`);
    pen.lineWidth = 1.4;
    pen.lineJoin = "round";
    pen.beginPath();
    sigma.forEach((value, i) => (starts.includes(i) ? pen.moveTo(x(i), y(value)) : pen.lineTo(x(i), y(value))));
    pen.stroke();
    pen.fillStyle = ink("--failed");
    const wide = Math.max(1.5, Math.min(4, (right - left) / this.length));
    explored.forEach((is, i) => is && pen.fillRect(x(i) - wide / 2, bottom + 5, wide, 9));
    pen.strokeStyle = ink("--ink");
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x(this.at), top - 4);
    pen.lineTo(x(this.at), height - 3);
    pen.stroke();
  }
}
