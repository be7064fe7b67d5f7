// Memory traffic over time, one strip per core, with the budget as a line.

/** The stretches inside the window as points, each at its begin and its end. */
function bandwidthPoints(run, window) {
  return run.bandwidth.flatMap((core, index) => {
    const end = (i) => core.start_ns[i] + core.length_ns[i];
    const first = Math.max(0, lastAtMost(core.start_ns, window.start));
    const last = d3.bisectLeft(core.start_ns, window.end);
    return d3.range(first, last).flatMap((i) => {
      const point = { core: index, all: core.all[i], read: core.best_effort_read[i], write: core.best_effort_write[i] };
      return [
        { ...point, time: Math.max(core.start_ns[i], window.start) },
        { ...point, time: Math.min(end(i), window.end) },
      ];
    });
  });
}

/** The read budgets in force, clipped to the window. */
function budgetSegments(run, window) {
  return run.cores.flatMap(({ budgets }, index) => {
    const [first, last] = visibleRange(budgets, window);
    return d3.range(first, last).map((i) => ({
      core: index,
      start: Math.max(budgets.start[i], window.start),
      end: Math.min(budgets.end[i], window.end),
      budget: run.budget_levels[budgets.what[i]],
    }));
  });
}

/** Highest traffic of all cases in MB/s: they share a scale. */
function highestTraffic(runs) {
  return Math.max(1, ...runs.flatMap((run) => run.bandwidth.map((core) => d3.max(core.all) ?? 0))) / 1e6;
}

/** `highest` in round numbers, and the powers of ten below it that have room. */
function trafficTicks(highest) {
  const powers = d3.range(0, Math.log10(highest)).map((power) => 10 ** power);
  return [...powers.filter((power) => power > highest / 80 && power < highest / 2), d3.tickStep(0, highest, 1)];
}

/** The scale is a square root: a budget is small beside what a core could use. */
function bandwidthChart(run, window, width, highest) {
  const unit = timeUnit(window.end);
  const points = bandwidthPoints(run, window);
  const time = (point) => point.time / unit.divisor;
  const mega = (key) => (point) => point[key] / 1e6;
  const hasBestEffort = run.bandwidth.map((core) => d3.some(core.best_effort_read, (rate) => rate > 0));
  const bestEffort = points.filter((point) => hasBestEffort[point.core]);
  const facet = { fy: "core" };
  return Plot.plot({
    width,
    height: 30 + 60 * run.cores.length,
    marginLeft: LABEL_WIDTH,
    marginRight: RIGHT_MARGIN,
    marginTop: 8,
    ariaLabel: `Memory traffic per core in ${run.case}`,
    x: {
      domain: [window.start / unit.divisor, window.end / unit.divisor],
      label: null,
      ticks: width / 110,
      tickFormat: (value) => `${Number(value.toPrecision(9))} ${unit.name}`,
    },
    y: { type: "sqrt", label: null, ticks: trafficTicks(highest), grid: true, domain: [0, highest] },
    fy: { label: null, axis: null, padding: 0.22, domain: run.cores.map((_, index) => index) },
    marks: [
      Plot.areaY(points, { ...facet, x: time, y1: 0, y2: mega("all"), fill: "var(--traffic-all)" }),
      Plot.lineY(bestEffort, { ...facet, x: time, y: mega("read"), stroke: "var(--traffic-read)", strokeWidth: 1.6 }),
      Plot.lineY(bestEffort, { ...facet, x: time, y: mega("write"), stroke: "var(--traffic-write)", strokeWidth: 1.6, strokeDasharray: "5 2" }),
      Plot.ruleY(budgetSegments(run, window), {
        ...facet,
        x1: (segment) => segment.start / unit.divisor,
        x2: (segment) => segment.end / unit.divisor,
        y: mega("budget"),
        stroke: "var(--missed)",
        strokeWidth: 2,
      }),
      Plot.text(d3.range(run.cores.length), {
        fy: (core) => core,
        text: (core) => `core ${core}`,
        frameAnchor: "left",
        dx: -LABEL_WIDTH + 44,
        textAnchor: "end",
      }),
    ],
  });
}
