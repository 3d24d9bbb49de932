// A group's page.

import { ask, tell } from "./api.js";
import { bar, legend } from "./bar.js";
import { chart } from "./chart.js";
import { el, groupAddress, name, throttled } from "./dom.js";
import { flow } from "./flow.js";
import { workloadLists } from "./lists.js";

const WORDS = ["min", "effectiveMin", "guarantee", "ceiling", "weight", "request", "demand", "used", "nonPreemptible", "charge", "runtime", "borrowed", "lendable"];
const keyOf = (each) => `${each.flavor}/${each.resource}`;

const table = (caption, heads, rows) =>
  el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el(
      "table",
      {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, heads.map((each) => el("th", { scope: "col" }, each)))),
      el("tbody", {}, rows),
    ),
  );

function numbers(page) {
  const rows = page.words.map((each) =>
    el("tr", {}, el("th", { scope: "row" }, keyOf(each)), WORDS.map((word) => el("td", {}, each.text[word]))),
  );
  return rows.length ? table("Numbers", ["Flavor/resource", ...WORDS], rows) : null;
}

function bars(page) {
  const lines = page.keys.map((key) => {
    const drawn = bar();
    drawn.draw(key);
    const text = `used ${key.text.used}, runtime ${key.text.runtime}, min ${key.text.min}`;
    return el("div", { class: "bar-line" }, el("span", {}, keyOf(key)), drawn.node, el("span", {}, text));
  });
  return [legend(), el("div", { class: "bar-lines" }, lines)];
}

function division(page, key) {
  const found = page.divisions.find((each) => keyOf(each) === key);
  if (!found) return el("p", { class: "hint" }, "Nothing is divided here.");
  const rows = found.rows.map((row) =>
    el(
      "tr",
      { class: row.group === page.name ? "own" : null },
      el("th", { scope: "row" }, el("a", { href: groupAddress(row.group) }, name(row.group))),
      ["min", "demand", "first", "weight", "shared", "runtime", "used"].map((word) => el("td", {}, row.text[word])),
    ),
  );
  const heads = ["Group", "Min", "Demand", "Gets first", "Weight", "Gets shared", "Runtime", "Used"];
  return el("div", {}, el("p", {}, found.text), table(`Runtime of ${key}`, heads, rows));
}

function head(page) {
  const path = page.path.map((each, index) => [
    index ? " / " : "",
    each === page.name ? name(each) : el("a", { href: groupAddress(each) }, name(each)),
  ]);
  const notes = page.conditions.filter((each) => (each.type === "Active" ? each.status === "False" : each.status === "True"));
  return [
    el("nav", { "aria-label": "Path", class: "path" }, path),
    page.stopPolicy === "None" ? null : el("p", { class: "note" }, `stopPolicy ${page.stopPolicy}`),
    notes.map((each) => el("p", { class: "note" }, `${each.type}: ${each.reason} ${each.message}`)),
    page.children.length
      ? el("p", {}, "Below: ", page.children.map((each) => [el("a", { href: groupAddress(each) }, name(each)), " "]))
      : null,
  ];
}

function whatIf(page) {
  const keys = el("select", { id: "edit-key" }, page.mins.map((each) => el("option", { value: keyOf(each) }, keyOf(each))));
  const text = el("input", { id: "edit-min", required: true, autocomplete: "off", size: 12 });
  const chosen = () => page.mins.find((each) => keyOf(each) === keys.value);
  const fill = () => (text.value = chosen()?.text ?? "");
  keys.addEventListener("change", fill);
  fill();
  const answer = el("pre", { role: "status", class: "answer", tabindex: 0, "aria-label": "What would change" });
  const submit = async (event) => {
    event.preventDefault();
    const { flavor, resource } = chosen();
    answer.textContent = "computing …";
    try {
      const found = await tell("what-if", { group: page.name, flavor, resource, min: text.value });
      answer.textContent = found.lines.join("\n");
    } catch (error) {
      answer.textContent = error.message;
    }
  };
  if (!page.mins.length) return el("p", { class: "hint" }, "The group has no quota of its own to edit.");
  return el(
    "form",
    { onsubmit: submit, class: "tools" },
    el("label", { for: "edit-key" }, "Flavor/resource"), keys,
    el("label", { for: "edit-min" }, "min would be"), text,
    el("button", { type: "submit" }, "What if?"),
    el("p", { class: "hint" }, "Nothing is written."),
    answer,
  );
}

export function groupPage(store, group) {
  const part = (title) => el("section", { "aria-label": title });
  const [top, sums, runtime, lending, past, edit] = ["Place", "Use", "Runtime", "Lending", "History", "What if"].map(part);
  const keys = el("select", { id: "group-key", onchange: () => drawKey() });
  const lists = workloadLists(store, group);
  let page = null;
  const drawKey = () => {
    const pools = page.pools.filter((each) => keyOf(each) === keys.value);
    runtime.replaceChildren(el("h2", {}, "How its runtime comes about"), division(page, keys.value));
    lending.replaceChildren(el("h2", {}, "Who lends to whom"), ...(pools.length ? pools.map(flow) : [el("p", { class: "hint" }, "Nothing is lent or borrowed here.")]));
    drawPast();
  };
  const drawPast = () => {
    const at = keys.value.indexOf("/");
    const points = store.history(group, keys.value.slice(0, at), keys.value.slice(at + 1));
    past.replaceChildren(el("h2", {}, "Since this page is open"), chart(points));
  };
  let drawn = "";
  const update = throttled(async () => {
    let found;
    try {
      found = await ask("group", { name: group });
    } catch (error) {
      top.replaceChildren(el("p", { class: "problem", role: "alert" }, error.message));
      return;
    }
    lists.update();
    const { frame, ...content } = found;
    const text = JSON.stringify(content);
    if (text === drawn) return drawPast();
    drawn = text;
    const first = page === null;
    page = found;
    top.replaceChildren(...head(page).flat(3).filter(Boolean));
    sums.replaceChildren(el("h2", {}, "Use"), ...bars(page), ...[numbers(page)].filter(Boolean));
    for (const each of page.keys) {
      const id = keyOf(each);
      if (![...keys.options].some((option) => option.value === id)) keys.append(el("option", { value: id }, id));
    }
    if (first) edit.replaceChildren(el("h2", {}, "What if its min were different?"), whatIf(page));
    drawKey();
  }, 1000);
  const node = el(
    "div",
    { class: "page" },
    el("h1", {}, "Group ", name(group)),
    top,
    sums,
    el("section", { "aria-label": "Workloads" }, el("h2", {}, "Workloads"), lists.node),
    el("div", { class: "tools" }, el("label", { for: "group-key" }, "Below, for"), keys),
    runtime, lending, past, edit,
  );
  update();
  return { node, update };
}
