// The coming week: a slider over the moments at which another tree is in force, and what groups say then.

import { ask } from "../api.js";
import { groupAddress } from "../address.js";
import { card, el, link, put, table, throttled } from "../parts/dom.js";
import { keyChoice } from "../parts/key_choice.js";
import { moment } from "../parts/words.js";

const hint = (text) => el("p", { class: "hint" }, text);
const secondsOf = (text) => Date.parse(text) / 1000;

/** The span that holds at a moment: the last that has begun. */
const spanAt = (spans, seconds) => spans.findLast((each) => secondsOf(each.from) <= seconds) ?? spans[0];

function groupsThen(span) {
  const rows = span.groups.map((each) =>
    el(
      "tr",
      { class: each.differs ? "own" : null },
      el("th", { scope: "row" }, link(groupAddress(each.group), each.group)),
      ["min", "max"].map((word) => el("td", {}, each.text[word] || "–")),
      el("td", {}, each.stopPolicy === "None" ? "" : each.stopPolicy),
      el("td", {}, each.amended || "as it is written"),
    ),
  );
  return table("What groups say then", ["Group", "Min", "Max", "Stop", "In force"], rows, [3, 4]);
}

export function weekPage(store, address) {
  const choice = keyChoice(store, address.key);
  const said = el("div", {});
  const borders = el("ol", { class: "borders", "aria-label": "When another tree is in force" });
  const ticks = el("datalist", { id: "week-borders" });
  const slider = el("input", { id: "week-moment", type: "range", step: 1, value: 0, min: 0, max: 1, list: "week-borders", oninput: () => show() });
  const told = el("output", { for: "week-moment", "aria-live": "polite" });
  let found = null;
  let drawn = "";

  const show = () => {
    if (found === null) return;
    const at = secondsOf(found.from) + Number(slider.value);
    const text = moment(new Date(at * 1000).toISOString());
    slider.setAttribute("aria-valuetext", text);
    put(told, text);
    const span = spanAt(found.spans, at);
    for (const each of borders.children) each.firstChild.setAttribute("aria-current", String(each.dataset.from === span.from));
    put(said, span.groups.length ? groupsThen(span) : hint("No group has overrides or windows: the tree is the same all week."));
  };

  const go = (from) => {
    slider.value = Math.max(0, secondsOf(from) - secondsOf(found.from));
    show();
  };

  const draw = () => {
    const chosen = secondsOf(found.from) + Number(slider.value);
    slider.max = secondsOf(found.until) - secondsOf(found.from);
    slider.value = Number(slider.value) ? chosen - secondsOf(found.from) : 0;
    put(ticks, found.spans.map((each) => el("option", { value: secondsOf(each.from) - secondsOf(found.from) })));
    put(borders, found.spans.map((each, index) => el("li", { "data-from": each.from }, el("button", { type: "button", onclick: () => go(each.from) }, index ? moment(each.from) : "now"))));
    show();
  };

  const update = throttled(async () => {
    choice.update();
    const answer = await ask("week", { key: store.key(address.key) });
    const text = JSON.stringify([answer.spans.map((each, index) => (index ? each : each.groups)), store.key(address.key)]);
    if (text === drawn) return;
    drawn = text;
    found = answer;
    draw();
  }, 1000);

  const node = el(
    "div",
    { class: "page" },
    el("div", { class: "top" }, el("h1", {}, "The coming week"), choice.node),
    el("p", { class: "tools" }, el("label", { for: "week-moment" }, "At"), slider, ticks, told),
    card("When another tree is in force", borders),
    card("Groups with overrides or windows", said),
  );
  update();
  return { node, update };
}
