// Who lends and who borrows in one pool: bands as wide as the amounts, from the left into the pool, from it to the right.

import { el, groupAddress, name, svg } from "./dom.js";

const WIDTH = 640;
const LABEL = 190;
const POOL = 24;
const LEAST = 3;
const MOST = 12;

function merged(sides) {
  if (sides.length <= MOST) return sides;
  const rest = sides.slice(MOST - 1);
  const amount = rest.reduce((sum, each) => sum + each.amount, 0);
  return [...sides.slice(0, MOST - 1), { group: "", label: `${rest.length} more`, amount, text: "" }];
}

function band(x1, top1, x2, top2, thick, kind) {
  const middle = (x1 + x2) / 2;
  const upper = `M${x1},${top1} C${middle},${top1} ${middle},${top2} ${x2},${top2}`;
  const lower = `L${x2},${top2 + thick} C${middle},${top2 + thick} ${middle},${top1 + thick} ${x1},${top1 + thick} Z`;
  return svg("path", { d: `${upper} ${lower}`, class: kind });
}

function side(sides, scale, height, isLeft) {
  const found = [];
  const gap = (height - sides.reduce((sum, each) => sum + Math.max(LEAST, each.amount * scale), 0)) / (sides.length + 1);
  let outer = gap;
  let inner = 20;
  for (const each of sides) {
    const thick = Math.max(LEAST, each.amount * scale);
    const kind = each.group === "" ? "band beside" : isLeft ? "band lends" : "band borrows";
    const center = WIDTH / 2;
    found.push(
      isLeft
        ? band(LABEL, outer, center - POOL / 2, inner, thick, kind)
        : band(center + POOL / 2, inner, WIDTH - LABEL, outer, thick, kind),
      svg(
        "text",
        { x: isLeft ? LABEL - 6 : WIDTH - LABEL + 6, y: outer + thick / 2 + 4, "text-anchor": isLeft ? "end" : "start" },
        `${shortened(each.label)} ${each.text}`,
      ),
    );
    outer += thick + gap;
    inner += thick;
  }
  return found;
}

const shortened = (text) => (text.length > 20 ? `${text.slice(0, 19)}…` : text);

export function flow(pool) {
  const [left, right] = [merged(pool.lenders), merged(pool.borrowers)];
  const total = Math.max(...[left, right].map((each) => each.reduce((sum, one) => sum + one.amount, 0)), 1);
  const height = Math.max(120, 30 * Math.max(left.length, right.length) + 60);
  const scale = (height - 60) / total;
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${height}`, class: "flow", role: "img", "aria-label": `What is lent and borrowed below ${pool.parent}` },
    side(left, scale, height, true),
    side(right, scale, height, false),
    svg("rect", { x: WIDTH / 2 - POOL / 2, y: 14, width: POOL, height: height - 28, class: "pool" }),
  );
  const list = (title, sides) => [
    el("h4", {}, title),
    el("ul", {}, sides.map((each) => el("li", {}, each.group ? el("a", { href: groupAddress(each.group) }, name(each.label)) : each.label, ` ${each.text}`))),
  ];
  return el(
    "figure",
    {},
    el("h3", {}, "Below ", name(pool.parent)),
    picture,
    el(
      "figcaption",
      {},
      "Quota is not lent by name: what one group leaves idle goes into the pool of its parent, and groups that need more use it.",
      el("details", {}, el("summary", {}, "The same as text"), list("Into the pool", pool.lenders), list("Out of it", pool.borrowers)),
    ),
  );
}
