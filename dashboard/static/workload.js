// A workload's page: the lines that `quotree explain` prints.

import { ask } from "./api.js";
import { el, groupAddress, name, throttled } from "./dom.js";

const linesOf = (lines) => el("ul", { class: "lines-of-text" }, lines.map((each) => el("li", { class: /^ {2}/.test(each) ? "deep" : null }, each.trim())));

export function workloadPage(store, kind, key) {
  const text = el("section", { "aria-label": "Explanation", "aria-live": "polite" }, el("p", {}, "reading …"));
  const more = el("p", { class: "hint", role: "status" });
  const place = el("p", {});
  let shown = "";
  let last = "";
  const show = (page) => {
    const lines = page.recorded ? [...page.lines, `last recorded: ${page.recorded}`] : page.lines;
    const drawn = lines.join("\n");
    if (drawn === shown) return;
    shown = drawn;
    place.replaceChildren("of group ", el("a", { href: groupAddress(page.group) }, name(page.group)), `, ${page.state}`);
    text.replaceChildren(linesOf(lines.filter((each) => each !== "")));
  };
  const refresh = async () => {
    try {
      const page = await ask("workload", { kind, key });
      const plain = page.lines.join("\n");
      if (plain === last) return;
      if (page.incomplete || page.state !== "Pending") {
        last = plain;
        more.textContent = page.incomplete ? "Your rights do not show everything that the reason depends on." : "";
        return show(page);
      }
      if (last === "") show(page);
      last = plain;
      more.textContent = "trying what would let it start …";
      show(await ask("workload", { kind, key, remedies: 1 }));
      more.textContent = "";
    } catch (error) {
      last = "";
      more.textContent = "";
      shown = "";
      text.replaceChildren(el("p", { class: "problem" }, error.message));
    }
  };
  const update = throttled(refresh, 1000);
  update();
  return { node: el("div", { class: "page" }, el("h1", {}, `${kind} `, name(key)), place, text, more), update };
}
