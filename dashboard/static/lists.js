// The lists of workloads: what waits and why, what runs, what was evicted last.

import { age, el, groupAddress, name, searched, setText, workloadAddress } from "./dom.js";
import { ask } from "./api.js";
import { Grid, Remote } from "./grid.js";

const PARTS = {
  pending: {
    title: "Waiting",
    columns: [["Place", "number"], ["Workload", "wide"], ["Because", "wider"], ["Requests", "middle"], ["Waits", "number"], ["Priority", "number"], ["Group", "middle"], ["Reason", "middle"]],
    cells: (item, now) => [item.place || "–", item, item.message, item.request, age(item.queued, now), item.priority, group(item), item.reason],
  },
  running: {
    title: "Running",
    columns: [["Workload", "wide"], ["Group", "middle"], ["Priority", "number"], ["Runs", "number"], ["Requests", "middle"], ["Flavors", "middle"], ["State", "middle"]],
    cells: (item, now) => [item, group(item), item.priority, age(item.since, now), item.request, item.flavors, item.state ?? "Running"],
  },
  evicted: {
    title: "Evicted",
    columns: [["Workload", "wide"], ["Group", "middle"], ["Evicted", "number"], ["Reason", "middle"], ["For", "wide"], ["Now", "middle"]],
    cells: (item, now) => [item, group(item), `${age(item.evicted, now)} ago`, item.evictedFor, item.for || "–", item.state],
  },
};

const group = (item) => ({ group: item.group });

function put(cell, value) {
  if (typeof value !== "object") setText(cell, String(value));
  else if ("workload" in value) cell.replaceChildren(el("a", { href: workloadAddress(value.kind, value.workload), tabindex: -1 }, name(value.workload)));
  else cell.replaceChildren(el("a", { href: groupAddress(value.group), tabindex: -1 }, name(value.group)));
  cell.title = cell.textContent;
}

/** Tabs of the three lists for one group. */
export function workloadLists(store, groupName) {
  let part = "pending";
  let grid;
  let remote;
  const text = el("input", { id: "filter", type: "search", oninput: () => remote.restart() });
  const panel = el("div", { role: "tabpanel", id: "list", "aria-labelledby": "tab-pending" });
  const count = el("span", { class: "count", role: "status" });
  const tabs = Object.entries(PARTS).map(([id, each]) =>
    el("button", { role: "tab", id: `tab-${id}`, type: "button", "aria-controls": "list", onclick: () => choose(id) }, each.title),
  );
  const bar = el("div", { role: "tablist", "aria-label": "Workloads" }, tabs);
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const ids = Object.keys(PARTS);
    choose(ids[(ids.indexOf(part) + step + ids.length) % ids.length]);
    document.getElementById(`tab-${part}`).focus();
  });
  const choose = (id) => {
    part = id;
    const { title, columns, cells } = PARTS[id];
    for (const tab of tabs) {
      const chosen = tab.id === `tab-${id}`;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `tab-${id}`);
    grid = new Grid({
      label: `${title} workloads of ${groupName}`,
      columns: columns.map(([head, kind]) => ({ title: head, class: kind })),
      draw: (line, item) => cells(item, store.now).forEach((value, index) => put(line[index], value)),
      open: (item) => (location.hash = workloadAddress(item.kind, item.workload)),
    });
    const shown = () => {
      grid.show({ count: remote.count, at: (index) => remote.at(index), want: (first, last) => remote.want(first, last) });
      setText(count, `${remote.count} ${title.toLowerCase()}`);
    };
    const fetchPage = (first, size) => ask("queue", { group: groupName, part: id, first, count: size, text: searched(text) });
    remote = new Remote(fetchPage, shown);
    panel.replaceChildren(grid.node);
    remote.refresh();
  };
  choose(part);
  const tools = el("div", { class: "tools" }, bar, el("label", { for: "filter" }, "Name"), text, count);
  return { node: el("div", {}, tools, panel), update: () => remote.refresh() };
}
