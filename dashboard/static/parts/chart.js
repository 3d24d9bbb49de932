// Amounts over time, as steps: areas stacked on each other and lines, with axes, and the numbers under the pointer.

import { el, put, setText, svg } from "./dom.js";
import { amountText, marksTo, moment, timesBetween } from "./words.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [52, 12, 10, 24];
const HATCH = "hatch-borrowed";

/** When a curve ends: the last value has held as long as the one before it, so that it is seen. */
const endOf = (times) => times.at(-1) + Math.max(1000, times.at(-1) - (times.at(-2) ?? 0));

/** The corners of a step function: each value holds until the next. */
function steps(times, values, x, y) {
  let path = "";
  values.forEach((value, index) => {
    if (value === null) return;
    path += path ? `H${x(times[index])}V${y(value)}` : `M${x(times[index])},${y(value)}`;
  });
  return path && `${path}H${x(endOf(times))}`;
}

function area(times, lower, upper, x, y) {
  const first = upper.findIndex((each) => each !== null);
  if (first < 0) return "";
  const top = steps(times, upper, x, y);
  let back = "";
  for (let index = times.length - 1; index >= first; index -= 1) {
    const right = x(index + 1 < times.length ? times[index + 1] : endOf(times));
    back += `L${right},${y(lower[index])}H${x(times[index])}`;
  }
  return `${top}${back}Z`;
}

const hatch = () =>
  svg(
    "defs",
    {},
    svg(
      "pattern",
      { id: HATCH, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { width: 6, height: 6, class: "hatch-ground" }),
      svg("rect", { width: 2, height: 6, class: "hatch-line" }),
    ),
  );

/**
 * A chart: `show({ label, unit, times, series })` draws it. A series is { name, kind, values, on } with kind `area`, `hatched`, `solid`,
 * `dashed` or `dotted`; `on`: the values that an area stands on. A value null: not there yet.
 */
export function chart({ height = 220 } = {}) {
  const canvas = el("div", { class: "canvas" });
  const reading = el("p", { class: "reading" });
  const keys = el("p", { class: "legend" });
  const node = el("figure", { class: "chart" }, keys, canvas, el("figcaption", {}, reading));
  let shown = null;
  let drawnWidth = 0;
  let cursor = null;

  const read = (index) => {
    const { unit, times, series } = shown;
    const own = ({ values, on }) => values[index] - (on?.[index] ?? 0);
    const numbers = series.filter((each) => each.values[index] !== null).map((each) => `${each.name} ${amountText(unit, own(each))}`);
    setText(reading, `${moment(times[index])}: ${numbers.join(", ")}`);
  };

  const draw = () => {
    if (!shown) return;
    const { label, unit, times, series } = shown;
    const width = Math.max(240, canvas.clientWidth || 640);
    drawnWidth = canvas.clientWidth;
    const [from, to] = [times[0], endOf(times)];
    const most = Math.max(1, ...series.flatMap((each) => each.values.filter((value) => value !== null)));
    const marks = marksTo(unit, most);
    const top = marks.at(-1).amount;
    const x = (time) => +(LEFT + ((width - LEFT - RIGHT) * (time - from)) / (to - from)).toFixed(1);
    const y = (amount) => +(height - BOTTOM - ((height - BOTTOM - TOP) * amount) / top).toFixed(1);
    const zero = times.map(() => 0);
    cursor = svg("line", { y1: TOP, y2: height - BOTTOM, class: "cursor-line", visibility: "hidden" });
    const picture = svg(
      "svg",
      { width, height, role: "img", "aria-label": `${label}, from ${moment(from)} to ${moment(to)}` },
      hatch(),
      marks.map(({ amount, text }) => [
        svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(amount), y2: y(amount), class: amount ? "rule" : "axis" }),
        svg("text", { x: LEFT - 6, y: y(amount) + 4, "text-anchor": "end" }, text),
      ]),
      timesBetween(from, to, Math.max(2, Math.floor(width / 110))).map(({ time, text }) => [
        svg("line", { x1: x(time), x2: x(time), y1: height - BOTTOM, y2: height - BOTTOM + 4, class: "axis" }),
        svg("text", { x: Math.min(x(time), width - 28), y: height - 6, "text-anchor": "middle" }, text),
      ]),
      series.map((each) =>
        each.kind === "area" || each.kind === "hatched"
          ? svg("path", { d: area(times, each.on ?? zero, each.values, x, y), class: `series ${each.kind}`, fill: each.kind === "hatched" ? `url(#${HATCH})` : null })
          : svg("path", { d: steps(times, each.values, x, y), class: `series ${each.kind}` }),
      ),
      cursor,
    );
    picture.addEventListener("pointermove", (event) => {
      const at = from + ((event.offsetX - LEFT) / (width - LEFT - RIGHT)) * (to - from);
      const index = Math.max(0, times.findLastIndex((time) => time <= at));
      cursor.setAttribute("x1", x(times[index]));
      cursor.setAttribute("x2", x(times[index]));
      cursor.setAttribute("visibility", "visible");
      read(index);
    });
    picture.addEventListener("pointerleave", () => {
      cursor.setAttribute("visibility", "hidden");
      read(times.length - 1);
    });
    put(canvas, picture);
    put(keys, series.map((each) => el("span", {}, el("span", { class: `swatch ${each.kind}` }), ` ${each.name}`)));
    read(times.length - 1);
  };

  new ResizeObserver(() => canvas.clientWidth !== drawnWidth && draw()).observe(canvas);
  return {
    node,
    show(content) {
      shown = content;
      draw();
    },
  };
}

/** A line without axes, for a headline; the number next to it says what it is. */
export function sparkline(times, values, kind) {
  const [width, height] = [120, 32];
  const [from, to] = [times[0], endOf(times)];
  const most = Math.max(1, ...values.filter((each) => each !== null));
  const x = (time) => +((width * (time - from)) / (to - from)).toFixed(1);
  const y = (value) => +(height - 1 - ((height - 3) * value) / most).toFixed(1);
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: `sparkline ${kind}`, "aria-hidden": "true" },
    svg("path", { d: area(times, values.map(() => 0), values, x, y), class: "under" }),
    svg("path", { d: steps(times, values, x, y), class: "over" }),
  );
}
