// The page put together: the stream, the store, and the page that the address names.

import { followAlways, takeToken } from "./api.js";
import { el, setText } from "./dom.js";
import { groupPage } from "./group.js";
import { nodesPage } from "./nodes.js";
import { Store } from "./store.js";
import { treePage } from "./tree.js";
import { workloadPage } from "./workload.js";

const store = new Store();
const main = document.getElementById("main");
const live = document.getElementById("live");
const notices = document.getElementById("notices");
let page = null;

function parsed() {
  try {
    return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  } catch {
    return [""];
  }
}

function route() {
  if (location.hash === "#main") return;
  const [kind, first = "", second = ""] = parsed();
  if (kind === "group") page = groupPage(store, first);
  else if (kind === "workload") page = workloadPage(store, first, second);
  else if (kind === "nodes") page = nodesPage();
  else page = treePage(store);
  const title = { group: `Group ${first}`, workload: `${first} ${second}`, nodes: "Flavors and nodes" }[kind] ?? "Tree";
  document.title = `${title} · Quotree`;
  for (const [id, chosen] of [["nav-tree", kind === ""], ["nav-nodes", kind === "nodes"]]) {
    const link = document.getElementById(id);
    if (chosen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.replaceChildren(page.node);
  main.scrollTop = 0;
  (page.focus ?? main).focus({ preventScroll: true });
}

let told = "";
function showState() {
  const reading = store.loading.length ? `reading ${store.loading.length} kinds …` : "";
  setText(live, store.lost ? "not live" : reading || `live, ${new Date(store.now).toLocaleTimeString()}`);
  live.classList.toggle("lost", store.lost !== "");
  const lines = store.lost ? [store.lost] : [...store.notices, ...(store.loading[0] === "everything" ? [] : store.loading)];
  if (lines.join("\n") === told) return;
  told = lines.join("\n");
  notices.replaceChildren(...lines.map((each) => el("p", {}, each)));
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

if (takeToken()) {
  window.addEventListener("hashchange", () => {
    if (takeToken() && location.hash !== "#main") route();
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
} else {
  setText(live, "not connected");
  main.append(el("p", { class: "problem" }, "Open the address that `quotree dashboard` printed: it has a token in it."));
}
