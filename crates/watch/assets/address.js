// The address holds the whole view: `#/compare?runs=…&x=frames&smooth=0.6`. Sent to others, it shows them the same.

/** `#/run/ID?x=y` → the parts of the path and the query. */
export function read() {
  const [path, question] = location.hash.replace(/^#/, "").split("?");
  return { parts: path.split("/").filter(Boolean), question: new URLSearchParams(question || "") };
}

/** The address of a view; values that are empty are left out. */
export function of(path, values) {
  const known = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  const question = known.map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%2C", ",")}`).join("&");
  return `#/${path}${question ? `?${question}` : ""}`;
}

/** Writes the view that is shown into the address, without a new entry in the history. */
export function write(path, values) {
  const address = of(path, values);
  if (address !== location.hash) history.replaceState(null, "", address);
}
