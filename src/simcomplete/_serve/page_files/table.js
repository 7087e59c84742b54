// A form by names of features: numbers, sliders, blanks, and rows pasted from a spreadsheet.

import { el, fill, slider, speak, written } from "./dom.js";
import { PasteError, number, readRow } from "./paste.js";

const AT_ONCE = 60; // features on one screen; the others are found by their names

export class TableEditor {
  constructor(root, { names, low, high, loadSamples, problem }, changed) {
    Object.assign(this, { names, low, high, loadSamples, problem, changed });
    this.values = names.map(() => null);
    this.base = names.map(() => null); // what is known of the sample, hidden or not
    this.own = null;
    this.place = 0;
    this.share = 40;
    this.build(root);
  }

  build(root) {
    const button = (text, call) => el("button", { type: "button", on: { click: call } }, text);
    this.said = el("p", { class: "soft", "aria-live": "polite" });
    this.back = button("‹ Previous", () => this.pick(this.place - 1));
    this.forth = button("Next ›", () => this.pick(this.place + 1));
    this.picker = el("fieldset", {}, el("legend", {}, "Pick a sample"), this.said, el("div", { class: "row" }, this.back, this.forth));
    this.box = el("textarea", { id: "paste", rows: "2", spellcheck: false, placeholder: "Cells copied from a spreadsheet, with the line of names or without" });
    this.box.addEventListener("paste", () => setTimeout(() => this.paste(this.box.value), 0));
    this.wrong = el("p", { id: "paste-problem", role: "alert", class: "soft" });
    this.list = el("ul", { class: this.names.length > 20 ? "features many" : "features", "aria-label": "Features" });
    this.rows = this.names.map((name, i) => this.feature(name, i));
    this.filter = el("input", { type: "text", id: "find-feature", on: { input: () => this.shown() } });
    const search = this.names.length > 20 ? el("div", {}, el("label", { class: "label", for: "find-feature" }, "Find a feature"), this.filter) : null;
    root.append(
      this.picker,
      el("fieldset", {}, el("label", { class: "label", for: "paste" }, "Paste a row"), this.box, el("div", { class: "row" }, button("Use this row", () => this.paste(this.box.value))), this.wrong),
      slider("Hide", { min: 0, max: 95, step: 5, value: this.share, unit: " %", id: "random-share" }, (value) => { this.share = value; this.hideAtRandom(); }),
      el("div", { class: "row" }, button("Hide at random", () => this.hideAtRandom()), button("Show all", () => this.set([...this.base])), button("Clear", () => this.clear())),
      ...(search ? [search] : []),
      this.list,
    );
    this.shown();
  }

