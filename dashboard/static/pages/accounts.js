// Accounts: what each group used in a month of one flavor and resource, and each namespace of a leaf.

import { ask, Refused } from "../api.js";
import { groupAddress } from "../address.js";
import { drawnBar } from "../parts/bar.js";
import { card, el, link, name, put, setText, table, throttled } from "../parts/dom.js";
import { keyChoice } from "../parts/key_choice.js";
import { moment } from "../parts/words.js";

const HEADS = ["Group", "Within min, and borrowed", "Used", "Within min", "Borrowed", "Lent", "Lost", "Borrowed from", "Lent to", "Budget left", "Took of what was expected"];
const HOURS = ["usedHours", "withinMinHours", "borrowedHours", "lentHours", "lostHours"];
const hint = (text) => el("p", { class: "hint" }, text);

/** A group below its parent, which it is moved to the right of. */
function groupHead({ group, depth }) {
  const head = el("th", { scope: "row" }, link(groupAddress(group), group));
  head.style.paddingLeft = `${depth + 0.5}em`;
  return head;
}

const groupRow = (full) => (each) =>
  el(
    "tr",
    {},
    groupHead(each),
    el("td", { class: "bars" }, drawnBar({ used: Number(each.used), borrowed: Number(each.borrowed), full })),
    HOURS.map((word) => el("td", {}, each[word])),
    [each.borrowedFromHours, each.lentToHours].map((text) => el("td", { class: "text" }, text || "–")),
    [each.budgetLeft, each.ofExpected].map((text) => el("td", {}, text || "–")),
  );

const namespaceRow = (each) =>
  el("tr", {}, el("th", { scope: "row" }, name(each.namespace)), el("td", { class: "text" }, link(groupAddress(each.group), each.group)), el("td", {}, each.usedHours));

function groupsTable(groups) {
  const full = Math.max(...groups.map((each) => Number(each.used)));
  return table("What each group used", HEADS, groups.map(groupRow(full)), [0, 1, 7, 8]);
}

export function accountsPage(store, address) {
  const choice = keyChoice(store, address.key);
  const months = el("select", { id: "month", onchange: () => choose() });
  const said = el("p", { class: "sentence", role: "status" }, "reading …");
  const [groups, namespaces] = [el("div", {}), el("div", {})];
  let chosen = "";
  let drawn = "";

  const draw = (page, key) => {
    months.replaceChildren(...page.months.map((each) => el("option", { value: each, selected: each === page.month }, each)));
    months.disabled = page.months.length === 0;
    if (!page.month) return setText(said, "No group has accounts yet; the first are written a minute after a workload has started.");
    setText(said, page.groups.length ? `In ${page.unit}, counted until ${moment(page.until)}.` : `Nothing of ${key} was used in ${page.month}.`);
    put(groups, page.groups.length ? groupsTable(page.groups) : null);
    put(namespaces, page.namespaces.length ? table("What each namespace used", ["Namespace", "Group", "Used"], page.namespaces.map(namespaceRow), [1]) : hint("No namespace used any."));
  };

  const update = throttled(async () => {
    choice.update();
    const key = store.key(address.key);
    try {
      const { frame, ...page } = await ask("accounts", chosen ? { key, month: chosen } : { key });
      const text = JSON.stringify([page, key]);
      if (text === drawn) return;
      drawn = text;
      draw(page, key);
    } catch (error) {
      // The month that was chosen is kept no longer.
      if (!(error instanceof Refused)) throw error;
      setText(said, error.message);
    }
  }, 1000);

  const choose = () => {
    chosen = months.value;
    update();
  };

  const node = el(
    "div",
    { class: "page" },
    el("div", { class: "top" }, el("h1", {}, "Accounts"), el("div", { class: "choice" }, el("label", { for: "month" }, "Month"), months), choice.node),
    said,
    card("Groups", groups),
    card("Namespaces", namespaces),
  );
  update();
  return { node, update };
}
