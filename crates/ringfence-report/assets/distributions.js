// Response times of a task: the distribution in every case, and its summary.

const DASHES = ["none", "7 3", "2 3", "9 3 2 3"];

/** The axis that both charts of a task share, so that they line up. */
function responseAxis(task) {
  const values = task.cases.flatMap((run) => [run.cdf.response_ns.at(0), run.cdf.response_ns.at(-1)]);
  return valueAxis(values, task.deadline_ns, timeUnit(Math.max(...values, task.deadline_ns)), "response time");
}

function deadlineLabel(task, axis) {
  return limitLabel(`deadline ${formatTime(task.deadline_ns)}`, task.deadline_ns, axis, 10);
}

/** Cumulative distribution: at x, the share of jobs with a response time of at most x. */
function distributionChart(task, caseNames, width) {
  const axis = responseAxis(task);
  const lines = task.cases.map((run, index) => {
    const points = run.cdf.response_ns.map((ns, i) => ({
      response: ns / axis.divisor,
      share: run.cdf.share[i],
    }));
    points.unshift({ response: points[0].response, share: 0 });
    points.push({ response: axis.options.domain[1], share: points.at(-1).share });
    return Plot.line(points, {
      x: "response",
      y: "share",
      curve: "step-after",
      stroke: caseColour(caseNames, run.case),
      strokeWidth: 2.2,
      strokeDasharray: DASHES[index % DASHES.length],
    });
  });
  return Plot.plot({
    width,
    height: 266,
    marginLeft: 110,
    marginTop: 24,
    marginBottom: 12,
    ariaLabel: `Response times of ${task.name}, cumulative distribution`,
    x: { ...axis.options, label: null, tickFormat: () => "", grid: true },
    y: { domain: [0, 1], label: "share of jobs", tickFormat: "%", grid: true, ticks: 5 },
    marks: [Plot.ruleY([0]), limitMark(task.deadline_ns, axis), ...lines, deadlineLabel(task, axis)],
  });
}

/** Box plots after Tukey: quartiles, whiskers within 1.5 interquartile ranges, outliers. */
function boxChart(task, caseNames, width) {
  const axis = responseAxis(task);
  const rows = task.cases.map(({ case: name, box }) => ({
    case: name,
    colour: caseColour(caseNames, name),
    lower_whisker: box.lower_whisker_ns,
    lower_quartile: box.lower_quartile_ns,
    median: box.median_ns,
    upper_quartile: box.upper_quartile_ns,
    upper_whisker: box.upper_whisker_ns,
    outliers: box.outliers_ns,
  }));
  const ariaLabel = `Response times of ${task.name}, box plots`;
  return boxPlot({ rows, axis, width, marginLeft: 110, ariaLabel, before: [limitMark(task.deadline_ns, axis)] });
}

/** Line samples of the cases, in the colours and dashes of the chart. */
function caseLegend(task, caseNames) {
  const list = element("ul", { class: "legend" });
  task.cases.forEach((run, index) => {
    const sample = d3.create("svg").attr("width", 30).attr("height", 10).attr("aria-hidden", "true");
    sample
      .append("path")
      .attr("d", "M0 5h30")
      .attr("stroke", caseColour(caseNames, run.case))
      .attr("stroke-width", 3)
      .attr("stroke-dasharray", DASHES[index % DASHES.length]);
    list.append(element("li", {}, sample.node(), run.case));
  });
  return list;
}

/** Draws both charts of every task into its figure. */
function drawDistributions(page, width) {
  for (const task of page.tasks) {
    const figure = document.querySelector(`[data-distribution="${task.index}"]`);
    figure.replaceChildren(
      caseLegend(task, page.case_names),
      distributionChart(task, page.case_names, width),
      boxChart(task, page.case_names, width),
    );
  }
}
