// Elements without markup: every text becomes a text node, so that a name can never be anything but text.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined));
  return node;
}

export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** A name that others chose: isolated, so that right-to-left text cannot reorder the text next to it. */
export const name = (text) => el("bdi", {}, text);

/** Set a text only if it differs, so that the browser has nothing to lay out again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** What to search for: names in Kubernetes are lower case. */
export const searched = (input) => input.value.trim().toLowerCase();

export const groupAddress = (group) => `#/group/${encodeURIComponent(group)}`;
export const workloadAddress = (kind, key) => `#/workload/${encodeURIComponent(kind)}/${encodeURIComponent(key)}`;

/** How long ago, in the largest unit that says enough. */
export function age(iso, now) {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

/** Call `work` at most once in so many milliseconds, the last time included; never twice at once. */
export function throttled(work, pause) {
  let running = false;
  let again = false;
  const call = async () => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      await work();
    } finally {
      setTimeout(() => {
        running = false;
        if (again) {
          again = false;
          call();
        }
      }, pause);
    }
  };
  return call;
}
