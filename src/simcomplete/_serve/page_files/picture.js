// A picture to draw and to hide parts of, with the mouse, a finger or the keyboard.

import { choices, el, fill, slider, speak, written } from "./dom.js";
import { draw } from "./canvas.js";

const ACTIONS = { hide: "Hide", show: "Show", draw: "Draw", erase: "Erase" };
const SHAPES = { brush: "Brush", square: "Square", stripes: "Stripes" };
const AT_ONCE = 20; // samples on one screen

export class PictureEditor {
  constructor(root, { shape, palette, loadSamples }, changed) {
    [this.height, this.width] = shape;
    Object.assign(this, { shape, palette, loadSamples, changed });
    this.values = new Array(this.height * this.width).fill(palette.low);
    this.hidden = new Array(this.values.length).fill(false);
    this.action = "hide";
    this.tool = "brush";
    this.size = Math.max(1, Math.round(Math.min(this.height, this.width) / 9));
    this.share = 75;
    this.own = null; // id of the sample, where it is a candidate and was not drawn on
    this.mark = null;
    this.start = 0;
    this.build(root);
    palette.changed = () => { this.paint(); this.samples.forEach(({ canvas, row }) => draw(canvas, row, shape, palette, { small: true })); changed(); };
  }

  build(root) {
    this.canvas = el("canvas", {
      class: "drawing", tabindex: "0", role: "application", "aria-label": `Picture of ${this.height} by ${this.width} pixels`,
      "aria-describedby": "drawing-help",
      on: {
        pointerdown: (event) => this.down(event), pointermove: (event) => this.move(event),
        pointerup: (event) => this.up(event), pointercancel: (event) => this.up(event),
        keydown: (event) => this.key(event), blur: () => { this.mark = null; this.paint(); },
      },
    });
    this.count = el("p", { class: "soft count" });
    this.strip = el("div", { class: "samples", role: "group", "aria-label": "Samples to pick" });
    this.samples = [];
    this.back = el("button", { type: "button", on: { click: () => this.turn(-AT_ONCE) } }, "‹ Previous");
    this.forth = el("button", { type: "button", on: { click: () => this.turn(AT_ONCE) } }, "Next ›");
    const button = (text, call) => el("button", { type: "button", on: { click: call } }, text);
    const biggest = Math.max(2, Math.round(Math.min(this.height, this.width) / 2));
    root.append(
      this.canvas, this.count, el("p", { id: "brief", class: "soft" }),
      el("p", { id: "drawing-help", class: "unseen" }, "Arrow keys move over the pixels, space applies what is chosen below."),
      choices("What to do", "action", ACTIONS, this.action, (value) => { this.action = value; }),
      choices("With", "tool", SHAPES, this.tool, (value) => { this.tool = value; }),
      slider("Brush", { min: 1, max: biggest, step: 1, value: this.size, unit: " px", id: "brush-size" }, (value) => { this.size = value; }),
      slider("Random", { min: 0, max: 98, step: 1, value: this.share, unit: " %", id: "random-share" }, (value) => { this.share = value; this.hideAtRandom(); }),
      el("div", { class: "row" }, button("Hide at random", () => this.hideAtRandom()), button("Show all", () => this.setHidden(() => false)), button("Blank picture", () => this.blank())),
      el("fieldset", {}, el("legend", {}, "Pick a sample"), this.strip, el("div", { class: "row" }, this.back, this.forth)),
    );
  }

  async begin() {
    const state = () => `${this.values};${this.hidden}`, before = state();
    await this.turn(0);
    if (state() !== before) return; // somebody has begun to draw meanwhile
    if (this.samples.length) this.pick(0, false);
    this.hideAtRandom();
  }

  async turn(by) {
    this.start = Math.max(0, this.start + by);
    const found = await this.loadSamples(this.start, AT_ONCE);
    this.samples = found.rows.map((row, i) => {
      const canvas = el("canvas", { class: "thumb", "aria-hidden": "true" });
      draw(canvas, row, this.shape, this.palette, { small: true });
      const made = el("button", { type: "button", "aria-label": found.names[i], "aria-pressed": "false", title: found.names[i], on: { click: () => this.pick(i) } }, canvas);
      return { canvas, row, button: made, id: found.ids?.[i] ?? null, name: found.names[i] };
    });
    fill(this.strip, ...this.samples.map((sample) => sample.button));
    this.back.disabled = this.start === 0;
    this.forth.disabled = this.start + AT_ONCE >= found.n;
    if (!found.n) this.strip.closest("fieldset").hidden = true;
  }

  pick(i, tell = true) {
    const { row, id, name } = this.samples[i];
    this.samples.forEach((sample, j) => sample.button.setAttribute("aria-pressed", String(i === j)));
    this.values = [...row]; // null where nobody knows
    this.own = id;
    if (tell) { speak(`Picked ${name}`); this.redone(); }
  }

