// Numbers as people read them, and small helpers. The report's scripts are
// joined into one module in the order that html/mod.rs lists them.

/** Picks the unit in which `ns` reads best: its divisor and its name. */
function timeUnit(ns) {
  if (ns >= 1e9) return { divisor: 1e9, name: "s" };
  if (ns >= 1e6) return { divisor: 1e6, name: "ms" };
  if (ns >= 1e3) return { divisor: 1e3, name: "µs" };
  return { divisor: 1, name: "ns" };
}

/** A duration with four significant digits, such as `12.34 ms`. */
function formatTime(ns) {
  const unit = timeUnit(Math.abs(ns));
  return `${Number((ns / unit.divisor).toPrecision(4))} ${unit.name}`;
}

/** Rounded bandwidth, such as `103 MB/s`. */
function formatBandwidth(bytesPerSecond) {
  return `${Number((bytesPerSecond / 1e6).toPrecision(3))} MB/s`;
}

const CASE_COLOURS = 6;

/** A case's colour by its place among all cases; every task's solo case has the same. */
function caseColour(names, name) {
  const family = (each) => (each.startsWith("solo/") ? "solo" : each);
  const families = [...new Set(names.map(family))];
  return `var(--case-${(families.indexOf(family(name)) % CASE_COLOURS) + 1})`;
}

/** An element with attributes and children; children may be text. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** Last index whose value in the ascending `values` is at most `limit`, or -1. */
function lastAtMost(values, limit) {
  return d3.bisectRight(values, limit) - 1;
}
