// What every core did: one drawing per case, all showing the same window of time.

const LABEL_WIDTH = 110;
const RIGHT_MARGIN = 28;
const GANG_COLOURS = 6;
const ROW_HEIGHT = 24;
const BAR_HEIGHT = 18;
/** Slices closer together than this are drawn as one bar. */
const MERGE_PIXELS = 0.7;
/** A slice at least this wide carries its thread's name. */
const NAME_PIXELS = 46;
const SMALLEST_WINDOW_NS = 1_000;

/** Turns gaps and lengths into start and end times. */
function decodeSlices(packed) {
  const start = [];
  const end = [];
  let time = 0;
  packed.gap_ns.forEach((gap, index) => {
    time += gap;
    start.push(time);
    time += packed.length_ns[index];
    end.push(time);
  });
  return { ...packed, start, end };
}

function decodeCase(run) {
  return {
    ...run,
    cores: run.cores.map((core) => ({
      slices: decodeSlices(core.slices),
      throttled: decodeSlices(core.throttled),
      budgets: decodeSlices(core.budgets),
    })),
  };
}

/** Index range of the slices that overlap the window. */
function visibleRange(slices, window) {
  return [d3.bisectRight(slices.end, window.start), d3.bisectLeft(slices.start, window.end)];
}

/** Rectangles as one path: a timeline has thousands, and elements are dear. */
function rectanglePath(rectangles, y, height) {
  return rectangles
    .map(([x0, x1]) => `M${x0.toFixed(1)} ${y}h${Math.max(x1 - x0, MERGE_PIXELS).toFixed(1)}v${height}H${x0.toFixed(1)}z`)
    .join("");
}

/** Pixel intervals of the visible slices of each group, near neighbours merged. */
function rectanglesByGroup(slices, groupOf, scale, window) {
  const groups = new Map();
  const [first, last] = visibleRange(slices, window);
  for (let i = first; i < last; i++) {
    const x0 = scale(Math.max(slices.start[i], window.start));
    const x1 = scale(Math.min(slices.end[i], window.end));
    const group = groupOf(i);
    if (!groups.has(group)) groups.set(group, []);
    const rectangles = groups.get(group);
    const previous = rectangles.at(-1);
    if (previous && x0 - previous[1] < MERGE_PIXELS && x1 - x0 < 2 * MERGE_PIXELS) previous[1] = Math.max(x1, previous[1]);
    else rectangles.push([x0, x1]);
  }
  return groups;
}

function groupClass(run, group) {
  const { gang, shade } = run.groups[group];
  return gang === null ? `best-effort-${shade}` : `gang-${(gang % GANG_COLOURS) + 1}`;
}

/** The rows of a case, top to bottom: jobs of each task, then the cores. */
function rowsOf(run) {
  const tasks = run.tasks.map((task, index) => ({ kind: "jobs", label: task.name, task, index }));
  const cores = run.cores.map((core, index) => ({ kind: "core", label: `core ${index}`, core, index }));
  return [...tasks, ...cores].map((row, position) => ({ ...row, y: position * ROW_HEIGHT + 4 }));
}

function drawJobs(layer, run, row, scale, window) {
  const { jobs, deadline_ns: deadline } = row.task;
  const y = row.y;
  const releases = [];
  const deadlines = [];
  const kept = [];
  const late = [];
  const crosses = [];
  jobs.released_ns.forEach((released, i) => {
    const finished = jobs.finished_ns[i] ?? run.duration_ns;
    const due = released + deadline;
    if (Math.max(finished, due) < window.start || released > window.end) return;
    const bar = (bars, from, to) => {
      const [x0, x1] = [scale(Math.max(from, window.start)), scale(Math.min(to, window.end))];
      if (x1 > x0) bars.push([x0, x1]);
    };
    bar(kept, released, Math.min(finished, due));
    if (jobs.missed[i]) bar(late, due, finished);
    if (released >= window.start) releases.push(scale(released));
    if (due >= window.start && due <= window.end) {
      deadlines.push(scale(due));
      if (jobs.missed[i]) crosses.push(scale(due));
    }
  });
  const gang = run.groups[row.task.group].gang;
  const colour = `gang-${(gang % GANG_COLOURS) + 1}`;
  const bottom = y + BAR_HEIGHT;
  const path = (name, d) => layer.append("path").attr("class", name).attr("d", d);
  path(`job ${colour}`, rectanglePath(kept, y + 6, BAR_HEIGHT - 8));
  path("job-late", rectanglePath(late, y + 6, BAR_HEIGHT - 8));
  path("release", releases.map((x) => `M${x.toFixed(1)} ${bottom}V${y + 2}m-3 4l3 -4l3 4`).join(""));
  path("due", deadlines.map((x) => `M${x.toFixed(1)} ${y}V${bottom}m-3 -4l3 4l3 -4`).join(""));
  path("miss", crosses.map((x) => `M${(x - 5).toFixed(1)} ${y + 4}l10 10m0 -10l-10 10`).join(""));
}

