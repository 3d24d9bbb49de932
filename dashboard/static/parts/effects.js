// What an edit would change: the rules it breaks, and nothing else then; otherwise what starts, stops and waits longer.

import { tell } from "../api.js";
import { groupAddress, workloadAddress } from "../address.js";
import { el, link, put, table } from "./dom.js";
import { count } from "./words.js";

const MOST = 10;

const named = (each) => [link(workloadAddress(each.kind, each.workload), each.workload), " of ", link(groupAddress(each.group), each.group)];
const stopped = (each) => [named(each), `: ${each.reason}${each.for ? ` for ${each.for}` : ""}${each.restarts ? ", starts again" : ""}`];
const KINDS = [
  ["start", "starts", "start", named],
  ["stop", "stops", "stop", stopped],
  ["wait", "waits longer", "wait longer", named],
  ["depends", "depends on which of those that stop end first", "depend on which of those that stop end first", named],
];

function listed(items, draw) {
  const lines = items.map((each) => el("li", {}, draw(each)));
  const rest = lines.splice(MOST);
  return [el("ul", {}, lines), rest.length ? el("details", {}, el("summary", {}, `${rest.length} more`), el("ul", {}, rest)) : null];
}

export function effects(data) {
  if (data.violations.length) {
    return el("div", { class: "refused" }, el("h3", {}, "It would be refused"), el("ul", {}, data.violations.map((each) => el("li", {}, `${each.message} (${each.rule})`))));
  }
  const parts = KINDS.filter(([word]) => data[word]?.length).map(([word, one, many, draw]) => [
    el("h3", {}, count(data[word].length, `workload ${one}`, `workloads ${many}`)),
    listed(data[word], draw),
  ]);
  const runtimes = data.runtime.map((each) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, link(groupAddress(each.group), each.group)),
      el("td", { class: "text" }, `${each.flavor}/${each.resource}`),
      el("td", {}, each.text.before),
      el("td", {}, each.text.after),
    ),
  );
  return el(
    "div",
    {},
    parts.length ? parts : el("p", {}, "No workload would start or stop."),
    runtimes.length ? table("Runtimes", ["Group", "Flavor/resource", "Runtime now", "Runtime then"], runtimes, [1]) : null,
    data.stable ? null : el("p", { class: "hint" }, "Not everything became stable: this is how far it came."),
  );
}

/** Ask what these edits would change, and show the answer in `place`. */
export async function tryEdits(edits, place) {
  put(place, el("p", { class: "hint" }, "computing …"));
  try {
    put(place, effects((await tell("what-if", { edits })).data));
  } catch (error) {
    put(place, el("p", { class: "problem" }, error.message));
  }
}
