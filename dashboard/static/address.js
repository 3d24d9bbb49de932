// The addresses of the pages. The part after `?` names the flavor and resource that the page is about.

const parts = (text) => text.split("/").map(decodeURIComponent);

/** What the address names: { page, names, key }; an address that cannot be read is the overview. */
export function parsed(hash = location.hash) {
  try {
    const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
    const [page, ...names] = parts(path);
    return { page, names, key: new URLSearchParams(query).get("key") ?? "" };
  } catch {
    return { page: "", names: [], key: "" };
  }
}

let chosen = "";

/** From now on links name this flavor and resource, so that a copied link shows what its sender saw. */
export function keepKey(key) {
  chosen = key;
}

const addressOf = (...names) => `#/${names.map(encodeURIComponent).join("/")}${chosen ? `?key=${encodeURIComponent(chosen)}` : ""}`;

export const pageAddress = (page) => (page ? addressOf(page) : addressOf());
export const groupAddress = (group) => addressOf("group", group);
export const workloadAddress = (kind, key) => addressOf("workload", kind, key);

/** The present address with another flavor and resource. */
export function withKey(key) {
  const [path] = location.hash.split("?");
  return `${path || "#/"}?key=${encodeURIComponent(key)}`;
}
