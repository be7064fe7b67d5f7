// Trajectories from above and along each axis, their errors, and measured figures.

const AXES = ["x", "y", "z"];
const UM_PER_M = 1e6;
const TOP_VIEW_HIGHEST = 620;

/** What lengths, times and numbers are shown in. */
function quantityUnit(quantity, largest) {
  return {
    length: { divisor: UM_PER_M, name: "m" },
    duration: timeUnit(largest),
    share: { divisor: 1e4, name: "%" },
    count: { divisor: 1, name: "" },
  }[quantity];
}

/** A colour for each of few boxes; of many, which are told apart by their names, all have one. */
function figureColour(index, count) {
  return `var(--case-${count > CASE_COLOURS ? 1 : (index % CASE_COLOURS) + 1})`;
}

/** Places in metres, and seconds by the trajectory's clock. */
function placesInMetres(places) {
  return places.at_ns.map((at, i) => ({
    time: at / 1e9,
    ...Object.fromEntries(AXES.map((axis, n) => [axis, places.um[n][i] / UM_PER_M])),
  }));
}

/** The lines of a trajectory's charts: the truth below the cases. Colour and dash tell twelve apart. */
function trajectoryLines(trajectory) {
  const cases = trajectory.cases.map((run, index) => ({
    name: run.case,
    points: placesInMetres(run.found),
    stroke: `var(--case-${(index % CASE_COLOURS) + 1})`,
    strokeWidth: 1.8,
    strokeDasharray: DASHES[index % DASHES.length],
  }));
  const truth = placesInMetres(trajectory.truth);
  const name = "ground truth";
  return truth.length > 0 ? [{ name, points: truth, stroke: "var(--truth)", strokeWidth: 5 }, ...cases] : cases;
}

function lineMark(line, x, y) {
  const { stroke, strokeWidth, strokeDasharray } = line;
  return Plot.line(line.points, { x, y, stroke, strokeWidth, strokeDasharray, strokeLinejoin: "round" });
}

/** Extent of the points along an axis, a little wider. */
function paddedExtent(lines, axis) {
  const [low, high] = d3.extent(lines.flatMap((line) => line.points.map((point) => point[axis])));
  const room = Math.max((high - low) * 0.04, 0.05);
  return [low - room, high + room];
}

/** A trajectory as seen from above: a metre is as long along both axes. */
function topView(trajectory, lines, width) {
  const margins = { marginLeft: 60, marginRight: 20, marginTop: 24, marginBottom: 40 };
  const [x, y] = ["x", "y"].map((axis) => paddedExtent(lines, axis));
  const room = { x: width - 80, y: TOP_VIEW_HIGHEST - 64 };
  const pixels = Math.min(room.x / (x[1] - x[0]), room.y / (y[1] - y[0]));
  return Plot.plot({
    width: Math.round(pixels * (x[1] - x[0])) + 80,
    height: Math.round(pixels * (y[1] - y[0])) + 64,
    ...margins,
    ariaLabel: `${trajectory.name} from above`,
    x: { domain: x, label: "x (m) →", grid: true },
    y: { domain: y, label: "↑ y (m)", grid: true },
    marks: lines.map((line) => lineMark(line, "x", "y")),
  });
}

/** One coordinate over time; only the last of the three has the times below it. */
function coordinateChart(trajectory, lines, axis, width) {
  const isLast = axis === AXES.at(-1);
  return Plot.plot({
    width,
    height: isLast ? 168 : 140,
    marginLeft: 60,
    marginRight: 20,
    marginTop: 22,
    marginBottom: isLast ? 38 : 10,
    ariaLabel: `${axis} of ${trajectory.name} over time`,
    x: {
      domain: d3.extent(lines.flatMap((line) => line.points.map((point) => point.time))),
      label: isLast ? "time (s) →" : null,
      tickFormat: isLast ? undefined : () => "",
      grid: true,
    },
    y: { domain: paddedExtent(lines, axis), label: `↑ ${axis} (m)`, grid: true, ticks: 5 },
    marks: lines.map((line) => lineMark(line, "time", axis)),
  });
}

function lineLegend(lines) {
  const list = element("ul", { class: "legend" });
  for (const line of lines) {
    const sample = d3.create("svg").attr("width", 30).attr("height", 10).attr("aria-hidden", "true");
    sample
      .append("path")
      .attr("d", "M0 5h30")
      .attr("style", `stroke:${line.stroke}`)
      .attr("stroke-width", Math.max(line.strokeWidth, 3))
      .attr("stroke-dasharray", line.strokeDasharray ?? "none");
    list.append(element("li", {}, sample.node(), line.name));
  }
  return list;
}

function drawTrajectory(trajectory, width) {
  const lines = trajectoryLines(trajectory).filter((line) => line.points.length > 0);
  if (lines.length === 0) return;
  document
    .querySelector(`[data-top-view="${trajectory.index}"]`)
    .replaceChildren(lineLegend(lines), topView(trajectory, lines, width));
  document
    .querySelector(`[data-coordinates="${trajectory.index}"]`)
    .replaceChildren(lineLegend(lines), ...AXES.map((axis) => coordinateChart(trajectory, lines, axis, width)));
}

/** A box plot of a spread in every case, and the limit as a line. */
function spreadChart({ cases, limit, quantity, what, colours, width, ariaLabel }) {
  const rows = cases.map(({ name, spread }, index) => ({
    case: name,
    colour: figureColour(index, colours),
    median: spread.median,
    ...spread.box_plot,
  }));
  const ends = cases.flatMap(({ spread }) => [spread.min, spread.max]);
  const unit = quantityUnit(quantity, Math.max(...ends, limit ?? 0));
  const axis = valueAxis(ends, limit, unit, what);
  const label = `at most ${Number(((limit ?? 0) / unit.divisor).toPrecision(4))} ${unit.name}`;
  const before = limit === null ? [] : [limitMark(limit, axis), limitLabel(label, limit, axis, -9)];
  const marginLeft = labelRoom(rows.map((row) => row.case), width);
  return boxPlot({ rows, axis, width, marginLeft, ariaLabel, before, labelled: limit !== null });
}

function drawErrors(trajectory, width) {
  const compared = trajectory.cases.filter((run) => run.error_um !== null);
  if (compared.length === 0) return;
  const chart = spreadChart({
    cases: compared.map((run) => ({ name: run.case, spread: run.error_um })),
    limit: trajectory.median_limit_um,
    quantity: "length",
    what: "error of a position",
    colours: trajectory.cases.length,
    width,
    ariaLabel: `Errors of ${trajectory.name}, box plots`,
  });
  document.querySelector(`[data-errors="${trajectory.index}"]`).replaceChildren(chart);
}

function drawMeasure(measure, width) {
  if (measure.cases.length === 0) return;
  const chart = spreadChart({
    cases: measure.cases.map((run) => ({ name: run.case, spread: run.values })),
    limit: measure.limit,
    quantity: measure.quantity,
    what: measure.name,
    colours: measure.cases.length,
    width,
    ariaLabel: `${measure.name}, box plots`,
  });
  document.querySelector(`[data-measure="${measure.index}"]`).replaceChildren(chart);
}

/** Draws everything of how right the work was. */
function drawAccuracy(page, width) {
  for (const trajectory of page.trajectories) {
    drawTrajectory(trajectory, width);
    drawErrors(trajectory, width);
  }
  for (const measure of page.measures) drawMeasure(measure, width);
}
