// The flavor and resource that a page is about, to choose from.

import { withKey } from "../address.js";
import { el } from "./dom.js";

/** A choice that leads to the same page about another flavor and resource; `update` offers what there is. */
export function keyChoice(store, chosen) {
  const select = el("select", { id: "key", onchange: () => (location.hash = withKey(select.value)) });
  let offered = "";
  const update = () => {
    const keys = [...store.keys];
    const key = store.key(chosen);
    const text = JSON.stringify([keys, key]);
    if (text === offered) return;
    offered = text;
    select.replaceChildren(...keys.map((each) => el("option", { value: each, selected: each === key }, each)));
    if (key && !keys.includes(key)) select.append(el("option", { value: key, selected: true }, key));
  };
  update();
  return { node: el("div", { class: "choice" }, el("label", { for: "key" }, "Flavor/resource"), select), update };
}