function drawCore(layer, run, row, scale, window) {
  const { slices, throttled } = row.core;
  const groupOf = (i) => run.threads[slices.what[i]].group;
  for (const [group, rectangles] of rectanglesByGroup(slices, groupOf, scale, window)) {
    layer
      .append("path")
      .attr("class", `slice ${groupClass(run, group)}`)
      .attr("d", rectanglePath(rectangles, row.y, BAR_HEIGHT));
  }
  for (const rectangles of rectanglesByGroup(throttled, () => 0, scale, window).values()) {
    layer
      .append("path")
      .attr("class", "throttled")
      .attr("d", rectanglePath(rectangles, row.y, BAR_HEIGHT));
  }
  const [first, last] = visibleRange(slices, window);
  for (let i = first; i < last; i++) {
    const x0 = scale(Math.max(slices.start[i], window.start));
    const width = scale(Math.min(slices.end[i], window.end)) - x0;
    const { name, group } = run.threads[slices.what[i]];
    if (width < Math.max(NAME_PIXELS, name.length * 7 + 8)) continue;
    layer
      .append("text")
      .attr("class", `slice-name on-${groupClass(run, group)}`)
      .attr("x", x0 + width / 2)
      .attr("y", row.y + BAR_HEIGHT / 2)
      .text(name);
  }
}

/** What is under the pointer, in words. */
function describe(run, row, time) {
  if (row.kind === "core") {
    const { slices, throttled } = row.core;
    const words = [];
    const i = lastAtMost(slices.start, time);
    if (i >= 0 && slices.end[i] > time) {
      words.push(`${run.threads[slices.what[i]].name}, ran ${formatTime(slices.end[i] - slices.start[i])}`);
    }
    const t = lastAtMost(throttled.start, time);
    if (t >= 0 && throttled.end[t] > time) {
      words.push(`throttled for ${formatTime(throttled.end[t] - throttled.start[t])}`);
    }
    return `core ${row.index}: ${words.join("; ") || "idle"}`;
  }
  const { jobs, deadline_ns: deadline, name } = row.task;
  const i = lastAtMost(jobs.released_ns, time);
  if (i < 0) return name;
  const finished = jobs.finished_ns[i];
  const response = finished === null ? "not finished" : `response time ${formatTime(finished - jobs.released_ns[i])}`;
  const missed = jobs.missed[i] ? ", missed" : "";
  return `${name}, job ${jobs.job[i]}: ${response}${missed} (deadline ${formatTime(deadline)})`;
}

/** One case's drawing; `redraw(window)` shows another window of time. */
function caseTimeline(run, width, onZoom) {
  const rows = rowsOf(run);
  const height = rows.length * ROW_HEIGHT + 34;
  const plotRight = width - RIGHT_MARGIN;
  const svg = d3
    .create("svg")
    .attr("class", "timeline")
    .attr("viewBox", [0, 0, width, height])
    .attr("width", width)
    .attr("height", height)
    .attr("role", "img")
    .attr("tabindex", 0)
    .attr("aria-label", `Core timeline of ${run.case}; plus and minus zoom, arrow keys move`);
  svg
    .append("g")
    .selectAll("text")
    .data(rows)
    .join("text")
    .attr("class", (row) => `row-label ${row.kind}`)
    .attr("x", LABEL_WIDTH - 10)
    .attr("y", (row) => row.y + BAR_HEIGHT / 2)
    .text((row) => (row.label.length > 15 ? `${row.label.slice(0, 14)}…` : row.label));
  svg
    .append("g")
    .selectAll("rect")
    .data(rows.filter((row) => row.kind === "core"))
    .join("rect")
    .attr("class", "idle")
    .attr("x", LABEL_WIDTH)
    .attr("width", plotRight - LABEL_WIDTH)
    .attr("y", (row) => row.y)
    .attr("height", BAR_HEIGHT);
  const layer = svg.append("g");
  const axis = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${rows.length * ROW_HEIGHT + 6})`);
  const scale = d3.scaleLinear().range([LABEL_WIDTH, plotRight]);

  const tip = element("div", { class: "tip", hidden: "" });
  svg.on("pointermove", (event) => {
    const [x, y] = d3.pointer(event, svg.node());
    const row = rows[Math.floor((y - 4) / ROW_HEIGHT)];
    tip.hidden = !row || x < LABEL_WIDTH || x > plotRight;
    if (tip.hidden) return;
    const time = scale.invert(x);
    tip.textContent = `${formatTime(time)} · ${describe(run, row, time)}`;
    tip.style.left = `${Math.min(x + 14, width - tip.offsetWidth - 4)}px`;
    tip.style.top = `${y + 18}px`;
  });
  svg.on("pointerleave", () => {
    tip.hidden = true;
  });
  onZoom(svg, scale);

  function redraw(window) {
    scale.domain([window.start, window.end]);
    svg.attr("data-start-ns", window.start).attr("data-end-ns", window.end);
    layer.selectAll("*").remove();
    for (const row of rows) (row.kind === "core" ? drawCore : drawJobs)(layer, run, row, scale, window);
    const unit = timeUnit(window.end);
    const inUnit = scale.copy().domain([window.start / unit.divisor, window.end / unit.divisor]);
    axis.call(d3.axisBottom(inUnit).ticks(width / 110).tickFormat((value) => `${Number(value.toPrecision(9))} ${unit.name}`));
  }
  return { nodes: [svg.node(), tip], redraw };
}
