// The lists of workloads: what waits and why, what runs, what was evicted last.

import { ask } from "../api.js";
import { groupAddress, workloadAddress } from "../address.js";
import { el, link, put, searched, setText } from "./dom.js";
import { Grid, ordered } from "./grid.js";
import { Remote } from "./remote.js";
import { age } from "./words.js";

const own = (item) => link(workloadAddress(item.kind, item.workload), item.workload);
const group = { title: "Group", class: "middle", sort: "group", text: (item) => link(groupAddress(item.group), item.group) };
const workload = { title: "Workload", class: "wide", at: "a", sort: "workload", text: own };
const request = { title: "Requests", class: "middle", text: (item) => item.request };
const priority = { title: "Priority", class: "number", sort: "priority", text: (item) => String(item.priority) };
const PARTS = {
  pending: {
    title: "Waiting",
    order: "place",
    columns: [
      { title: "Place", class: "number", sort: "place", text: (item) => String(item.place || "–") },
      workload,
      { title: "Waits because", class: "widest", at: "c", text: (item) => item.message || item.reason },
      request,
      { title: "Waits for", class: "number", at: "b", sort: "queued", text: (item, now) => age(item.queued, now) },
      priority,
      group,
    ],
  },
  running: {
    title: "Running",
    order: "since",
    columns: [
      workload,
      { title: "Runs for", class: "number", at: "b", sort: "since", text: (item, now) => age(item.since, now) },
      { ...request, at: "c" },
      { title: "Flavors", class: "middle", at: "d", text: (item) => item.flavors },
      priority,
      group,
    ],
  },
  evicted: {
    title: "Evicted",
    order: "evicted",
    columns: [
      workload,
      { title: "Evicted", class: "number", at: "b", sort: "evicted", text: (item, now) => `${age(item.evicted, now)} ago` },
      { title: "Reason", class: "middle", at: "c", text: (item) => item.evictedFor },
      { title: "For", class: "wide", text: (item) => item.for || "–" },
      { title: "Now", class: "middle", at: "d", text: (item) => item.state },
      group,
    ],
  },
};
/** The columns whose first order is from the largest down. */
const DOWN_FIRST = new Set(["priority", "queued"]);

function fillCell(cell, value) {
  if (typeof value === "string") setText(cell, value);
  else put(cell, value);
  cell.title = cell.textContent;
}

const inFull = (columns, item, now) => el("dl", {}, columns.map((each) => el("div", {}, el("dt", {}, each.title), el("dd", {}, each.text(item, now)))));

/** Tabs of the three lists for one group; a leaf's own name is not said again in each line. */
export function workloadLists(store, groupName, isLeaf) {
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
  const choose = (id, order = { by: PARTS[id].order, down: DOWN_FIRST.has(PARTS[id].order) }) => {
    part = id;
    const { title } = PARTS[id];
    const columns = PARTS[id].columns.filter((each) => !isLeaf || each !== group);
    for (const tab of tabs) {
      const chosen = tab.id === `tab-${id}`;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `tab-${id}`);
    grid = new Grid({
      label: groupName ? `${title} workloads of ${groupName}` : `${title} workloads`,
      columns,
      draw: (cells, item) => columns.forEach((each, index) => fillCell(cells[index], each.text(item, store.now))),
      detail: (item) => inFull(columns, item, store.now),
      address: (item) => workloadAddress(item.kind, item.workload),
      sort: { ...order, choose: (by, afresh) => choose(id, ordered(afresh ? { by: "" } : order, by, DOWN_FIRST)) },
    });
    const shown = () => {
      grid.show({ count: remote.count, at: (index) => remote.at(index), want: (first, last) => remote.want(first, last) });
      setText(count, `${remote.count} ${title.toLowerCase()}`);
    };
    const question = () => ({ group: groupName, part: id, text: searched(text), sort: order.by, down: order.down ? 1 : 0 });
    remote = new Remote((first, size) => ask("queue", { ...question(), first, count: size }), shown);
    put(panel, grid.node);
    remote.refresh();
  };
  choose(part);
  const tools = el("div", { class: "tools" }, bar, el("span", { class: "field" }, el("label", { for: "filter" }, "Name"), text), count);
  return { node: el("div", { class: "lists" }, tools, panel), update: () => remote.refresh() };
}