  blank() {
    this.values.fill(this.palette.low);
    this.own = null;
    this.samples.forEach((sample) => sample.button.setAttribute("aria-pressed", "false"));
    document.querySelector('input[name="action"][value="draw"]').click();
    this.setHidden(() => false);
  }

  setHidden(rule) {
    this.hidden = this.hidden.map((_, i) => rule(i));
    this.redone();
  }

  hideAtRandom() {
    const order = this.hidden.map((_, i) => i);
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(Math.random() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    const gone = new Set(order.slice(0, Math.round((this.share / 100) * order.length)));
    this.setHidden((i) => gone.has(i));
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const within = (share, n) => Math.min(n - 1, Math.max(0, Math.floor(share * n)));
    return { x: within((event.clientX - box.left) / box.width, this.width), y: within((event.clientY - box.top) / box.height, this.height) };
  }

  down(event) {
    if (event.button > 0) return;
    event.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.from = this.last = this.place(event);
    this.mark = null;
    if (this.tool !== "square") this.apply(this.touched(this.from, this.from));
    else this.paint(this.between(this.from, this.from));
  }

  move(event) {
    if (!this.from) return;
    const now = this.place(event);
    if (this.tool === "square") { this.last = now; this.paint(this.between(this.from, now)); return; }
    this.apply(this.touched(this.last, now));
    this.last = now;
  }

  up(event) {
    if (!this.from) return;
    const from = this.from;
    this.from = null;
    if (this.tool === "square") this.apply(inBox(this.between(from, this.last)));
    else if (event.type === "pointerup") this.tell();
  }

  between(a, b) {
    return { x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x) + 1, height: Math.abs(a.y - b.y) + 1 };
  }

  // Which pixels a stroke from one place to another touches.
  touched(a, b) {
    const steps = Math.max(1, Math.abs(a.x - b.x), Math.abs(a.y - b.y));
    const before = Math.floor((this.size - 1) / 2), found = [];
    for (let i = 0; i <= steps; i++) {
      const x = Math.round(a.x + ((b.x - a.x) * i) / steps), y = Math.round(a.y + ((b.y - a.y) * i) / steps);
      const stripe = this.tool === "stripes";
      const box = { x: stripe ? 0 : x - before, y: y - before, width: stripe ? this.width : this.size, height: this.size };
      found.push(...inBox(box));
    }
    return found;
  }

  apply(pixels) {
    const drawing = this.action === "draw" || this.action === "erase";
    for (const { x, y } of pixels) {
      if (x < 0 || y < 0 || x >= this.width || y >= this.height) continue;
      const i = y * this.width + x;
      this.hidden[i] = this.action === "hide";
      if (drawing) this.values[i] = this.action === "draw" ? this.palette.high : this.palette.low;
    }
    if (drawing) this.own = null;
    this.redone();
  }

  key(event) {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key in ways) {
      event.preventDefault();
      const [dx, dy] = ways[event.key];
      this.mark = this.mark ? { x: clip(this.mark.x + dx, this.width), y: clip(this.mark.y + dy, this.height) } : { x: 0, y: 0 };
      this.paint();
      this.tell();
    } else if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      this.mark ??= { x: 0, y: 0 };
      this.apply(this.tool === "square" ? inBox({ ...this.mark, width: this.size, height: this.size }) : this.touched(this.mark, this.mark));
      this.tell();
    }
  }

  tell() {
    if (!this.mark) return;
    const i = this.mark.y * this.width + this.mark.x;
    speak(`Row ${this.mark.y + 1}, column ${this.mark.x + 1}: ${this.row[i] === null ? "hidden" : `shown, ${written(this.values[i])}`}`);
  }

  redone() {
    this.paint();
    this.changed();
  }

  paint(box = null) {
    draw(this.canvas, this.row, this.shape, this.palette, { mark: this.mark, box });
    const gone = this.row.filter((value) => value === null).length, n = this.hidden.length;
    this.count.textContent = `${gone} of ${n} pixels hidden (${Math.round((100 * gone) / n)} %)`;
  }

  // What the service is asked about, and the whole of it, which is known here.
  get row() { return this.values.map((value, i) => (this.hidden[i] ? null : value)); }
  get whole() { return this.values.includes(null) ? null : this.values; }

  showFilled(root, filled) {
    const figure = (values, text) => {
      const canvas = el("canvas", { role: "img", "aria-label": text });
      draw(canvas, values, this.shape, this.palette);
      return el("figure", {}, canvas, el("figcaption", {}, text));
    };
    fill(root, el("div", { class: "pictures" }, figure(filled.values, "Filled in by the posterior"), figure(this.values, "The whole sample")));
  }
}

function inBox({ x, y, width, height }) {
  return Array.from({ length: width * height }, (_, i) => ({ x: x + (i % width), y: y + Math.floor(i / width) }));
}

const clip = (value, n) => Math.min(n - 1, Math.max(0, value));
