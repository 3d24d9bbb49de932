// A group's use over the time that the page has been open, as steps: used is a full line, runtime dashed, min dotted.

import { el, svg } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 160, 8, 20];

function steps(points, at, x, y) {
  let path = "";
  let before = null;
  for (const point of points) {
    path += before === null ? `M${x(point[0])},${y(point[at])}` : `H${x(point[0])}V${y(point[at])}`;
    before = point;
  }
  return path;
}

const clock = (time) => new Date(time).toLocaleTimeString();

export function chart(points) {
  if (points.length < 2) return el("p", { class: "hint" }, "Nothing has been seen yet.");
  const [from, to] = [points[0][0], Math.max(points.at(-1)[0], points[0][0] + 1000)];
  const most = Math.max(1, ...points.flatMap((each) => each.slice(1)));
  const x = (time) => LEFT + ((WIDTH - 2 * LEFT) * (time - from)) / (to - from);
  const y = (amount) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - 10) * amount) / most;
  return el(
    "figure",
    {},
    svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": `Used, runtime and min since ${clock(from)}` },
      svg("line", { x1: LEFT, x2: WIDTH - LEFT, y1: y(0), y2: y(0), class: "axis" }),
      svg("path", { d: steps(points, 3, x, y), class: "line-min" }),
      svg("path", { d: steps(points, 2, x, y), class: "line-runtime" }),
      svg("path", { d: steps(points, 1, x, y), class: "line-used" }),
      svg("text", { x: LEFT, y: HEIGHT - 4 }, clock(from)),
      svg("text", { x: WIDTH - LEFT, y: HEIGHT - 4, "text-anchor": "end" }, clock(to)),
    ),
    el("figcaption", {}, "Full line: used. Dashed: runtime. Dotted: min. Kept by this page while it is open."),
  );
}
