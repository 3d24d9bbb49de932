// A group's page: its numbers for one flavor and resource, their past, its workloads, and how its runtime comes about.

import { ask, Refused, Unreachable } from "../api.js";
import { groupAddress } from "../address.js";
import { drawnBar, legend } from "../parts/bar.js";
import { chart } from "../parts/chart.js";
import { card, el, link, name, put, setText, table, throttled } from "../parts/dom.js";
import { tryEdits } from "../parts/effects.js";
import { flow } from "../parts/flow.js";
import { keyChoice } from "../parts/key_choice.js";
import { workloadLists } from "../parts/lists.js";
import { keyOf } from "../store.js";

const WORDS = ["min", "effectiveMin", "guarantee", "ceiling", "weight", "request", "demand", "used", "nonPreemptible", "charge", "runtime", "borrowed", "lendable"];
const HEADLINES = [["used", "Used"], ["runtime", "Runtime"], ["min", "Min"], ["borrowed", "Borrowed"]];

/** So long a picture of the coming day is shown before it is computed again. */
const AHEAD_LASTS = 60000;

const UNSEEN = "That is computed from all workloads and nodes, which you cannot see.";

const hint = (text) => el("p", { class: "hint" }, text);

function headlines(row, key) {
  const numbers = HEADLINES.map(([word, title]) => el("li", { class: "headline" }, el("h2", {}, title), el("p", { class: "figure" }, key ? key.text[word] : "–")));
  const waiting = el("li", { class: "headline waiting" }, el("h2", {}, "Waiting"), el("p", { class: "figure" }, String(row?.pending ?? 0)), el("p", { class: "of" }, `${row?.admitted ?? 0} running`));
  const bar = key ? [drawnBar(key), legend()] : hint("It has no quota of this flavor and resource.");
  return [el("ul", { class: "headlines", "aria-label": "Headline numbers" }, numbers, waiting), el("div", { class: "bar-of-page" }, bar)];
}

function numbers(page) {
  const rows = page.words.map((each) =>
    el("tr", {}, el("th", { scope: "row" }, keyOf(each)), WORDS.map((word) => el("td", {}, each.text[word]))),
  );
  const all = rows.length ? table("All numbers", ["Flavor/resource", ...WORDS], rows) : hint(UNSEEN);
  return el("details", { class: "card" }, el("summary", {}, "All numbers, under the words of the glossary"), all);
}

function children(page, store, key) {
  const rows = page.children.map((each) => store.rows.get(each)).filter(Boolean);
  if (!rows.length) return null;
  const line = (row) => {
    const own = row.keys.find((each) => keyOf(each) === key);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, link(groupAddress(row.name), row.name)),
      el("td", { class: "bars" }, own ? drawnBar(own) : ""),
      ["used", "runtime", "min", "borrowed"].map((word) => el("td", {}, own ? own.text[word] : "")),
      el("td", {}, String(row.pending)),
    );
  };
  return card("Groups below", table("Groups below", ["Group", "Used of runtime", "Used", "Runtime", "Min", "Borrowed", "Waiting"], rows.map(line), [1]));
}

function division(page, key) {
  const found = page.divisions.find((each) => keyOf(each) === key);
  if (!found) return hint(page.words.length ? "Nothing is divided here." : UNSEEN);
  const rows = found.rows.map((row) =>
    el(
      "tr",
      { class: row.group === page.name ? "own" : null },
      el("th", { scope: "row" }, link(groupAddress(row.group), row.group)),
      ["min", "demand", "first", "weight", "shared", "runtime", "used"].map((word) => el("td", {}, row.text[word])),
    ),
  );
  const heads = ["Group", "Min", "Demand", "Gets first", "Weight", "Gets shared", "Runtime", "Used"];
  return [el("p", {}, found.text), table(`Runtime of ${key}`, heads, rows)];
}

function head(page) {
  const path = page.path.slice(0, -1).map((each) => [link(groupAddress(each), each), " / "]);
  const notes = page.conditions.filter((each) => (["Active", "WithinBudget"].includes(each.type) ? each.status === "False" : each.status === "True"));
  return [
    path.length ? el("nav", { "aria-label": "Path", class: "path" }, path, name(page.name)) : null,
    page.stopPolicy === "None" ? null : el("p", { class: "note" }, `stopPolicy ${page.stopPolicy}`),
    notes.map((each) => el("p", { class: "note" }, `${each.type}: ${each.reason} ${each.message}`)),
    (page.budgets || []).map((each) => el("p", {}, each)),
  ];
}

