// A list of any length of which only the visible lines are elements. The keyboard moves a cursor, Enter opens its line.
// In a narrow window a line becomes two: columns with `at` go to its corners (a b over c d), the others are left out.

import { el, put } from "./dom.js";

const BEYOND = 6;
const NARROW = 620;
let grids = 0;

export class Grid {
  #source = { count: 0, at: () => undefined };
  #lines = new Map();
  #free = [];
  #cursor = 0;
  #waiting = false;
  #opening = false;
  #height = 32;
  #detailed;

  /**
   * `draw(cells, item)` fills the cells of a line; `same(a, b)` says that a line need not be drawn again. `address(item)` is
   * where Enter leads. `detail(item)` returns the line of the cursor in full, which is shown below the list. `sort` is
   * { by, down, choose }: what the list is sorted by, and who is told of another wish.
   */
  constructor({ label, columns, role = "grid", draw, same = (a, b) => a === b, address, fold, describe, detail, sort }) {
    this.id = `grid-${++grids}`;
    this.columns = columns;
    Object.assign(this, { draw, same, address, fold, describe, detail, sort });
    this.head = el("div", { role: "row", class: "line head", "aria-rowindex": 1 }, columns.map((each) => this.#headOf(each)));
    this.body = el("div", { role: "rowgroup", class: "lines" });
    this.list = el(
      "div",
      { role, class: "grid", tabindex: 0, "aria-label": label, "aria-colcount": columns.length },
      el("div", { role: "presentation", class: "sheet" }, el("div", { role: "rowgroup", class: "heads" }, this.head), this.body),
    );
    this.below = el("div", { class: "detail", role: "region", "aria-label": `Chosen line of: ${label}`, hidden: true });
    this.node = el("div", { class: "grid-frame" }, this.#orders(), this.list, detail ? this.below : null);
    this.list.addEventListener("scroll", () => this.#soon(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("focus", () => this.#show());
    this.body.addEventListener("click", (event) => this.#click(event));
    new ResizeObserver(() => this.#resize()).observe(this.list);
  }

  /** `at(index)` returns the item, or nothing while it is fetched. */
  show(source) {
    this.#source = source;
    this.body.style.height = `${source.count * this.#height}px`;
    this.list.style.setProperty("--count", source.count);
    this.list.setAttribute("aria-rowcount", String(source.count + 1));
    this.#cursor = Math.max(0, Math.min(this.#cursor, source.count - 1));
    if (this.#opening) this.#openCursor();
    this.#soon();
  }

  #headOf(column) {
    const order = !this.sort || !column.sort ? null : this.sort.by !== column.sort ? "none" : this.sort.down ? "descending" : "ascending";
    const sign = { ascending: " ▲", descending: " ▼" }[order] ?? "";
    const title = order ? el("button", { type: "button", class: "sorts", onclick: () => this.sort.choose(column.sort) }, column.title, el("span", { "aria-hidden": "true" }, sign)) : column.title;
    return el("div", { role: "columnheader", class: `cell ${column.class} ${column.at ? `at-${column.at}` : ""}`, "aria-sort": order }, title);
  }

  /** The orders as a choice: a narrow list has no room for heads. */
  #orders() {
    const offered = this.sort ? this.columns.filter((each) => each.sort) : [];
    if (!offered.length) return null;
    const choice = el("select", { "aria-label": "Order", onchange: () => this.sort.choose(choice.value, true) }, offered.map((each) => el("option", { value: each.sort, selected: each.sort === this.sort.by }, each.title)));
    return el("div", { class: "orders" }, el("span", {}, "Sorted by "), choice);
  }

  /** Open the line of the cursor; if it is still being fetched, as soon as it is there. */
  #openCursor(inNewTab = false) {
    const item = this.cursor;
    this.#opening = item === undefined && this.#source.count > 0;
    if (item === undefined) return;
    if (inNewTab) window.open(this.address(item), "_blank", "noopener");
    else location.hash = this.address(item);
  }

  get cursor() {
    return this.#source.at(this.#cursor);
  }

  /** Numbers of the first and the last visible line. */
  get range() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / this.#height) - BEYOND);
    const most = Math.ceil((this.list.clientHeight || 400) / this.#height) + 2 * BEYOND;
    return [first, Math.min(this.#source.count - 1, first + most)];
  }

  #resize() {
    this.node.classList.toggle("narrow", this.list.clientWidth < NARROW);
    const height = parseFloat(getComputedStyle(this.list).getPropertyValue("--line-height")) * parseFloat(getComputedStyle(document.documentElement).fontSize);
    if (height && height !== this.#height) {
      this.#height = height;
      this.body.style.height = `${this.#source.count * height}px`;
      for (const [index, line] of this.#lines) line.node.style.transform = `translateY(${index * height}px)`;
    }
    this.#soon();
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
    this.list.toggleAttribute("data-empty", this.#source.count === 0);
    if (this.#lines.has(this.#cursor)) this.list.setAttribute("aria-activedescendant", `${this.id}-${this.#cursor}`);
    else this.list.removeAttribute("aria-activedescendant");
    this.#drawDetail();
  }

  #drawDetail() {
    const item = this.cursor;
    if (!this.detail || item === this.#detailed) return;
    this.#detailed = item;
    this.below.hidden = item === undefined;
    if (item !== undefined) put(this.below, this.detail(item));
  }

  #drawLine(index) {
    const item = this.#source.at(index);
    let line = this.#lines.get(index);
    if (!line) {
      line = this.#free.pop() ?? this.#newLine();
      line.node.id = `${this.id}-${index}`;
      line.node.setAttribute("aria-rowindex", String(index + 2));
      line.node.style.transform = `translateY(${index * this.#height}px)`;
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
    const cells = this.columns.map((each) => el("div", { role: "gridcell", class: `cell ${each.class} ${each.at ? `at-${each.at}` : ""}` }));
    const node = el("div", { role: "row", class: "line" }, cells);
    this.body.append(node);
    return { node, cells, item: undefined };
  }

  #show() {
    const top = this.#cursor * this.#height;
    const visible = this.list.clientHeight - this.head.offsetHeight - this.#height;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top > this.list.scrollTop + visible) this.list.scrollTop = top - visible;
    this.#soon();
  }

  #key(event) {
    const inNewTab = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    if ((!inNewTab && (event.ctrlKey || event.metaKey)) || event.altKey || event.target !== this.list) return;
    this.#opening = false;
    const page = Math.max(1, Math.floor(this.list.clientHeight / this.#height) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) {
      this.#cursor = Math.max(0, Math.min(this.#source.count - 1, this.#cursor + moves[event.key]));
      this.#show();
    } else if (event.key === "Enter" && this.address) this.#openCursor(inNewTab);
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

/** The order that a click on a head asks for: the other way round if it is sorted by it already. */
export const ordered = (order, by, downFirst) => ({ by, down: order.by === by ? !order.down : downFirst.has(by) });
