// The overview: what there is, what is used, borrowed and waited for; where it is tight, who waits longest, who lends.

import { ask } from "../api.js";
import { groupAddress, pageAddress, withKey, workloadAddress } from "../address.js";
import { drawnBar, legend } from "../parts/bar.js";
import { chart, sparkline } from "../parts/chart.js";
import { card, el, link, name, put, setText, table, throttled } from "../parts/dom.js";
import { flow } from "../parts/flow.js";
import { keyChoice } from "../parts/key_choice.js";
import { age, count } from "../parts/words.js";
import { keyOf } from "../store.js";

const percent = (part, whole) => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : "");

/** The headline numbers: what each is called, its text, what is said below it, and its curve. */
function headlinesOf({ total, waiting }) {
  const { capacity, used, borrowed, text } = total;
  return [
    { word: "capacity", title: "Capacity", figure: text.capacity, of: used <= capacity ? `${text.free} free` : "more is used", line: "plain" },
    { word: "used", title: "Used", figure: text.used, of: capacity ? `${percent(used, capacity)} of capacity` : "", line: "area" },
    { word: "borrowed", title: "Borrowed", figure: text.borrowed, of: used ? `${percent(borrowed, used)} of what is used` : "", line: "hatched" },
    { word: "waiting", title: "Waiting", figure: String(waiting), of: total.unmet ? `${text.unmet} more asked for` : waiting ? "for other resources" : "", line: "waits" },
  ];
}

const headline = ({ history }) => ({ word, title, figure, of, line }) =>
  el(
    "li",
    { class: `headline ${word}` },
    el("h2", {}, title),
    el("p", { class: "figure" }, figure),
    el("p", { class: "of" }, of),
    history.times.length > 1 ? sparkline(history.times, history[word], line) : null,
  );

/** The state of the cluster in one sentence. */
function sentenceOf({ total, waiting, longest, resource, flavor }, now) {
  const { text, used, capacity, borrowed } = total;
  const use = `${text.used} of ${text.capacity} ${resource} of flavor ${flavor} ${used === 1 ? "is" : "are"} in use${capacity ? ` (${percent(used, capacity)})` : ""}`;
  const lent = borrowed ? `, ${text.borrowed} of it borrowed` : "";
  const queue = waiting ? `; ${count(waiting, "workload waits", "workloads wait")}${longest.length ? `, the longest for ${age(longest[0].queued, now)}` : ""}.` : "; nothing waits.";
  return use + lent + queue;
}

const tightLine = (each) =>
  el(
    "li",
    {},
    el("p", { class: "pair" }, link(groupAddress(each.group), each.group), el("span", {}, count(each.pending, "workload waits", "workloads wait"))),
    drawnBar(each),
    el("p", { class: "hint" }, `${each.text.used} used of a runtime of ${each.text.runtime}; ${each.text.unmet} more is asked for`),
  );

const waitLine = (now) => (each) =>
  el(
    "li",
    {},
    el("p", { class: "pair" }, link(workloadAddress(each.kind, each.workload), each.workload), el("strong", {}, age(each.queued, now))),
    el("p", { class: "hint" }, link(groupAddress(each.group), each.group), each.message ? ": " : "", each.message),
  );

const keyRow = (page) => (each) =>
  el(
    "tr",
    { class: keyOf(each) === keyOf(page) ? "own" : null },
    el("th", { scope: "row" }, el("a", { href: withKey(keyOf(each)) }, name(keyOf(each)))),
    el("td", { class: "bars" }, drawnBar({ ...each, min: each.capacity, runtime: each.capacity })),
    ["used", "capacity", "borrowed", "unmet"].map((word) => el("td", {}, each.text[word])),
  );

const nothing = (text) => el("p", { class: "hint" }, text);

export function overviewPage(store, address) {
  const choice = keyChoice(store, address.key);
  const sentence = el("p", { class: "sentence", role: "status" }, "reading …");
  const headlines = el("ul", { class: "headlines", "aria-label": "Headline numbers" });
  const part = () => el("div", {});
  const [tight, longest, lending, all] = [part(), part(), part(), part()];
  const past = chart();
  const since = el("p", { class: "hint" });
  let drawn = "";

  const draw = (page) => {
    setText(sentence, sentenceOf(page, store.now));
    put(headlines, headlinesOf(page).map(headline(page)));
    put(tight, page.tight.length ? el("ul", { class: "plain" }, page.tight.map(tightLine)) : nothing("Nothing waits for it."));
    put(
      longest,
      page.longest.length ? el("ol", { class: "plain" }, page.longest.map(waitLine(store.now))) : nothing("Nothing waits."),
      page.longest.length ? el("p", {}, el("a", { href: pageAddress("workloads") }, "All that wait")) : null,
    );
    const below = page.lendingBelow.map((each) => [" ", link(groupAddress(each), each)]);
    put(lending, page.pools.length ? page.pools.map(flow) : nothing("Nothing is lent or borrowed."), below.length ? el("p", {}, "Also lent below:", below) : null);
    put(all, page.keys.length ? table("All flavors and resources", ["Flavor/resource", "Used of capacity", "Used", "Capacity", "Borrowed", "Asked for beyond"], page.keys.map(keyRow(page)), [1]) : null);
  };

  const drawPast = ({ flavor, resource, unit, history }) => {
    past.node.hidden = history.times.length < 2;
    setText(since, past.node.hidden ? "The curve begins a few seconds after the dashboard's process." : "Kept by the dashboard's process since it began; for longer periods there are metrics.");
    if (past.node.hidden) return;
    const within = history.used.map((used, index) => used - history.borrowed[index]);
    past.show({
      label: `Use of ${flavor}/${resource}`,
      unit,
      times: history.times,
      series: [
        { name: "used within min", kind: "area", values: within },
        { name: "borrowed", kind: "hatched", values: history.used, on: within },
        { name: "capacity", kind: "solid", values: history.capacity },
      ],
    });
  };

  const update = throttled(async () => {
    choice.update();
    const key = store.key(address.key);
    if (!key) return setText(sentence, store.loading.length ? "reading …" : "No group has a quota yet.");
    const { frame, history, ...page } = await ask("overview", { key });
    history.times = history.times.map((each) => each * 1000);
    const text = JSON.stringify([page, history.times.length, history.times.at(-1)]);
    if (text === drawn) return;
    drawn = text;
    draw({ ...page, history });
    drawPast({ ...page, history });
  }, 1000);

  const node = el(
    "div",
    { class: "page overview" },
    el("div", { class: "top" }, el("h1", {}, "Overview"), choice.node),
    sentence,
    headlines,
    el(
      "div",
      { class: "cards" },
      card("Use over time", past.node, since),
      card("Where it is tight", tight, legend()),
      card("Who waits longest", longest),
      card("Who lends to whom", lending),
    ),
    card("All flavors and resources", all),
  );
  update();
  return { node, update };
}

