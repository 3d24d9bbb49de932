// What the stream has told: the groups' lines, and how old they are.

const ROOT = "root";
export const keyOf = (each) => `${each.flavor}/${each.resource}`;

export class Store extends EventTarget {
  rows = new Map();
  frame = 0;
  now = Date.now();
  complete = false;
  loading = ["everything"];
  notices = [];
  /** Since when the data stands and why, as the process says; null while it is live. */
  stale = null;
  /** When the last reconciler led; null while one leads, or where this user cannot know. */
  leaderless = null;
  /** Why there is no stream; empty while there is one. */
  lost = "";
  #key = "";

  /** A new stream begins with all lines. */
  restart() {
    this.rows = new Map();
  }

  take(event) {
    for (const name of event.gone) this.rows.delete(name);
    this.now = Date.parse(event.now);
    for (const row of event.rows) this.rows.set(row.name, row);
    const { frame, complete, loading, notices, stale, leaderless } = event;
    Object.assign(this, { frame, complete, loading, notices, stale, leaderless, lost: "" });
    this.dispatchEvent(new Event("change"));
  }

  lose(reason) {
    this.lost = reason;
    this.dispatchEvent(new Event("change"));
  }

  /** The flavor and resource that pages are about: the one chosen, else where most is asked of what there is. */
  key(chosen) {
    if (chosen) return chosen;
    if (!this.keys.has(this.#key)) this.#key = this.#busiest();
    return this.#key;
  }

  /** Every flavor and resource of any group, by name. */
  get keys() {
    const found = new Set();
    for (const row of this.rows.values()) for (const key of row.keys) found.add(keyOf(key));
    return new Set([...found].sort());
  }

  #busiest() {
    const offered = this.rows.get(ROOT)?.keys ?? [...this.rows.values()].flatMap((row) => row.keys);
    const strain = (key) => (key.runtime > 0 ? key.request / key.runtime : 0) + (key.resource.includes("/") ? 1e-6 : 0);
    const best = offered.reduce((first, key) => (!first || strain(key) > strain(first) ? key : first), null);
    return best ? keyOf(best) : "";
  }
}
