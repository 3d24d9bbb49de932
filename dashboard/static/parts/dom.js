// Elements without markup: every text becomes a text node, so that a name can never be anything but text.

import { Unreachable } from "../api.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...flat(children));
  return node;
}

const flat = (children) => children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false);

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Replace what a node holds. */
export const put = (node, ...children) => node.replaceChildren(...flat(children));

/** A name that others chose: isolated, so that right-to-left text cannot reorder the text next to it. */
export const name = (text) => el("bdi", {}, text);

export const link = (address, text) => el("a", { href: address }, name(text));

/** Set a text only if it differs, so that the browser has nothing to lay out again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** What to search for: names in Kubernetes are lower case. */
export const searched = (input) => input.value.trim().toLowerCase();

/** A heading with what it is about below it. */
export const card = (title, ...children) => el("section", { class: "card" }, el("h2", {}, title), children);

/**
 * A table that scrolls inside itself when it is too wide; the heads of `texts`, from 0, are above text. In a narrow window each row
 * becomes a block that says the heads itself; the roles keep it a table for those who hear it.
 */
export function table(caption, heads, rows, texts = []) {
  for (const row of rows) {
    row.setAttribute("role", "row");
    for (const [index, cell] of [...row.children].entries()) {
      cell.setAttribute("role", index ? "cell" : "rowheader");
      cell.dataset.head = heads[index];
    }
  }
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el(
      "table",
      { role: "table" },
      el("caption", { class: "unseen" }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads.map((each, index) => el("th", { scope: "col", role: "columnheader", class: texts.includes(index) ? "text" : null }, each)))),
      el("tbody", { role: "rowgroup" }, rows),
    ),
  );
}

/** Call `work` at most once in so many milliseconds, the last time included; never twice at once. It need not catch Unreachable. */
export function throttled(work, pause) {
  let running = false;
  let again = false;
  const call = async () => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
    } finally {
      setTimeout(() => {
        running = false;
        if (again) {
          again = false;
          call();
        }
      }, pause);
    }
  };
  return call;
}
