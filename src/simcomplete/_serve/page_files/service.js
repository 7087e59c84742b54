// The service behind the page: JSON in, JSON out, and a sentence where something is wrong.

export class ServiceError extends Error {}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", ...options });
  } catch {
    throw new ServiceError("The service does not answer. Is it still running?");
  }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ServiceError(found.error || `The service answered with status ${answer.status}.`);
  return found;
}

export const get = (path) => ask(path);

export const post = (path, body) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

// One question at a time; of those that come meanwhile only the last is asked.
export class Latest {
  constructor(work) {
    this.work = work;
    this.busy = false;
    this.next = null;
  }

  async ask(question) {
    this.next = { question };
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.next) {
        const { question: asked } = this.next;
        this.next = null;
        await this.work(asked, () => this.next !== null);
      }
    } finally {
      this.busy = false;
    }
  }
}

// Rows of candidates by id, asked for once.
export class Rows {
  constructor(most = 4000) {
    this.most = most;
    this.known = new Map();
  }

  async of(ids) {
    const wanted = [...new Map(ids.filter((id) => id !== null).map((id) => [JSON.stringify(id), id])).entries()];
    const unknown = wanted.filter(([key]) => !this.known.has(key)).map(([, id]) => id);
    if (unknown.length) {
      if (this.known.size > this.most) this.known.clear();
      const found = await post("/v1/rows", { ids: unknown.slice(0, 256) });
      found.rows.forEach((row, i) => this.known.set(JSON.stringify(unknown[i]), row));
    }
    return ids.map((id) => this.known.get(JSON.stringify(id)) ?? null);
  }
}
