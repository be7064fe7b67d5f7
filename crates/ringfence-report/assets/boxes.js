// Box plots, of whatever values: a row for each case.

/** Above this ratio of the largest to the smallest value an axis is logarithmic. */
const LOG_AXIS_RATIO = 30;
const CHAR_PIXELS = 7;

/** An axis over positive values and a limit, from 0 unless it is logarithmic; `unit` has a divisor and a name. */
function valueAxis(values, limit, unit, what) {
  const all = limit === null ? values : [...values, limit];
  const [smallest, largest] = [Math.min(...all), Math.max(...all)];
  const logarithmic = largest > smallest * LOG_AXIS_RATIO && smallest > 0;
  const lowest = smallest < 0 ? smallest * 1.05 : 0;
  const domain = [logarithmic ? smallest * 0.8 : lowest, largest > 0 ? largest * 1.05 : unit.divisor];
  const inUnit = [unit.name, logarithmic ? "logarithmic" : ""].filter(Boolean).join(", ");
  return {
    divisor: unit.divisor,
    name: unit.name,
    options: {
      type: logarithmic ? "log" : "linear",
      domain: domain.map((value) => value / unit.divisor),
      label: `${what}${inUnit ? ` (${inUnit})` : ""} →`,
      tickFormat: logarithmic ? "~g" : undefined,
    },
  };
}

/** A dashed line at a limit. */
function limitMark(limit, axis) {
  return Plot.ruleX([limit / axis.divisor], { strokeWidth: 1.5, strokeDasharray: "5 3" });
}

/** What the line is; `dy` is from the top of the frame. */
function limitLabel(text, limit, axis, dy) {
  const scale = axis.options.type === "log" ? d3.scaleLog() : d3.scaleLinear();
  const nearRight = scale.domain(axis.options.domain)(limit / axis.divisor) > 0.8;
  return Plot.text([text], {
    x: limit / axis.divisor,
    frameAnchor: "top",
    textAnchor: nearRight ? "end" : "start",
    dx: nearRight ? -6 : 6,
    dy,
    fill: "currentColor",
    stroke: "var(--surface)",
    strokeWidth: 4,
  });
}

/**
 * A box for each row: `case`, `colour`, the numbers of the box and its outliers. `before` is drawn
 * behind the boxes.
 */
function boxPlot({ rows, axis, width, marginLeft, ariaLabel, before = [], labelled = false }) {
  const inUnit = (key) => (row) => row[key] / axis.divisor;
  const outliers = rows.flatMap((row) => row.outliers.map((value) => ({ ...row, value: value / axis.divisor })));
  const look = { y: "case", stroke: "colour" };
  // A box without width would be nothing but its gap.
  const isFlat = (row) => row.lower_quartile === row.upper_quartile;
  return Plot.plot({
    width,
    height: 54 + 34 * rows.length + (labelled ? 18 : 0),
    marginLeft,
    marginTop: labelled ? 24 : 6,
    marginBottom: 40,
    ariaLabel,
    x: { ...axis.options, grid: true },
    y: { domain: rows.map((row) => row.case), label: null, tickSize: 0 },
    marks: [
      ...before,
      Plot.ruleY(rows, { ...look, x1: inUnit("lower_whisker"), x2: inUnit("upper_whisker"), strokeWidth: 1.5 }),
      ...["lower_whisker", "upper_whisker"].map((key) =>
        Plot.tickX(rows, { ...look, x: inUnit(key), strokeWidth: 1.5, inset: 8 }),
      ),
      Plot.barX(rows, {
        x1: inUnit("lower_quartile"),
        x2: inUnit("upper_quartile"),
        y: "case",
        fill: "colour",
        inset: 3,
      }),
      Plot.tickX(rows, {
        ...look,
        x: inUnit("median"),
        stroke: (row) => (isFlat(row) ? row.colour : "var(--surface)"),
        strokeWidth: 2.5,
        inset: 3,
      }),
      Plot.dot(outliers, { ...look, x: "value", r: 2.5 }),
    ],
  });
}

/** Room for the names of rows, up to a quarter of the width. */
function labelRoom(names, width) {
  const longest = Math.max(...names.map((name) => name.length));
  return Math.min(Math.max(110, CHAR_PIXELS * longest + 14), Math.max(110, width / 4));
}
