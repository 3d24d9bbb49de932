// Flavors with what they offer and what is used of them, and all nodes.

import { ask } from "../api.js";
import { card, el, name, put, searched, setText, table, throttled } from "../parts/dom.js";
import { Grid } from "../parts/grid.js";
import { Remote } from "../parts/remote.js";

const HEADS = ["Flavor", "Labels", "Resource", "Capacity", "Used by groups", "Used by system", "Used by other pods"];
const COLUMNS = [
  { title: "Node", class: "wide", at: "a" },
  { title: "Flavor", class: "middle", at: "b" },
  { title: "State", class: "middle", at: "d" },
  { title: "Allocatable", class: "widest", at: "c" },
];

function flavorRows(flavors) {
  return flavors.flatMap((each) =>
    (each.keys.length ? each.keys : [null]).map((key, index) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, index ? "" : name(each.flavor)),
        el("td", { class: "text" }, index ? "" : each.labels),
        el("td", { class: "text" }, key ? key.resource : ""),
        ["capacity", "used", "system", "unmanaged"].map((word) => el("td", {}, key ? key.text[word] : "")),
      ),
    ),
  );
}

export function nodesPage() {
  const place = el("div", {});
  const text = el("input", { id: "filter", type: "search", oninput: () => remote.restart() });
  const count = el("span", { class: "count", role: "status" });
  const textsOf = (item) => [item.node, item.flavor, item.state, item.allocatable];
  let flavors = "";
  const grid = new Grid({
    label: "Nodes",
    columns: COLUMNS,
    draw: (cells, item) =>
      textsOf(item).forEach((value, index) => {
        setText(cells[index], value);
        cells[index].title = value;
      }),
    detail: (item) => el("dl", {}, textsOf(item).map((value, index) => el("div", {}, el("dt", {}, COLUMNS[index].title), el("dd", {}, value)))),
  });
  const fetchPage = async (first, size) => {
    const answer = await ask("nodes", { first, count: size, text: searched(text), flavors: 1 });
    const drawn = JSON.stringify(answer.flavors);
    if (drawn !== flavors) {
      flavors = drawn;
      put(place, table("Flavors", HEADS, flavorRows(answer.flavors), [1, 2]));
    }
    return answer;
  };
  const remote = new Remote(fetchPage, () => {
    grid.show({ count: remote.count, at: (index) => remote.at(index), want: (first, last) => remote.want(first, last) });
    setText(count, `${remote.count} nodes`);
  });
  const node = el(
    "div",
    { class: "page fill" },
    el("div", { class: "top" }, el("h1", {}, "Flavors and nodes")),
    card("Flavors", place),
    el("div", { class: "tools" }, el("label", { for: "filter" }, "Name of node"), text, count),
    grid.node,
  );
  remote.refresh();
  return { node, update: throttled(() => remote.refresh(), 1000) };
}
