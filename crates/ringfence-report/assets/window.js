// The window of time that all timelines show: its map, buttons, keys and gestures.

/** Strips of the whole run, one per case, with misses marked and the window on top. */
function overview(runs, width, total, onBrush) {
  const strip = 14;
  const height = runs.length * strip + 24;
  const scale = d3.scaleLinear([0, total], [LABEL_WIDTH, width - RIGHT_MARGIN]);
  const svg = d3
    .create("svg")
    .attr("class", "overview")
    .attr("viewBox", [0, 0, width, height])
    .attr("width", width)
    .attr("height", height)
    .attr("role", "img")
    .attr("aria-label", "The whole run; missed deadlines are marked. Drag to choose the window.");
  runs.forEach((run, index) => {
    const y = index * strip;
    const misses = run.tasks.flatMap(({ jobs, deadline_ns: deadline }) =>
      jobs.released_ns.filter((_, i) => jobs.missed[i]).map((released) => Math.min(released + deadline, total)),
    );
    svg.append("rect").attr("class", "idle").attr("x", LABEL_WIDTH).attr("y", y + 2);
    svg.select("rect:last-of-type").attr("width", scale(run.duration_ns) - LABEL_WIDTH).attr("height", strip - 3);
    svg
      .append("path")
      .attr("class", "miss-tick")
      .attr("d", misses.map((time) => `M${scale(time).toFixed(1)} ${y + 2}v${strip - 3}`).join(""));
    svg.append("text").attr("class", "row-label").attr("x", LABEL_WIDTH - 10).attr("y", y + strip / 2 + 1).text(run.case);
  });
  const unit = timeUnit(total);
  svg
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(0,${runs.length * strip + 3})`)
    .call(d3.axisBottom(scale.copy().domain([0, total / unit.divisor])).ticks(width / 110).tickFormat((value) => `${value} ${unit.name}`));
  const brush = d3
    .brushX()
    .extent([
      [LABEL_WIDTH, 0],
      [width - RIGHT_MARGIN, runs.length * strip + 3],
    ])
    .on("brush end", (event) => {
      if (!event.sourceEvent) return;
      if (event.selection) onBrush(...event.selection.map(scale.invert));
      else if (event.type === "end") onBrush(0, total);
    });
  const group = svg.append("g").attr("class", "brush").call(brush);
  return {
    node: svg.node(),
    show: (window) => group.call(brush.move, [scale(window.start), scale(window.end)]),
  };
}

/** A first window in which single jobs can be told apart: a few of the longest periods. */
function firstWindow(runs, total) {
  const periods = runs.flatMap((run) => run.tasks.map((task) => task.period_ns));
  const length = periods.length > 0 ? 4 * Math.max(...periods) : total;
  return { start: 0, end: Math.min(total, length) };
}

/** Draws overview, timelines and bandwidth of all cases, and keeps them in step. */
function drawTimelines(page, width, previous) {
  if (page.timelines.length === 0) return undefined;
  const runs = page.timelines.map(decodeCase);
  const total = Math.max(...runs.map((run) => run.duration_ns), 1);
  let shown = previous ?? firstWindow(runs, total);
  const highest = highestTraffic(runs);
  let slow;

  function show(start, end) {
    const length = Math.min(Math.max(end - start, SMALLEST_WINDOW_NS), total);
    const from = Math.min(Math.max(start, 0), total - length);
    shown = { start: from, end: from + length };
    map.show(shown);
    for (const drawing of drawings) drawing.redraw(shown);
    clearTimeout(slow);
    slow = setTimeout(drawBandwidths, 150);
  }
  const zoom = (factor, centre = (shown.start + shown.end) / 2) =>
    show(centre - (centre - shown.start) * factor, centre + (shown.end - centre) * factor);
  const move = (share) => {
    const step = (shown.end - shown.start) * share;
    show(shown.start + step, shown.end + step);
  };
  const jumpToMiss = (direction) => {
    const centre = (shown.start + shown.end) / 2;
    const times = runs.flatMap((run) =>
      run.tasks.flatMap(({ jobs, deadline_ns: deadline }) =>
        jobs.released_ns.filter((_, i) => jobs.missed[i]).map((released) => released + deadline),
      ),
    );
    const ahead = times.filter((time) => (time - centre) * direction > 1);
    if (ahead.length === 0) return;
    const next = direction > 0 ? Math.min(...ahead) : Math.max(...ahead);
    show(shown.start + next - centre, shown.end + next - centre);
  };

  function gestures(svg, scale) {
    svg.on("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) zoom(2 ** (event.deltaY / 200), scale.invert(d3.pointer(event)[0]));
      else move((event.deltaX || event.deltaY) / width);
    });
    svg.call(
      d3.drag().on("drag", (event) => {
        const step = scale.invert(0) - scale.invert(event.dx);
        show(shown.start + step, shown.end + step);
      }),
    );
    svg.on("dblclick", (event) => zoom(0.5, scale.invert(d3.pointer(event)[0])));
    svg.on("keydown", (event) => {
      const action = {
        "+": () => zoom(0.5),
        "=": () => zoom(0.5),
        "-": () => zoom(2),
        ArrowLeft: () => move(-0.2),
        ArrowRight: () => move(0.2),
        Home: () => show(0, shown.end - shown.start),
        End: () => show(total - (shown.end - shown.start), total),
      }[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }

  const map = overview(runs, width, total, show);
  const drawings = runs.map((run) => caseTimeline(run, width, gestures));
  const bandwidths = runs.map((_, index) => document.querySelector(`[data-bandwidth="${index}"]`));
  function drawBandwidths() {
    runs.forEach((run, index) => bandwidths[index]?.replaceChildren(bandwidthChart(run, shown, width, highest)));
  }

  document.querySelector("[data-overview]").replaceChildren(map.node);
  drawings.forEach((drawing, index) => {
    document.querySelector(`[data-timeline="${index}"]`).replaceChildren(...drawing.nodes);
  });
  const actions = {
    in: () => zoom(0.5),
    out: () => zoom(2),
    left: () => move(-0.5),
    right: () => move(0.5),
    all: () => show(0, total),
    "previous-miss": () => jumpToMiss(-1),
    "next-miss": () => jumpToMiss(1),
  };
  for (const button of document.querySelectorAll("[data-window]")) button.onclick = actions[button.dataset.window];
  show(shown.start, shown.end);
  drawBandwidths();
  return () => shown;
}