function whatIf(page, key) {
  const offered = page.mins.filter((each) => keyOf(each) === key);
  if (!offered.length) return hint("The group has no quota of its own of this flavor and resource to edit.");
  const [{ flavor, resource, text: now }] = offered;
  const text = el("input", { id: "edit-min", required: true, autocomplete: "off", size: 12, value: now });
  const answer = el("div", { role: "status", class: "answer", "aria-label": "What would change" });
  const submit = (event) => {
    event.preventDefault();
    tryEdits([{ group: page.name, flavor, resource, min: text.value }], answer);
  };
  return el(
    "form",
    { onsubmit: submit },
    el("p", { class: "tools" }, el("label", { for: "edit-min" }, `min of ${key} would be`), text, el("button", { type: "submit" }, "What if?"), el("span", { class: "hint" }, "Nothing is written.")),
    answer,
  );
}

export function groupPage(store, address) {
  const [group] = address.names;
  const part = () => el("div", {});
  const [top, sums, below, runtime, lending, edit, all] = Array.from({ length: 7 }, part);
  const choice = keyChoice(store, address.key);
  const past = chart();
  const pastCard = card("Use over time", past.node, hint("Kept by the dashboard's process since it began."));
  const coming = chart();
  const assumed = hint("computing …");
  const lists = el("div", {});
  let foreseen = "";
  let shownLists = null;
  let edited = null;
  let drawn = "";

  const draw = (page, key) => {
    const own = page.keys.find((each) => keyOf(each) === key);
    put(top, head(page));
    put(sums, headlines(store.rows.get(group), own));
    put(below, children(page, store, key));
    put(runtime, division(page, key));
    const pools = page.pools.filter((each) => keyOf(each) === key);
    put(lending, pools.length ? pools.map(flow) : hint("Nothing is lent or borrowed here."));
    put(all, numbers(page));
    if (edited !== key) put(edit, whatIf(page, key));
    edited = key;
  };

  const drawPast = ({ times, used, borrowed, runtime, min, unit }, key) => {
    pastCard.hidden = times.length < 2;
    if (pastCard.hidden) return;
    const within = used.map((each, index) => (each === null ? null : each - borrowed[index]));
    past.show({
      label: `Use of ${key} by ${group}`,
      unit,
      times: times.map((each) => each * 1000),
      series: [
        { name: "used within min", kind: "area", values: within },
        { name: "borrowed", kind: "hatched", values: used, on: within },
        { name: "runtime", kind: "dashed", values: runtime },
        { name: "min", kind: "dotted", values: min },
      ],
    });
  };

  const drawAhead = async (key) => {
    let found;
    try {
      found = await ask("ahead", { name: group, key });
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      foreseen = "";
      return;
    }
    if (key !== store.key(address.key)) return;
    coming.node.hidden = !found.times.length;
    setText(assumed, found.text);
    if (coming.node.hidden) return;
    coming.show({
      label: `Expected use of ${key} by ${group}`,
      unit: found.unit,
      times: found.times.map((each) => each * 1000),
      series: [
        { name: "at least", kind: "area", values: found.least },
        { name: "in the middle", kind: "solid", values: found.middle },
        { name: "at most", kind: "dashed", values: found.most },
      ],
    });
  };

  const update = throttled(async () => {
    choice.update();
    const key = store.key(address.key);
    let found;
    try {
      found = await ask("group", { name: group, key });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(top, el("p", { class: "problem", role: "alert" }, error.message));
      return;
    }
    if (shownLists === null) {
      shownLists = workloadLists(store, group, found.children.length === 0);
      put(lists, card("Workloads", shownLists.node));
    } else shownLists.update();
    const { frame, history, ...page } = found;
    const text = JSON.stringify([page, key, [group, ...page.children].map((each) => store.rows.get(each))]);
    if (text !== drawn) draw(page, key);
    drawn = text;
    drawPast(history, key);
    const wanted = `${key} ${Math.floor(Date.now() / AHEAD_LASTS)}`;
    if (wanted === foreseen) return;
    foreseen = wanted;
    void drawAhead(key);
  }, 1000);

  const node = el(
    "div",
    { class: "page" },
    el("div", { class: "top" }, el("h1", {}, "Group ", name(group)), choice.node),
    top,
    sums,
    below,
    el("div", { class: "cards" }, pastCard, card("Who lends to whom", lending), card("Expected use over the coming day", coming.node, assumed)),
    lists,
    card("How its runtime comes about", runtime),
    card("What if its min were different?", edit),
    all,
  );
  update();
  return { node, update };
}
