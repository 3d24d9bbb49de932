// All workloads of the cluster: what waits and why, what runs, what was evicted last.

import { el, throttled } from "../parts/dom.js";
import { workloadLists } from "../parts/lists.js";

export function workloadsPage(store) {
  const lists = workloadLists(store, "", false);
  const node = el("div", { class: "page fill" }, el("div", { class: "top" }, el("h1", {}, "Workloads")), lists.node);
  return { node, update: throttled(() => lists.update(), 1000) };
}
