// Who lends and who borrows in one pool: bands as wide as the amounts, from the left into the pool, from it to the right.

import { el, link, put, svg } from "./dom.js";
import { groupAddress } from "../address.js";

const POOL = 20;
const LEAST = 3;
const MOST = 10;
const LINE = 34;

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

const shortened = (text, most) => (text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text);

function side(sides, { scale, height, width, isLeft }) {
  const room = Math.min(170, width * 0.3);
  const total = sides.reduce((sum, each) => sum + Math.max(LEAST, each.amount * scale), 0);
  const gap = (height - total) / (sides.length + 1);
  let outer = gap;
  let inner = (height - total) / 2;
  return sides.map((each) => {
    const thick = Math.max(LEAST, each.amount * scale);
    const kind = each.group === "" ? "band beside" : isLeft ? "band lends" : "band borrows";
    const center = width / 2;
    const [x, anchor] = isLeft ? [room - 6, "end"] : [width - room + 6, "start"];
    const drawn = [
      isLeft ? band(room, outer, center - POOL / 2, inner, thick, kind) : band(center + POOL / 2, inner, width - room, outer, thick, kind),
      svg("text", { x, y: outer + thick / 2 - 2, "text-anchor": anchor }, svg("title", {}, each.label), shortened(each.label, Math.floor(room / 7.8))),
      svg("text", { x, y: outer + thick / 2 + 12, "text-anchor": anchor, class: "amount" }, each.text),
    ];
    outer += thick + gap;
    inner += thick;
    return drawn;
  });
}

/** The picture of a pool, with the same as text: labels in a picture cannot be links that all readers find. */
export function flow(pool) {
  const [left, right] = [merged(pool.lenders), merged(pool.borrowers)];
  const total = Math.max(...[left, right].map((each) => each.reduce((sum, one) => sum + one.amount, 0)), 1);
  const height = Math.max(110, LINE * Math.max(left.length, right.length) + 50);
  const canvas = el("div", { class: "canvas" });
  let drawn = 0;
  const draw = () => {
    drawn = canvas.clientWidth;
    const width = Math.max(240, drawn || 640);
    const shape = { scale: (height - 60) / total, height, width };
    put(
      canvas,
      svg(
        "svg",
        { width, height, role: "img", "aria-label": `What is lent and borrowed below ${pool.parent}` },
        side(left, { ...shape, isLeft: true }),
        side(right, { ...shape, isLeft: false }),
        svg("rect", { x: width / 2 - POOL / 2, y: 12, width: POOL, height: height - 24, rx: 4, class: "pool" }),
      ),
    );
  };
  new ResizeObserver(() => canvas.clientWidth !== drawn && draw()).observe(canvas);
  draw();
  const list = (title, sides) => [
    el("h4", {}, title),
    el("ul", {}, sides.map((each) => el("li", {}, each.group ? link(groupAddress(each.group), each.label) : each.label, ` ${each.text}`))),
  ];
  return el(
    "figure",
    { class: "flow" },
    el("h3", {}, "Below ", link(groupAddress(pool.parent), pool.parent)),
    canvas,
    el(
      "figcaption",
      {},
      "What a group leaves idle goes into the pool of its parent, and groups that need more use it.",
      el("details", {}, el("summary", {}, "The same as text"), list("Into the pool", pool.lenders), list("Out of it", pool.borrowers)),
    ),
  );
}
