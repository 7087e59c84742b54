// Elements with text in them: everything that came from somewhere else is text, never markup.

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, call] of Object.entries(value)) made.addEventListener(event, call);
    else if (name === "class") made.className = value;
    else if (name in made && typeof value !== "string") made[name] = value;
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

export const byId = (id) => document.getElementById(id);

export function fill(root, ...children) {
  root.replaceChildren(...children.filter((child) => child !== null));
  return root;
}

// A number as people write it: six digits that count, no more.
export function written(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "";
  return String(Number(x.toPrecision(Math.abs(x) >= 1000 ? 6 : 4)));
}

export const similarity = (x) => (x === null || x === undefined ? "–" : x.toFixed(3));

// One of several words, as radio buttons that look like one bar.
export function choices(legend, name, words, chosen, changed) {
  const made = Object.entries(words).map(([value, text]) =>
    el("label", {}, el("input", { type: "radio", name, value, checked: value === chosen, on: { change: () => changed(value) } }), el("span", {}, text)),
  );
  return el("fieldset", {}, el("legend", {}, legend), el("div", { class: "choices" }, ...made));
}

export function slider(text, { min, max, step, value, unit = "", id }, changed) {
  const output = el("output", { for: id }, `${value}${unit}`);
  const input = el("input", { type: "range", id, min, max, step, value: String(value) });
  input.setAttribute("aria-valuetext", `${value}${unit}`);
  input.addEventListener("input", () => {
    output.textContent = `${input.value}${unit}`;
    input.setAttribute("aria-valuetext", `${input.value}${unit}`);
    changed(Number(input.value));
  });
  return el("div", { class: "slider" }, el("label", { for: id }, text), input, output);
}

// Words for screen readers, once things are quiet again.
let waiting = 0;
export function speak(words) {
  clearTimeout(waiting);
  waiting = setTimeout(() => { byId("spoken").textContent = words; }, 700);
}
