// Response times of a task: the distribution in every case, and its summary.

const DASHES = ["none", "7 3", "2 3", "9 3 2 3"];
/** Above this ratio of longest to shortest response the axis is logarithmic. */
const LOG_AXIS_RATIO = 30;

/** The axis that both charts of a task share, so that they line up. */
function responseAxis(task) {
  const values = task.cases.flatMap((run) => [run.cdf.response_ns.at(0), run.cdf.response_ns.at(-1)]);
  const longest = Math.max(...values, task.deadline_ns);
  const shortest = Math.min(...values, task.deadline_ns);
  const unit = timeUnit(longest);
  const logarithmic = longest > shortest * LOG_AXIS_RATIO && shortest > 0;
  const domain = [logarithmic ? shortest * 0.8 : 0, longest * 1.05];
  return {
    divisor: unit.divisor,
    name: unit.name,
    options: {
      type: logarithmic ? "log" : "linear",
      domain: domain.map((ns) => ns / unit.divisor),
      label: `response time (${unit.name}${logarithmic ? ", logarithmic" : ""}) →`,
      tickFormat: logarithmic ? "~g" : undefined,
    },
  };
}

function deadlineMark(task, axis) {
  return Plot.ruleX([task.deadline_ns / axis.divisor], {
    strokeWidth: 1.5,
    strokeDasharray: "5 3",
  });
}

function deadlineLabel(task, axis) {
  const nearRight = task.deadline_ns / axis.divisor > axis.options.domain[1] * 0.8;
  return Plot.text([`deadline ${formatTime(task.deadline_ns)}`], {
    x: task.deadline_ns / axis.divisor,
    frameAnchor: "top",
    textAnchor: nearRight ? "end" : "start",
    dx: nearRight ? -6 : 6,
    dy: 10,
    fill: "currentColor",
    stroke: "var(--surface)",
    strokeWidth: 4,
  });
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
    marks: [Plot.ruleY([0]), deadlineMark(task, axis), ...lines, deadlineLabel(task, axis)],
  });
}

/** Box plots after Tukey: quartiles, whiskers within 1.5 interquartile ranges, outliers. */
function boxChart(task, caseNames, width) {
  const axis = responseAxis(task);
  const inUnit = (key) => (run) => run.box[key] / axis.divisor;
  const outliers = task.cases.flatMap((run) =>
    run.box.outliers_ns.map((ns) => ({ case: run.case, response: ns / axis.divisor })),
  );
  const row = { y: "case", stroke: (run) => caseColour(caseNames, run.case) };
  return Plot.plot({
    width,
    height: 52 + 34 * task.cases.length,
    marginLeft: 110,
    marginTop: 6,
    marginBottom: 38,
    ariaLabel: `Response times of ${task.name}, box plots`,
    x: { ...axis.options, grid: true },
    y: { domain: task.cases.map((run) => run.case), label: null, tickSize: 0 },
    marks: [
      deadlineMark(task, axis),
      Plot.ruleY(task.cases, { ...row, x1: inUnit("lower_whisker_ns"), x2: inUnit("upper_whisker_ns"), strokeWidth: 1.5 }),
      ...["lower_whisker_ns", "upper_whisker_ns"].map((key) =>
        Plot.tickX(task.cases, { ...row, x: inUnit(key), strokeWidth: 1.5, inset: 8 }),
      ),
      Plot.barX(task.cases, {
        x1: inUnit("lower_quartile_ns"),
        x2: inUnit("upper_quartile_ns"),
        y: "case",
        fill: row.stroke,
        inset: 3,
      }),
      Plot.tickX(task.cases, { ...row, x: inUnit("median_ns"), stroke: "var(--surface)", strokeWidth: 2.5, inset: 3 }),
      Plot.dot(outliers, { ...row, x: "response", r: 2.5 }),
    ],
  });
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
