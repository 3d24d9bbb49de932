// The bar of a group for one flavor and resource. Full width is the largest of min, runtime and used, or what `full` says; numbers next to
// it say the same. Without min and runtime it has no marks.

import { el } from "./dom.js";

export function bar() {
  const within = el("div", { class: "within" });
  const beyond = el("div", { class: "beyond" });
  const least = el("div", { class: "mark min" });
  const runtime = el("div", { class: "mark runtime" });
  const node = el("div", { class: "bar", "aria-hidden": "true" }, within, beyond, least, runtime);
  const draw = (key) => {
    node.hidden = !key;
    if (!key) return;
    const full = Math.max(key.full ?? 0, key.min ?? 0, key.runtime ?? 0, key.used, 1);
    least.hidden = key.min === undefined;
    runtime.hidden = key.runtime === undefined;
    const part = (amount) => `${(100 * amount) / full}%`;
    const borrowed = Math.min(key.borrowed, key.used);
    within.style.width = part(key.used - borrowed);
    beyond.style.left = part(key.used - borrowed);
    beyond.style.width = part(borrowed);
    least.style.left = part(key.min ?? 0);
    runtime.style.left = part(key.runtime ?? 0);
  };
  return { node, draw };
}

export const drawnBar = (key) => {
  const { node, draw } = bar();
  draw(key);
  return node;
};

export const legend = () =>
  el(
    "p",
    { class: "legend" },
    [["area", "used within min"], ["hatched", "borrowed"], ["mark min", "min"], ["mark runtime", "runtime"]].map(([kind, text]) =>
      el("span", {}, el("span", { class: `swatch ${kind}` }), ` ${text}`),
    ),
  );
