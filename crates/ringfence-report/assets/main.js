// Starts the page: draws everything, and again when the width changes.

const page = JSON.parse(document.getElementById("report-data").textContent);
const PRINT_WIDTH = 1000;
let windowShown;
let drawnWidth = 0;

function draw(width) {
  if (width === drawnWidth) return;
  drawnWidth = width;
  drawDistributions(page, width);
  drawAccuracy(page, width);
  windowShown = drawTimelines(page, width, windowShown?.());
}

const availableWidth = () => Math.max(320, document.querySelector("main section").clientWidth);

document.getElementById("theme").addEventListener("click", () => {
  const { dataset } = document.documentElement;
  dataset.theme = dataset.theme === "dark" ? "light" : "dark";
});
addEventListener("beforeprint", () => draw(PRINT_WIDTH));
addEventListener("afterprint", () => draw(availableWidth()));
new ResizeObserver(() => requestAnimationFrame(() => draw(availableWidth()))).observe(document.querySelector("main"));
draw(availableWidth());
document.documentElement.dataset.ready = "true";