  feature(name, i) {
    const id = `feature-${i}`;
    const input = el("input", { type: "text", id, inputmode: "decimal", autocomplete: "off", "aria-describedby": `${id}-expected` });
    const ranged = this.low[i] !== null && this.high[i] > this.low[i];
    const range = el("input", { type: "range", min: "0", max: "1000", step: "1", value: "500", disabled: !ranged, "aria-label": `${name}, slider` });
    const expected = el("span", { class: "expected", id: `${id}-expected` });
    const clear = el("button", { type: "button", "aria-label": `Blank ${name}`, title: "Blank", on: { click: () => this.change(i, null) } }, "×");
    input.addEventListener("input", () => this.typed(i));
    input.addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text");
      if (/[\t\n;]/.test(text.trim())) { event.preventDefault(); this.paste(text); }
    });
    range.addEventListener("input", () => this.change(i, rounded(this.low[i] + (Number(range.value) / 1000) * (this.high[i] - this.low[i]), this.high[i] - this.low[i]), range));
    const item = el("li", {}, el("label", { for: id }, name), input, clear, range, expected);
    return { item, input, range, expected, clear };
  }

  shown() {
    const wanted = this.filter.value.trim().toLowerCase();
    const some = this.rows.filter((_, i) => this.names[i].toLowerCase().includes(wanted));
    fill(this.list, ...some.slice(0, AT_ONCE).map((row) => row.item));
    if (some.length > AT_ONCE) this.list.append(el("li", {}, el("span", { class: "soft" }, `${some.length - AT_ONCE} more: find them by name`)));
  }

  async begin() {
    const before = String(this.values);
    const found = await this.loaded(0);
    if (String(this.values) !== before) return; // somebody has begun to type meanwhile
    this.take(0, found, false);
    this.hideAtRandom();
  }

  async pick(place) { this.take(place, await this.loaded(place)); }

  async loaded(place) {
    const found = await this.loadSamples(Math.max(0, place), 1);
    this.picker.hidden = !found.n;
    return found;
  }

  take(place, found, tell = true) {
    if (!found.rows.length) return;
    this.place = Math.max(0, place);
    this.base = found.rows[0];
    this.own = found.ids?.[0] ?? null;
    this.said.textContent = `${this.place + 1} of ${found.n}: ${found.names[0]}`;
    this.back.disabled = this.place === 0;
    this.forth.disabled = this.place + 1 >= found.n;
    if (tell) this.set(this.base.map((value, i) => (this.values[i] === null ? null : value)));
    else this.set([...this.base]);
  }

  typed(i) {
    const { input } = this.rows[i];
    try {
      const value = number(input.value, true, this.names[i]);
      input.removeAttribute("aria-invalid");
      this.problem(null);
      this.change(i, value, input);
    } catch (error) {
      input.setAttribute("aria-invalid", "true");
      this.problem(error.message);
    }
  }

  // A value is set by hand: blanks hide what is known, numbers replace it.
  change(i, value, by = null) {
    this.values[i] = value;
    if (value !== null && value !== this.base[i]) { this.base[i] = value; this.own = null; }
    this.write(i, by);
    this.changed();
  }

  set(values) {
    this.values = values;
    values.forEach((_, i) => this.write(i));
    this.changed();
  }

  clear() {
    this.base = this.names.map(() => null);
    this.own = null;
    this.said.textContent = "";
    this.set([...this.base]);
  }

  hideAtRandom() {
    const order = this.names.map((_, i) => [Math.random(), i]).sort((a, b) => a[0] - b[0]).map(([, i]) => i);
    const gone = new Set(order.slice(0, Math.round((this.share / 100) * order.length)));
    this.set(this.base.map((value, i) => (gone.has(i) ? null : value)));
  }

  paste(text) {
    try {
      const values = readRow(text, this.names);
      this.wrong.textContent = "";
      this.base = [...values];
      this.own = null;
      this.said.textContent = "the row that was pasted";
      this.set(values);
      speak(`Pasted ${values.filter((value) => value !== null).length} of ${values.length} values`);
    } catch (error) {
      if (!(error instanceof PasteError)) throw error;
      this.wrong.textContent = error.message;
    }
  }

  write(i, by = null) {
    const { item, input, range, expected } = this.rows[i], value = this.values[i];
    item.classList.toggle("blank", value === null);
    if (by !== input) { input.value = value === null ? "" : written(value); input.removeAttribute("aria-invalid"); }
    if (by !== range && value !== null) this.slide(i, value);
    if (value !== null) { expected.textContent = ""; input.placeholder = ""; }
    range.setAttribute("aria-valuetext", value === null ? "blank" : written(value));
  }

  slide(i, value) {
    const { range } = this.rows[i];
    if (!range.disabled) range.value = String(Math.round((1000 * (value - this.low[i])) / (this.high[i] - this.low[i])));
  }

  get row() { return this.values; }
  get whole() { return this.base.includes(null) ? null : this.base; }

  // Expected values stand in the blanks, with what they may be off by.
  showFilled(root, filled) {
    this.values.forEach((value, i) => {
      if (value !== null || filled.values[i] === null) return;
      const { input, expected } = this.rows[i];
      input.placeholder = written(filled.values[i]);
      expected.textContent = `expected, ± ${written(Number(filled.std[i].toPrecision(2)))}`;
      this.slide(i, filled.values[i]);
    });
    const blanks = this.values.filter((value) => value === null).length;
    fill(root, el("p", { class: "soft" }, blanks ? `${blanks} of ${this.names.length} values are blank; what is expected of them stands in the form.` : "Nothing is blank."));
  }
}

function rounded(value, width) {
  const digits = Math.max(0, 3 - Math.ceil(Math.log10(width)));
  return Number(value.toFixed(Math.min(12, digits)));
}
