// The bar of a group for one flavor and resource. Full width is the largest of min, runtime and used; numbers next to it say the same.

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
    const full = Math.max(key.min, key.runtime, key.used, 1);
    const part = (amount) => `${(100 * amount) / full}%`;
    const borrowed = Math.min(key.borrowed, key.used);
    within.style.width = part(key.used - borrowed);
    beyond.style.left = part(key.used - borrowed);
    beyond.style.width = part(borrowed);
    least.style.left = part(key.min);
    runtime.style.left = part(key.runtime);
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
