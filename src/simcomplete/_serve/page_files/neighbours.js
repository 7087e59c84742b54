// Neighbours as a list of pictures or as a table: name, similarity, interval, and which are true.

import { byId, el, fill, similarity } from "./dom.js";
import { draw } from "./canvas.js";

export const LEVEL = 0.9;

// What a candidate is called, and what its payload says of it.
export function label(payload) {
  if (payload === null || payload === undefined) return "";
  if (typeof payload !== "object") return String(payload);
  const told = payload.label ?? payload.title ?? payload.name;
  return told === undefined || told === null ? "" : String(told);
}

// From one list of the service's answer to objects, without the sample itself.
export function listed(ids, scores, payloads, own, k, bounds = {}) {
  const made = ids.map((id, i) => ({
    id, score: scores[i], label: label(payloads?.[i]), low: bounds.low?.[i] ?? null, high: bounds.high?.[i] ?? null,
  }));
  return made.filter((near) => near.id !== null && near.id !== own).slice(0, k);
}

export function scaleOf(lists) {
  const values = lists.flat().flatMap((near) => [near.score, near.low, near.truth]).filter((x) => x !== null && x !== undefined);
  const least = Math.min(0.9, ...values);
  return { low: Math.max(-1, Math.floor(least * 10) / 10), high: 1 };
}

function bar(near, scale) {
  const at = (x) => `${(100 * (Math.min(scale.high, Math.max(scale.low, x)) - scale.low)) / (scale.high - scale.low)}%`;
  const words = [];
  const parts = [];
  if (near.low !== null) {
    const range = el("span", { class: "range" });
    range.style.left = at(near.low);
    range.style.right = `calc(100% - ${at(near.high)})`;
    parts.push(range);
    words.push(`between ${similarity(near.low)} and ${similarity(near.high)}`);
  }
  const point = el("span", { class: "point" });
  point.style.left = at(near.score);
  parts.push(point);
  if (near.truth !== undefined && near.truth !== null) {
    const truth = el("span", { class: "truth" });
    truth.style.left = at(near.truth);
    parts.push(truth);
    words.push(`truly ${similarity(near.truth)}`);
  }
  return el("div", { class: "bar", role: "img", "aria-label": words.join(", ") || `at ${similarity(near.score)}`, title: words.join(", ") }, ...parts);
}

function pictureItem(near, scale, show) {
  const canvas = el("canvas", { class: "thumb", "aria-hidden": "true" });
  if (near.row) draw(canvas, near.row, show.shape, show.palette, { small: true });
  return el(
    "li", { class: near.hit ? "hit" : "" },
    canvas,
    el("span", { class: "name", title: String(near.id) }, near.label ? `${near.label} · ${near.id}` : String(near.id)),
    el("span", { class: "score" }, similarity(near.score)),
    bar(near, scale),
    el("span", { class: "mark" }, near.hit ? "✓ true" : ""),
  );
}

function tableOf(list, scale, truthKnown, caption) {
  const head = ["Candidate", "Similarity", list.some((near) => near.low !== null) ? `${Math.round(100 * LEVEL)} % interval` : "Estimate"];
  if (truthKnown) head.push("True");
  return el(
    "div", { class: "wide" },
    el(
      "table", {},
      el("caption", { class: "unseen" }, caption),
      el("thead", {}, el("tr", {}, ...head.map((text, i) => el("th", { scope: "col", class: i === 1 ? "number-cell" : "" }, text)))),
      el("tbody", {}, ...list.map((near) =>
        el(
          "tr", { class: near.hit ? "hit" : "" },
          el("td", {}, String(near.id), near.label ? el("span", { class: "tag" }, near.label) : null),
          el("td", { class: "number-cell" }, similarity(near.score)),
          el("td", { class: "bar-cell" }, bar(near, scale)),
          truthKnown ? el("td", {}, near.hit ? el("span", { class: "mark" }, "✓ true") : "") : null,
        ))),
    ),
  );
}

// Shows one list under its heading; `show` has shape and palette for pictures.
export function showList(root, title, how, list, scale, truthKnown, show) {
  const hits = list.filter((near) => near.hit).length;
  const head = el("h3", {}, el("span", {}, title), truthKnown ? el("span", { class: "hits" }, `${hits} of ${list.length} true`) : null);
  const note = el("p", { class: "soft how" }, how);
  if (!list.length) return fill(root, head, note, el("p", { class: "soft" }, "Nothing is known of the sample: no neighbours."));
  const body = show.shape
    ? el("ol", { class: "near", "aria-label": title }, ...list.map((near) => pictureItem(near, scale, show)))
    : tableOf(list, scale, truthKnown, title);
  return fill(root, head, note, body);
}

export function showLegend(truthKnown, scale, intervals) {
  const key = (name, left, right) => {
    const sign = el("span", { class: name });
    sign.style.left = left;
    if (right) sign.style.right = right;
    return el("span", { class: "key bar", "aria-hidden": "true" }, sign);
  };
  const items = [el("li", {}, key("point", "50%"), "estimate")];
  if (intervals) items.push(el("li", {}, key("range", "5%", "5%"), `holds the true similarity ${Math.round(10 * LEVEL)} times in ten`));
  if (truthKnown) items.push(el("li", {}, key("truth", "50%"), "true similarity"), el("li", {}, el("span", { class: "mark" }, "✓ true"), " among the nearest of the whole sample"));
  items.push(el("li", {}, `bars from ${scale.low.toFixed(1)} to 1`));
  fill(byId("legend"), el("ul", { class: "legend" }, ...items));
}
