// The tree: a line for each group and key, the groups below one can be folded.

import { bar, legend } from "./bar.js";
import { el, groupAddress, name, searched, setText, throttled } from "./dom.js";
import { Grid } from "./grid.js";

const ROOT = "root";
const COLUMNS = [
  { title: "Group", class: "wide" },
  { title: "Flavor/resource", class: "middle" },
  ...["Waiting", "Running", "Min", "Used", "Runtime", "Borrowed"].map((title) => ({ title, class: "number" })),
  { title: "Used of runtime", class: "bars" },
];
const folded = new Set();
const wanted = { key: "", text: "", busy: false };

const keyOf = (key) => `${key.flavor}/${key.resource}`;

/** The lines in the order of the tree; groups that do not reach root come last. */
function linesOf(rows) {
  const children = new Map();
  for (const row of rows.values()) {
    if (row.name === ROOT) continue;
    if (!children.has(row.parent)) children.set(row.parent, []);
    children.get(row.parent).push(row.name);
  }
  for (const each of children.values()) each.sort();
  const flat = wanted.text !== "" || wanted.busy;
  const lines = [];
  const seen = new Set();
  const walk = (head) => {
    const waiting = [[head, 0]];
    while (waiting.length) {
      const [group, depth] = waiting.pop();
      const row = rows.get(group);
      if (!row || seen.has(group)) continue;
      seen.add(group);
      const below = children.get(group) ?? [];
      const isFolded = folded.has(group) && !flat;
      if (matches(row)) lines.push(...linesOfGroup(row, flat ? 0 : depth, below.length > 0 && !flat, isFolded));
      if (isFolded) below.forEach((each) => seen.add(each));
      else for (const each of [...below].reverse()) waiting.push([each, depth + 1]);
    }
  };
  walk(ROOT);
  for (const group of [...rows.keys()].sort()) if (!seen.has(group) && !hidden(rows, group)) walk(group);
  return lines;
}

function hidden(rows, group) {
  const above = new Set();
  for (let at = group; rows.has(at) && !above.has(at); at = rows.get(at).parent) {
    if (at !== group && folded.has(at)) return true;
    above.add(at);
  }
  return false;
}

const matches = (row) =>
  (wanted.text === "" || row.name.includes(wanted.text)) && (!wanted.busy || row.pending > 0 || row.admitted > 0);

function linesOfGroup(row, depth, hasChildren, isFolded) {
  const keys = row.keys.filter((each) => wanted.key === "" || keyOf(each) === wanted.key);
  const shown = keys.length ? keys : [null];
  return shown.map((key, index) => ({ row, key, depth, first: index === 0, hasChildren, isFolded }));
}

const same = (a, b) =>
  a.row === b.row && a.depth === b.depth && a.first === b.first && a.isFolded === b.isFolded &&
  a.hasChildren === b.hasChildren && (a.key && keyOf(a.key)) === (b.key && keyOf(b.key));

function draw(cells, item) {
  const { row, key, first } = item;
  cells[0].replaceChildren();
  if (first) {
    const mark = el("span", { class: "mark-fold", "aria-hidden": "true" }, item.hasChildren ? (item.isFolded ? "▸" : "▾") : "");
    const link = el("a", { href: groupAddress(row.name), tabindex: -1 }, name(row.name));
    cells[0].append(mark, link, row.note ? el("span", { class: "note" }, ` ${row.note}`) : "");
    cells[0].style.paddingLeft = `${0.5 + item.depth * 1.1}rem`;
  }
  setText(cells[1], key ? keyOf(key) : "");
  setText(cells[2], first ? String(row.pending) : "");
  setText(cells[3], first ? String(row.admitted) : "");
  ["min", "used", "runtime", "borrowed"].forEach((word, index) => setText(cells[4 + index], key ? key.text[word] : ""));
  cells[8].bar ??= bar();
  if (!cells[8].firstChild) cells[8].append(cells[8].bar.node);
  cells[8].bar.draw(key);
}

function describe(node, item) {
  node.setAttribute("aria-level", String(item.depth + 1));
  if (item.hasChildren && item.first) node.setAttribute("aria-expanded", String(!item.isFolded));
  else node.removeAttribute("aria-expanded");
}

export function treePage(store) {
  const fold = (item, close) => {
    const { name: group, parent } = item.row;
    if (close && (folded.has(group) || !item.hasChildren)) grid.move((each) => each.row.name === parent);
    else if (close) folded.add(group);
    else folded.delete(group);
    refresh();
  };
  const open = (item) => (location.hash = groupAddress(item.row.name));
  const grid = new Grid({ label: "Tree of groups", role: "treegrid", columns: COLUMNS, draw, same, describe, open, fold });
  grid.body.addEventListener("click", (event) => {
    if (event.target.classList.contains("mark-fold") && grid.cursor) fold(grid.cursor, !grid.cursor.isFolded);
  });
  const keys = el("select", { id: "tree-key", onchange: () => set("key", keys.value) }, el("option", { value: "" }, "all"));
  const text = el("input", { id: "filter", type: "search", value: wanted.text, oninput: () => set("text", searched(text)) });
  const busy = el("input", { id: "tree-busy", type: "checkbox", checked: wanted.busy, onchange: () => set("busy", busy.checked) });
  const set = (what, value) => {
    wanted[what] = value;
    refresh();
  };
  const offered = new Set();
  const refresh = () => {
    for (const row of store.rows.values()) {
      for (const key of row.keys) {
        const id = keyOf(key);
        if (!offered.has(id)) {
          offered.add(id);
          keys.append(el("option", { value: id, selected: wanted.key === id }, id));
        }
      }
    }
    const lines = linesOf(store.rows);
    grid.show({ count: lines.length, at: (index) => lines[index] });
  };
  const update = throttled(refresh, 100);
  const node = el(
    "section",
    { class: "page fill", "aria-labelledby": "title" },
    el("h1", { id: "title" }, "Tree"),
    el(
      "div",
      { class: "tools" },
      el("label", { for: "tree-key" }, "Flavor/resource"), keys,
      el("label", { for: "filter" }, "Name"), text,
      busy, el("label", { for: "tree-busy" }, "only with workloads"),
    ),
    legend(),
    grid.node,
    el("p", { class: "hint" }, "Arrow keys move and fold, Enter opens, / searches."),
  );
  refresh();
  return { node, update, focus: grid.node };
}
