// Times and amounts in words, and how the resources are counted.

const [MINUTE, HOUR, DAY] = [60, 3600, 86400];
/** [up to so many seconds, seconds of a unit, its letter, seconds of the smaller unit, its letter], as the commands write ages. */
const AGES = [
  [2 * MINUTE, 1, "s"],
  [10 * MINUTE, MINUTE, "m", 1, "s"],
  [3 * HOUR, MINUTE, "m"],
  [8 * HOUR, HOUR, "h", MINUTE, "m"],
  [48 * HOUR, HOUR, "h"],
  [8 * DAY, DAY, "d", HOUR, "h"],
  [Infinity, DAY, "d"],
];

/** How long ago: 45s, 3m20s, 25m, 5h12m, 30h, 4d2h, 12d. */
export function age(iso, now) {
  const seconds = Math.max(0, Math.floor((now - Date.parse(iso)) / 1000));
  const [, unit, letter, smaller, smallerLetter] = AGES.find(([limit]) => seconds < limit);
  const rest = smaller ? Math.floor((seconds % unit) / smaller) : 0;
  return `${Math.floor(seconds / unit)}${letter}${rest ? `${rest}${smallerLetter}` : ""}`;
}

/** The time of day, with the date unless it is today. */
export function moment(time, now = Date.now()) {
  const [at, today] = [new Date(time), new Date(now)];
  return at.toDateString() === today.toDateString() ? at.toLocaleTimeString() : at.toLocaleString();
}

export const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

/** How many base units one unit of an axis has, near this amount. */
function scaleOf(unit, most) {
  if (unit === "cpu") return [1000, ""];
  if (unit !== "bytes") return [1, ""];
  const power = Math.min(6, Math.max(0, Math.floor(Math.log2(Math.max(1, most)) / 10)));
  return [2 ** (10 * power), ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power]];
}

/** Round marks from 0 to at least `most`: [{ amount, text }]. */
export function marksTo(unit, most, wanted = 4) {
  const [size, suffix] = scaleOf(unit, most);
  const rough = Math.max(most / size, unit === "count" ? wanted : 1e-3) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
  const marks = Math.ceil(most / size / step - 1e-9) || 1;
  return Array.from({ length: marks + 1 }, (_, index) => ({ amount: index * step * size, text: `${+(index * step).toPrecision(6)}${suffix}` }));
}

/** An amount of the base unit as an axis would write it. */
export function amountText(unit, amount) {
  const [size, suffix] = scaleOf(unit, amount);
  return `${+(amount / size).toPrecision(4)}${suffix}`;
}

const STEPS = [10, 30, 60, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800];

/** Marks of a time axis: [{ time, text }], on whole minutes and hours. */
export function timesBetween(from, to, wanted) {
  const step = 1000 * (STEPS.find((each) => (to - from) / 1000 / each <= wanted) ?? 604800);
  const zone = new Date(from).getTimezoneOffset() * 60000;
  const first = Math.ceil((from - zone) / step) * step + zone;
  const shown = step < 60000 ? { timeStyle: "medium" } : step < 86400000 ? { timeStyle: "short" } : { month: "short", day: "numeric" };
  const marks = [];
  for (let time = first; time <= to; time += step) marks.push({ time, text: new Date(time).toLocaleString([], shown) });
  return marks;
}
