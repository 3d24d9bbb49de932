// Flavors with what they offer and what is used of them, and all nodes.

import { ask } from "./api.js";
import { el, name, searched, setText, throttled } from "./dom.js";
import { Grid, Remote } from "./grid.js";

const HEADS = ["Flavor", "Labels", "Resource", "Capacity", "Used by groups", "Used by system", "Used by other pods"];

function flavorRows(flavors) {
  return flavors.flatMap((each) =>
    (each.keys.length ? each.keys : [null]).map((key) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, name(each.flavor)),
        el("td", { class: "text" }, each.labels),
        el("td", { class: "text" }, key ? key.resource : ""),
        ["capacity", "used", "system", "unmanaged"].map((word) => el("td", {}, key ? key.text[word] : "")),
      ),
    ),
  );
}

export function nodesPage() {
  const body = el("tbody", {});
  const text = el("input", { id: "filter", type: "search", oninput: () => remote.restart() });
  const count = el("span", { class: "count", role: "status" });
  let flavors = "";
  const grid = new Grid({
    label: "Nodes",
    columns: [["Node", "wide"], ["Flavor", "middle"], ["State", "middle"], ["Allocatable", "wider"]].map(([title, kind]) => ({ title, class: kind })),
    draw: (cells, item) => [item.node, item.flavor, item.state, item.allocatable].forEach((value, index) => setText(cells[index], value)),
  });
  const fetchPage = async (first, size) => {
    const answer = await ask("nodes", { first, count: size, text: searched(text), flavors: 1 });
    const drawn = JSON.stringify(answer.flavors);
    if (drawn !== flavors) {
      flavors = drawn;
      body.replaceChildren(...flavorRows(answer.flavors));
    }
    return answer;
  };
  const remote = new Remote(fetchPage, () => {
    grid.show({ count: remote.count, at: (index) => remote.at(index), want: (first, last) => remote.want(first, last) });
    setText(count, `${remote.count} nodes`);
  });
  const heads = el("thead", {}, el("tr", {}, HEADS.map((each) => el("th", { scope: "col" }, each))));
  const node = el(
    "div",
    { class: "page fill" },
    el("h1", {}, "Flavors and nodes"),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Flavors" }, el("table", {}, el("caption", {}, "Flavors"), heads, body)),
    el("div", { class: "tools" }, el("label", { for: "filter" }, "Name of node"), text, count),
    grid.node,
  );
  remote.refresh();
  return { node, update: throttled(() => remote.refresh(), 1000) };
}
