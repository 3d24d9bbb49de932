// Items that the server holds, fetched by pages as they become visible.

/** The items of one question; `refresh` fetches those that are visible again. */
export class Remote {
  #pages = new Map();
  #asked = new Set();
  #question = 0;
  count = 0;
  version = 0;

  constructor(fetchPage, onChange, size = 50) {
    Object.assign(this, { fetchPage, onChange, size });
  }

  at(index) {
    return this.#pages.get(Math.floor(index / this.size))?.items[index % this.size];
  }

  want(first, last) {
    for (let page = Math.floor(Math.max(0, first) / this.size); page <= Math.floor(Math.max(0, last) / this.size); page += 1) {
      if (this.#pages.get(page)?.version !== this.version && !this.#asked.has(page)) this.#fetch(page);
    }
  }

  refresh() {
    this.version += 1;
    this.onChange();
  }

  /** Another question from now on: what was answered before, or is under way, belongs to the previous one. */
  restart() {
    this.#question += 1;
    this.#pages.clear();
    this.#asked.clear();
    this.refresh();
  }

  async #fetch(page) {
    this.#asked.add(page);
    const version = this.version;
    const question = this.#question;
    try {
      const answer = await this.fetchPage(page * this.size, this.size);
      if (question !== this.#question) return;
      this.count = answer.total;
      this.#pages.set(page, { version, items: answer.items });
      for (const each of this.#pages.keys()) if (Math.abs(each - page) > 20) this.#pages.delete(each);
    } catch {
      if (question === this.#question) this.#pages.set(page, { version, items: [] });
    } finally {
      if (question === this.#question) {
        this.#asked.delete(page);
        this.onChange();
      }
    }
  }
}
