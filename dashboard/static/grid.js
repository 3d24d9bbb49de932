// A list of any length of which only the visible lines are elements. The keyboard moves a cursor, Enter opens its line.

import { el } from "./dom.js";

const HEIGHT = 28;
const BEYOND = 6;
let grids = 0;

export class Grid {
  #source = { count: 0, at: () => undefined };
  #lines = new Map();
  #free = [];
  #cursor = 0;
  #waiting = false;
  #opening = false;

  /** `draw(cells, item)` fills the cells of a line; `same(a, b)` says that a line need not be drawn again. */
  constructor({ label, columns, role = "grid", draw, same = (a, b) => a === b, open, fold, describe }) {
    this.id = `grid-${++grids}`;
    this.columns = columns;
    Object.assign(this, { draw, same, open, fold, describe });
    const heads = columns.map((each) => el("div", { role: "columnheader", class: `cell ${each.class}` }, each.title));
    this.head = el("div", { role: "row", class: "line head", "aria-rowindex": 1 }, heads);
    this.body = el("div", { role: "rowgroup", class: "lines" });
    this.node = el(
      "div",
      { role, class: "grid", tabindex: 0, "aria-label": label, "aria-colcount": columns.length },
      el("div", { role: "presentation", class: "sheet" }, el("div", { role: "rowgroup", class: "heads" }, this.head), this.body),
    );
    this.node.addEventListener("scroll", () => this.#soon(), { passive: true });
    this.node.addEventListener("keydown", (event) => this.#key(event));
    this.node.addEventListener("focus", () => this.#show());
    this.body.addEventListener("click", (event) => this.#click(event));
    new ResizeObserver(() => this.#soon()).observe(this.node);
  }

  /** `at(index)` returns the item, or nothing while it is fetched. */
  show(source) {
    this.#source = source;
    this.body.style.height = `${source.count * HEIGHT}px`;
    this.node.setAttribute("aria-rowcount", String(source.count + 1));
    this.#cursor = Math.max(0, Math.min(this.#cursor, source.count - 1));
    if (this.#opening) this.#openCursor();
    this.#soon();
  }

  /** Open the line of the cursor; if it is still being fetched, as soon as it is there. */
  #openCursor() {
    const item = this.cursor;
    this.#opening = item === undefined && this.#source.count > 0;
    if (item !== undefined) this.open(item);
  }

  get cursor() {
    return this.#source.at(this.#cursor);
  }

  /** Numbers of the first and the last visible line. */
  get range() {
    const first = Math.max(0, Math.floor(this.node.scrollTop / HEIGHT) - BEYOND);
    const most = Math.ceil((this.node.clientHeight || 400) / HEIGHT) + 2 * BEYOND;
    return [first, Math.min(this.#source.count - 1, first + most)];
  }

  #soon() {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => {
      this.#waiting = false;
      this.#draw();
    });
  }

  #draw() {
    const [first, last] = this.range;
    this.#source.want?.(first, last);
    for (const [index, line] of this.#lines) {
      if (index < first || index > last) {
        line.node.hidden = true;
        this.#lines.delete(index);
        this.#free.push(line);
      }
    }
    for (let index = first; index <= last; index += 1) this.#drawLine(index);
    this.node.toggleAttribute("data-empty", this.#source.count === 0);
    if (this.#lines.has(this.#cursor)) this.node.setAttribute("aria-activedescendant", `${this.id}-${this.#cursor}`);
    else this.node.removeAttribute("aria-activedescendant");
  }

  #drawLine(index) {
    const item = this.#source.at(index);
    let line = this.#lines.get(index);
    if (!line) {
      line = this.#free.pop() ?? this.#newLine();
      line.node.id = `${this.id}-${index}`;
      line.node.setAttribute("aria-rowindex", String(index + 2));
      line.node.style.transform = `translateY(${index * HEIGHT}px)`;
      line.node.hidden = false;
      this.#lines.set(index, line);
    }
    line.node.classList.toggle("cursor", index === this.#cursor);
    if (item === undefined && line.index !== index) {
      line.item = undefined;
      for (const cell of line.cells) cell.replaceChildren();
    }
    line.index = index;
    if (item === undefined || (line.item !== undefined && this.same(line.item, item))) return;
    line.item = item;
    this.draw(line.cells, item);
    this.describe?.(line.node, item);
  }

  #newLine() {
    const cells = this.columns.map((each) => el("div", { role: "gridcell", class: `cell ${each.class}` }));
    const node = el("div", { role: "row", class: "line" }, cells);
    this.body.append(node);
    return { node, cells, item: undefined };
  }

  #show() {
    const top = this.#cursor * HEIGHT;
    const visible = this.node.clientHeight - this.head.offsetHeight - HEIGHT;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top > this.node.scrollTop + visible) this.node.scrollTop = top - visible;
    this.#soon();
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target !== this.node) return;
    this.#opening = false;
    const page = Math.max(1, Math.floor(this.node.clientHeight / HEIGHT) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) {
      this.#cursor = Math.max(0, Math.min(this.#source.count - 1, this.#cursor + steps[event.key]));
      this.#show();
    } else if (event.key === "Enter" && this.open) this.#openCursor();
    else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && this.cursor && this.fold) {
      this.fold(this.cursor, event.key === "ArrowLeft");
    } else return;
    event.preventDefault();
  }

  #click(event) {
    const node = event.target.closest("[role=row]");
    for (const [index, line] of this.#lines) if (line.node === node) this.#cursor = index;
    this.#soon();
  }

  /** Put the cursor on the first item that `is` finds. */
  move(is) {
    for (let index = 0; index < this.#source.count; index += 1) {
      if (is(this.#source.at(index))) {
        this.#cursor = index;
        this.#show();
        return;
      }
    }
  }
}

/** Items that the server holds, fetched by pages as they become visible, and again when `refresh` is called. */
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
