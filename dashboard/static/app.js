// The page put together: the stream, the store, and the page that the address names.

import { keepKey, pageAddress, parsed } from "./address.js";
import { followAlways, takeToken } from "./api.js";
import { accountsPage } from "./pages/accounts.js";
import { groupPage } from "./pages/group.js";
import { groupsPage } from "./pages/groups.js";
import { nodesPage } from "./pages/nodes.js";
import { overviewPage } from "./pages/overview.js";
import { weekPage } from "./pages/week.js";
import { workloadPage } from "./pages/workload.js";
import { workloadsPage } from "./pages/workloads.js";
import { el, setText } from "./parts/dom.js";
import { moment } from "./parts/words.js";
import { Store } from "./store.js";

const PAGES = {
  "": [overviewPage, "Overview"],
  groups: [groupsPage, "Groups"],
  workloads: [workloadsPage, "Workloads"],
  nodes: [nodesPage, "Nodes"],
  week: [weekPage, "Week"],
  accounts: [accountsPage, "Accounts"],
};
const OBJECTS = { group: groupPage, workload: workloadPage };
/** Which entry of the navigation an object's page belongs to. */
const ABOVE = { group: "groups", workload: "workloads" };

const store = new Store();
const main = document.getElementById("main");
const live = document.getElementById("live");
const banner = document.getElementById("banner");
const notices = document.getElementById("notices");
const nav = document.getElementById("nav");
let page = null;

function showNav(current) {
  nav.replaceChildren(
    ...Object.entries(PAGES).map(([id, [, title]]) =>
      el("a", { href: pageAddress(id), id: `nav-${id || "overview"}`, "aria-current": id === current ? "page" : null }, title),
    ),
  );
}

function route() {
  if (location.hash === "#main") return;
  const address = parsed();
  keepKey(address.key);
  const object = OBJECTS[address.page];
  const kind = object || address.page in PAGES ? address.page : "";
  showNav(ABOVE[kind] ?? kind);
  page = object ? object(store, address) : PAGES[kind][0](store, address);
  document.title = `${object ? address.names.join(" ") : PAGES[kind][1]} · Quotree`;
  main.replaceChildren(page.node);
  main.scrollTop = 0;
  (page.focus?.() ?? main).focus({ preventScroll: true });
}

/** One sentence that says since when the data stands, and why; empty while it is live. */
function standing() {
  if (store.lost) return store.frame ? `${store.lost}: this page shows the cluster as it was at ${moment(store.now)}.` : `${store.lost}.`;
  if (!store.stale) return "";
  const since = moment(store.stale.since);
  if (store.stale.cause === "Credentials") return `Your credentials are refused since ${since}: log in again as for kubectl, and this page goes on by itself.`;
  if (store.stale.cause === "Watch") return `The watch of ${store.stale.detail} is interrupted: this page shows the cluster as it was at ${since}.`;
  return `The API server does not answer: this page shows the cluster as it was at ${since}.`;
}

/** What follows from that no reconciler leads; empty while one does. */
function leaderless() {
  return store.leaderless ? `No reconciler leads since ${moment(store.leaderless)}: nothing starts or stops until one does.` : "";
}

let told = "";
function showState() {
  const text = standing();
  const reading = store.loading.length ? `reading ${store.loading.length} kinds …` : "";
  const since = store.stale && !store.lost ? store.stale.since : store.now;
  setText(live, text ? (store.frame ? `as of ${moment(since)}` : "not live") : reading || `live, ${moment(store.now)}`);
  live.classList.toggle("lost", text !== "");
  const sentence = text || leaderless();
  setText(banner, sentence);
  banner.hidden = sentence === "";
  const reads = store.loading[0] === "everything" ? [] : store.loading;
  const lines = text ? [] : [...store.notices, ...reads];
  if (lines.join("\n") === told) return;
  told = lines.join("\n");
  const title = reads.length ? "What is still being read" : "What is not shown to you, and why";
  const paragraphs = lines.map((each) => el("p", {}, each));
  notices.replaceChildren(...(lines.length > 1 ? [el("details", {}, el("summary", {}, `${title} (${lines.length})`), paragraphs)] : paragraphs));
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const filter = document.getElementById("filter");
  if (filter) {
    event.preventDefault();
    filter.focus();
  }
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

function refuse(reason) {
  setText(live, "not connected");
  main.replaceChildren(el("p", { class: "problem", role: "alert" }, reason));
}

async function begin() {
  if (!(await takeToken())) return refuse("Open the address that `quotree dashboard` printed: it has a token in it.");
  window.addEventListener("hashchange", async () => {
    if ((await takeToken()) && location.hash !== "#main") route();
  });
  store.addEventListener("change", () => {
    showState();
    if (!store.lost) page.update();
  });
  route();
  let fresh = false;
  followAlways(
    () => (fresh = true),
    (event) => {
      if (fresh) store.restart();
      fresh = false;
      store.take(event);
    },
    (reason) => store.lose(reason),
  );
}

begin().catch((error) => refuse(error.message));
