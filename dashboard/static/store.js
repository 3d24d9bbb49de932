// What the stream has told: the groups' lines, and their history for as long as the page is open.

const MOST = 600;

export class Store extends EventTarget {
  rows = new Map();
  frame = 0;
  now = Date.now();
  complete = false;
  loading = ["everything"];
  notices = [];
  lost = "";
  #history = new Map();

  /** A new stream begins with all lines. */
  restart() {
    this.rows = new Map();
  }

  take(event) {
    for (const name of event.gone) this.rows.delete(name);
    this.now = Date.parse(event.now);
    for (const row of event.rows) {
      this.rows.set(row.name, row);
      this.#remember(row);
    }
    this.frame = event.frame;
    this.complete = event.complete;
    this.loading = event.loading;
    this.notices = event.notices;
    this.lost = "";
    this.dispatchEvent(new Event("change"));
  }

  lose(reason) {
    this.lost = reason;
    this.dispatchEvent(new Event("change"));
  }

  /** [time, used, runtime, min] of a group and key, the oldest first, with now as the last. */
  history(name, flavor, resource) {
    const points = this.#history.get(name)?.get(`${flavor}/${resource}`) ?? [];
    const last = points.at(-1);
    return last ? [...points, [this.now, ...last.slice(1)]] : [];
  }

  #remember(row) {
    let keys = this.#history.get(row.name);
    if (!keys) this.#history.set(row.name, (keys = new Map()));
    for (const key of row.keys) {
      const id = `${key.flavor}/${key.resource}`;
      let points = keys.get(id);
      if (!points) keys.set(id, (points = []));
      const last = points.at(-1);
      if (last && last[1] === key.used && last[2] === key.runtime && last[3] === key.min) continue;
      points.push([this.now, key.used, key.runtime, key.min]);
      if (points.length > MOST) keys.set(id, points.filter((_, index) => index % 2 || index > MOST / 2));
    }
  }
}
