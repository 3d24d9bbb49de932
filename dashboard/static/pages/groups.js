// All groups for one flavor and resource: as a tree whose branches fold, or sorted by a column.

import { groupAddress } from "../address.js";
import { bar, legend } from "../parts/bar.js";
import { el, link, searched, setText, throttled } from "../parts/dom.js";
import { Grid, ordered } from "../parts/grid.js";
import { keyChoice } from "../parts/key_choice.js";
import { keyOf } from "../store.js";

const ROOT = "root";
const NUMBERS = ["used", "runtime", "min", "borrowed"];
const COLUMNS = [
  { title: "Group", class: "wide", at: "a", sort: "tree" },
  { title: "Used of runtime", class: "bars", at: "c", sort: "share" },
  ...["Used", "Runtime", "Min", "Borrowed"].map((title) => ({ title, class: "number", sort: title.toLowerCase() })),
  { title: "Waiting", class: "number waits", at: "b", sort: "pending" },
  { title: "Running", class: "number", sort: "admitted" },
];
const DOWN_FIRST = new Set([...NUMBERS, "share", "pending", "admitted"]);
const folded = new Set();
const wanted = { text: "", busy: false, order: { by: "tree", down: false } };

/** The lines in the order of the tree; groups that do not reach root come last. */
function linesOfTree(rows, itemOf) {
  const children = new Map();
  for (const row of rows.values()) {
    if (row.name === ROOT) continue;
    if (!children.has(row.parent)) children.set(row.parent, []);
    children.get(row.parent).push(row.name);
  }
  for (const each of children.values()) each.sort();
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
      const isFolded = folded.has(group);
      lines.push(itemOf(row, { depth, hasChildren: below.length > 0, isFolded }));
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

function rankOf(item, by) {
  if (by === "pending" || by === "admitted") return item.row[by];
  if (!item.key) return -1;
  return by === "share" ? item.key.used / Math.max(item.key.runtime, 1) : item.key[by];
}

function linesOf(rows, key) {
  const itemOf = (row, place) => ({ row, key: row.keys.find((each) => keyOf(each) === key), ...place });
  const { by, down } = wanted.order;
  const isTree = by === "tree" && wanted.text === "" && !wanted.busy;
  if (isTree && !down) return linesOfTree(rows, itemOf);
  const flat = [...rows.values()].filter(matches).map((row) => itemOf(row, { depth: 0, hasChildren: false, isFolded: false }));
  const byName = (a, b) => (a.row.name < b.row.name ? -1 : 1);
  const compare = by === "tree" ? byName : (a, b) => rankOf(a, by) - rankOf(b, by);
  return flat.sort((a, b) => (down ? -compare(a, b) : compare(a, b)) || byName(a, b));
}

const same = (a, b) =>
  a.row === b.row && a.key === b.key && a.depth === b.depth && a.isFolded === b.isFolded && a.hasChildren === b.hasChildren;

function draw(cells, item) {
  const { row, key } = item;
  const mark = el("span", { class: "mark-fold", "aria-hidden": "true" }, item.hasChildren ? (item.isFolded ? "▸" : "▾") : "");
  const note = row.note ? el("span", { class: "badge" }, row.note) : "";
  const named = link(groupAddress(row.name), row.name);
  named.tabIndex = -1;
  cells[0].replaceChildren(mark, named, note);
  cells[0].style.paddingLeft = `${0.4 + item.depth}rem`;
  cells[0].title = row.name;
  if (!cells[1].firstChild) {
    cells[1].bar = bar();
    cells[1].text = el("span", { class: "of" });
    cells[1].append(cells[1].bar.node, cells[1].text);
  }
  cells[1].bar.draw(key);
  setText(cells[1].text, key ? `${key.text.used} of ${key.text.runtime}` : "no quota of it");
  NUMBERS.forEach((word, index) => setText(cells[2 + index], key ? key.text[word] : ""));
  setText(cells[6], String(row.pending));
  setText(cells[7], String(row.admitted));
}

function describe(node, item) {
  node.setAttribute("aria-level", String(item.depth + 1));
  if (item.hasChildren) node.setAttribute("aria-expanded", String(!item.isFolded));
  else node.removeAttribute("aria-expanded");
}

export function groupsPage(store, address) {
  const place = el("div", { class: "list-place" });
  let grid;
  const fold = (item, close) => {
    const { name: group, parent } = item.row;
    if (close && (folded.has(group) || !item.hasChildren)) grid.move((each) => each.row.name === parent);
    else if (close) folded.add(group);
    else folded.delete(group);
    refresh();
  };
  const build = () => {
    grid = new Grid({
      label: "Tree of groups",
      role: "treegrid",
      columns: COLUMNS,
      draw,
      same,
      describe,
      fold,
      address: (item) => groupAddress(item.row.name),
      sort: { ...wanted.order, choose },
    });
    grid.body.addEventListener("click", (event) => {
      if (event.target.classList.contains("mark-fold") && grid.cursor) fold(grid.cursor, !grid.cursor.isFolded);
    });
    place.replaceChildren(grid.node);
  };
  const choose = (by, afresh) => {
    wanted.order = ordered(afresh ? { by: "" } : wanted.order, by, DOWN_FIRST);
    build();
    refresh();
  };
  const choice = keyChoice(store, address.key);
  const text = el("input", { id: "filter", type: "search", value: wanted.text, oninput: () => set("text", searched(text)) });
  const busy = el("input", { id: "tree-busy", type: "checkbox", checked: wanted.busy, onchange: () => set("busy", busy.checked) });
  const set = (what, value) => {
    wanted[what] = value;
    refresh();
  };
  const refresh = () => {
    choice.update();
    const lines = linesOf(store.rows, store.key(address.key));
    grid.show({ count: lines.length, at: (index) => lines[index] });
  };
  const update = throttled(refresh, 100);
  build();
  const node = el(
    "section",
    { class: "page fill", "aria-labelledby": "title" },
    el("div", { class: "top" }, el("h1", { id: "title" }, "Groups"), choice.node),
    el("div", { class: "tools" }, el("span", { class: "field" }, el("label", { for: "filter" }, "Name"), text), el("span", {}, busy, " ", el("label", { for: "tree-busy" }, "only with workloads")), legend()),
    place,
    el("p", { class: "hint keys" }, "Arrow keys move and fold, Enter opens, Ctrl+Enter opens a tab, / searches."),
  );
  refresh();
  return { node, update, focus: () => grid.list };
}
