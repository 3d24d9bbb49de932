// A workload's page: what happened to it, what it waits for, who holds that, and what would let it start.

import { ask, Refused } from "../api.js";
import { groupAddress, workloadAddress } from "../address.js";
import { card, el, link, name, put, table, throttled } from "../parts/dom.js";
import { tryEdits } from "../parts/effects.js";
import { age, moment } from "../parts/words.js";

const MOST = 8;
const FEW = 2;
const ALIKE = { WaitFor: "when one ends of", Evict: "evict one of" };

const hint = (text) => el("p", { class: "hint" }, text);

const facts = (page) =>
  el("dl", { class: "facts" }, page.facts.map(([title, text]) => el("div", {}, el("dt", {}, title), el("dd", {}, title === "Group" ? link(groupAddress(text), text) : name(text)))));

const timeline = (page, now) =>
  el(
    "ol",
    { class: "timeline" },
    page.timeline.map((each) =>
      el(
        "li",
        { class: each.what },
        el("strong", {}, each.title),
        each.at ? el("time", { datetime: each.at }, ` ${moment(each.at, now)}${Date.parse(each.at) > now ? "" : `, ${age(each.at, now)} ago`}`) : null,
        each.text ? el("p", {}, each.text) : null,
      ),
    ),
  );

const holderRow = (each) =>
  el(
    "tr",
    {},
    el("th", { scope: "row" }, each.workload ? link(workloadAddress(each.kind, each.workload), each.workload) : each.named),
    el("td", { class: "text" }, link(groupAddress(each.group), each.group)),
    el("td", {}, each.amount),
    el("td", {}, each.borrowed),
    el("td", { class: "text" }, each.text),
  );

const HOLDERS = ["Workload", "Group", "Holds", "Of it borrowed", "Can it be stopped?"];

function flavor(each) {
  const rows = each.holders.map(holderRow);
  const rest = rows.splice(MOST);
  return [
    el("h3", {}, each.title),
    each.missing ? el("p", {}, each.missing) : null,
    each.entitlement ? el("p", {}, each.entitlement) : null,
    rows.length ? table(`Who holds ${each.title}`, HOLDERS, rows, [1, 4]) : null,
    rest.length ? el("details", {}, el("summary", {}, `${rest.length} more`), table(`More who hold ${each.title}`, HOLDERS, rest, [1, 4])) : null,
  ];
}

function remedy(each) {
  const answer = el("div", { class: "answer", role: "status", "aria-label": "What would change" });
  const button = each.edits.length ? el("button", { type: "button", onclick: () => tryEdits(each.edits, answer) }, "What if?") : null;
  return el("li", {}, el("p", { class: "tools" }, el("span", {}, each.text), button), answer);
}

/** The remedies; of many about one other workload each, the number, and the list on demand. */
function remedyList(remedies) {
  const alike = Object.entries(ALIKE).map(([does, title]) => [title, remedies.filter((each) => each.do === does)]);
  const folded = alike.filter(([, found]) => found.length > FEW);
  const shown = remedies.filter((each) => !folded.some(([, found]) => found.includes(each)));
  return el(
    "ul",
    { class: "remedies" },
    shown.map(remedy),
    folded.map(([title, found]) => el("li", {}, el("details", {}, el("summary", {}, `${title} ${found.length} workloads`), el("ul", {}, found.map(remedy))))),
  );
}

function remedies(page, isTrying) {
  if (page.state !== "Pending") return null;
  if (isTrying) return card("What would let it start", hint("trying what would let it start …"));
  if (page.remedies.length) return card("What would let it start, each alone", remedyList(page.remedies));
  return page.startsAt ? card("What would let it start", el("p", {}, `It starts by itself at ${moment(page.startsAt)}.`)) : null;
}

export function workloadPage(store, address) {
  const [kind, key] = address.names;
  const [state, content] = [el("span", { class: "state" }), el("div", { "aria-live": "polite" }, hint("reading …"))];
  let shown = "";
  let last = "";
  const show = (page, isTrying) => {
    const text = JSON.stringify([page, isTrying]);
    if (text === shown) return;
    shown = text;
    state.textContent = page.state;
    state.className = `state ${page.state}`;
    put(
      content,
      el("p", { class: "sentence" }, page.sentence),
      page.incomplete ? hint(page.source) : null,
      facts(page),
      el("div", { class: "cards" }, card("What happened", timeline(page, store.now)), remedies(page, isTrying)),
      page.flavors.length ? card("What it waits for, and who holds it", page.flavors.map(flavor)) : null,
      page.running.length ? card("What its place rests on", page.running.map((each) => el("p", {}, each))) : null,
    );
  };
  const refresh = async () => {
    try {
      const { frame, ...page } = await ask("workload", { kind, key });
      const plain = JSON.stringify(page);
      if (plain === last) return;
      const isTrying = page.state === "Pending" && !page.incomplete;
      if (last === "" || !isTrying) show(page, isTrying);
      last = plain;
      if (isTrying) {
        const { frame: later, ...advised } = await ask("workload", { kind, key, remedies: 1 });
        show(advised, false);
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      last = shown = "";
      put(content, el("p", { class: "problem", role: "alert" }, error.message));
    }
  };
  const update = throttled(refresh, 1000);
  update();
  return { node: el("div", { class: "page" }, el("div", { class: "top" }, el("h1", {}, `${kind} `, name(key)), state), content), update };
}
