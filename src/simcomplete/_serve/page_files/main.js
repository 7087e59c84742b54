// The page: what the model is, a sample with gaps, and what the service says about it, live.

import { Palette } from "./canvas.js";
import { byId, el, fill, speak } from "./dom.js";
import { LEVEL, listed, scaleOf, showLegend, showList } from "./neighbours.js";
import { PictureEditor } from "./picture.js";
import { Latest, Rows, ServiceError, get, post } from "./service.js";
import { TableEditor } from "./table.js";

const K = 10;
const MOST_TRUE = 1000; // similarities that are known of the whole sample

class Page {
  constructor(model, features) {
    Object.assign(this, { model, features });
    this.searches = model.n_candidates !== undefined;
    this.rows = new Rows();
    this.truth = { key: null, found: null };
    this.latest = new Latest((question, outdated) => this.answer(question, outdated));
    const loadSamples = (start, count) => get(`/v1/samples?start=${start}&count=${count}`);
    const changed = () => this.latest.ask({ row: this.editor.row, whole: this.editor.whole, own: this.editor.own });
    if (model.shape) {
      this.palette = new Palette(Math.min(...features.low.filter(isKnown)), Math.max(...features.high.filter(isKnown)));
      this.editor = new PictureEditor(byId("editor"), { shape: model.shape, palette: this.palette, loadSamples }, changed);
    } else {
      document.querySelector("main").classList.add("table");
      const names = features.names ?? features.low.map((_, i) => `feature ${i + 1}`);
      this.editor = new TableEditor(byId("editor"), { names, low: features.low, high: features.high, loadSamples, problem }, changed);
    }
    describe(model);
  }

  async answer({ row, whole, own }, outdated) {
    try {
      const known = row.some((value) => value !== null);
      const asked = { rows: [row], k: K + 1, level: LEVEL, overlap: true, payloads: true };
      const [filled, found, truth] = await Promise.all([
        known ? post("/v1/impute", { rows: [row] }) : null,
        this.searches ? post("/v1/search", asked) : null,
        this.searches && whole ? this.trueOnes(whole) : null,
      ]);
      const lists = found && this.lists(found, truth, own);
      if (lists && this.model.shape) await this.addRows(lists);
      problem(null);
      if (outdated()) return; // something newer will be shown at once
      byId("overview").hidden = false;
      if (filled) this.editor.showFilled(byId("filled"), { values: filled.values[0], std: filled.std[0] });
      if (found) this.show(lists, truth !== null, found.confidence[0], known);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      problem(error.message);
    }
  }

  // What the whole sample is most similar to: its similarities are exact.
  async trueOnes(whole) {
    const key = JSON.stringify(whole);
    if (this.truth.key !== key) {
      const k = Math.min(MOST_TRUE, this.model.n_candidates);
      this.truth = { key, found: await post("/v1/search", { rows: [whole], k }) };
    }
    return this.truth.found;
  }

  lists(found, truth, own) {
    const overlap = listed(found.overlap.ids[0], found.overlap.scores[0], found.overlap.payloads[0], own, K);
    const bounds = found.low ? { low: found.low[0], high: found.high[0] } : {};
    const posterior = listed(found.ids[0], found.scores[0], found.payloads[0], own, K, bounds);
    if (truth) {
      const ids = truth.ids[0].filter((id) => id !== own);
      const nearest = new Set(ids.slice(0, K));
      const exact = new Map(truth.ids[0].map((id, i) => [id, truth.scores[0][i]]));
      for (const near of [...overlap, ...posterior]) {
        near.hit = nearest.has(near.id);
        near.truth = exact.get(near.id) ?? null;
      }
    }
    return { overlap, posterior };
  }

  async addRows({ overlap, posterior }) {
    const every = [...overlap, ...posterior];
    try {
      const rows = await this.rows.of(every.map((near) => near.id));
      every.forEach((near, i) => { near.row = rows[i]; });
    } catch (error) { // one was removed meanwhile, or is a number that browsers cannot hold: shown without a picture
      if (!(error instanceof ServiceError)) throw error;
    }
  }

  show({ overlap, posterior }, truthKnown, confidence, known) {
    const scale = scaleOf([overlap, posterior]);
    const show = { shape: this.model.shape, palette: this.palette };
    byId("neighbours").hidden = false;
    byId("by-overlap").parentElement.classList.toggle("small", Boolean(show.shape));
    const word = this.model.metric === "pearson" ? "Correlation" : "Cosine";
    showList(byId("by-overlap"), "By overlap", `${word} over the observed values alone.`, overlap, scale, truthKnown, show);
    showList(byId("by-posterior"), "By posterior", `Expected ${word.toLowerCase()} over everything, given what is shown.`, posterior, scale, truthKnown, show);
    showLegend(truthKnown, scale, posterior.some((near) => near.low !== null));
    showConfidence(confidence, known);
    const hits = (list) => list.filter((near) => near.hit).length;
    const words = !known
      ? "Nothing of the sample is shown, so there is nothing to compare."
      : truthKnown
        ? `Of the ${posterior.length} nearest of the whole sample, overlap finds ${hits(overlap)} and posterior ${hits(posterior)}.`
        : "The whole sample is not known here, so nothing says which of these are true.";
    byId("verdict").textContent = words;
    const brief = byId("brief");
    if (brief) brief.textContent = truthKnown && known ? words : "";
    speak(words);
  }
}

function showConfidence(confidence, known) {
  const bar = el("span");
  bar.style.width = `${100 * confidence}%`;
  const percent = `${Math.round(100 * confidence)} %`;
  const meter = el("div", { class: "meter", role: "meter", "aria-label": "Confidence", "aria-valuemin": "0", "aria-valuemax": "1", "aria-valuenow": confidence.toFixed(3), "aria-valuetext": percent }, bar);
  const words = known
    ? "The length of the sample’s expected vector: 100 % when everything is known, less the more its direction is open."
    : "Nothing of the sample is shown.";
  fill(byId("confidence"), el("div", { class: "label" }, "Confidence"), el("div", { class: "number" }, percent), meter, el("p", { class: "soft" }, words));
}

function describe(model) {
  const many = (n) => n.toLocaleString("en");
  const what = model.shape ? `pictures of ${model.shape[0]} × ${model.shape[1]} pixels` : `rows of ${many(model.n_features)} features`;
  byId("about").textContent = model.n_candidates === undefined
    ? `A model of missing values, for ${what}`
    : `${many(model.n_candidates)} candidates, ${what}, ${model.metric === "pearson" ? "correlation" : "cosine"}`;
}

function problem(words) {
  byId("problem").hidden = !words;
  byId("problem").textContent = words ?? "";
}

const isKnown = (value) => value !== null;

try {
  const [model, features] = await Promise.all([get("/v1/model"), get("/v1/features")]);
  const page = new Page(model, features);
  await page.editor.begin();
} catch (error) {
  problem(error instanceof ServiceError ? error.message : "The page could not start.");
  if (!(error instanceof ServiceError)) throw error;
}
