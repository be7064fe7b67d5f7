"""The HTML report in a real browser."""

import pytest


@pytest.fixture
def page(browser, sample):
    """The sample report, opened from its file; fails on any error or request."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
    page = context.new_page()
    problems = []
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    url = (sample / "report.html").as_uri()
    page.on("request", lambda request: problems.append(f"request: {request.url}") if request.url != url else None)
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    yield page
    context.close()
    assert problems == []


def window_of(page, case=0):
    """The window of time that a case's timeline shows, in nanoseconds."""
    timeline = page.locator(f'[data-timeline="{case}"] svg')
    return tuple(float(timeline.get_attribute(name)) for name in ("data-start-ns", "data-end-ns"))


def press(page, action):
    page.locator(f'[data-window="{action}"]').click()


def test_the_verdict_comes_first(page):
    heading = page.locator("h1")
    assert "rt-gang" in heading.inner_text()
    assert heading.bounding_box()["y"] < 200
    cards = page.locator(".cards li")
    assert cards.count() == 4
    assert cards.last.bounding_box()["y"] < 800


def drawn(page, selector):
    """Number of elements that match and have an outline."""
    outlines = page.locator(selector).evaluate_all("nodes => nodes.map(node => node.getAttribute('d'))")
    return sum(1 for outline in outlines if outline)


def test_distributions_draw_a_curve_and_a_box_for_every_case(page):
    for task in ("0", "1"):
        figure = f'[data-distribution="{task}"]'
        assert drawn(page, f"{figure} g[aria-label=line] path") == 3
        assert page.locator(f"{figure} g[aria-label=bar] rect").count() == 3


def test_timelines_draw_threads_jobs_and_throttling(page):
    for case in range(4):
        assert drawn(page, f'[data-timeline="{case}"] .slice') >= 1
        assert drawn(page, f'[data-timeline="{case}"] .job') >= 1
    assert drawn(page, '[data-timeline="2"] .job-late') == 1
    assert drawn(page, '[data-timeline="2"] .throttled') == 0
    assert drawn(page, '[data-timeline="3"] .throttled') == 3


def test_bandwidth_draws_traffic_and_budgets(page):
    for case in range(4):
        assert drawn(page, f'[data-bandwidth="{case}"] g[aria-label=area] path') == 4
    assert page.locator('[data-bandwidth="2"] g[aria-label=rule] line').count() == 0
    assert page.locator('[data-bandwidth="3"] g[aria-label=rule] line').count() > 4


def test_trajectories_are_drawn_from_above_to_scale(page):
    figure = '[data-top-view="0"]'
    assert page.locator(f"{figure} .legend li").all_inner_texts() == ["ground truth", "co-run", "rt-gang"]
    assert drawn(page, f"{figure} g[aria-label=line] path") == 3
    ticks = "nodes => nodes.map(node => [node.textContent, node.getAttribute('transform')])"
    scales = []
    for axis, place in (("x", 0), ("y", 1)):
        labels = page.locator(f"{figure} g[aria-label='{axis}-axis tick label'] text").evaluate_all(ticks)
        points = [
            (float(text.replace("−", "-")), float(where[len("translate(") :].split(")")[0].split(",")[place]))
            for text, where in labels
        ]
        (first, start), (last, end) = points[0], points[-1]
        scales.append(abs((end - start) / (last - first)))
    assert scales[0] == pytest.approx(scales[1], rel=0.01), "a metre is as long along both axes"


def test_trajectories_are_drawn_along_each_axis_with_units(page):
    figure = page.locator('[data-coordinates="0"]')
    assert figure.locator("> svg").count() == 3
    assert drawn(page, '[data-coordinates="0"] g[aria-label=line] path') == 9
    text = figure.inner_text()
    for label in ("x (m)", "y (m)", "z (m)", "time (s)"):
        assert label in text


def test_errors_and_measures_have_a_box_for_every_case_and_a_limit(page):
    for figure in ('[data-errors="0"]', '[data-measure="0"]'):
        assert page.locator(f"{figure} g[aria-label=bar] rect").count() == 2
        assert page.locator(figure).get_by_text("at most 0.3 m").count() == 1
    assert "error of a position (m" in page.locator('[data-errors="0"]').inner_text()
    rows = page.locator("#accuracy details table tbody tr")
    assert rows.count() == 4
    assert page.locator("#accuracy td.missed").count() == 2


def test_distributions_show_every_case_and_the_deadline(page):
    figure = page.locator('[data-distribution="0"]')
    assert figure.locator(".legend li").all_inner_texts() == ["solo/dnn", "co-run", "rt-gang"]
    assert figure.get_by_text("deadline 12 ms").count() == 1


def test_timeline_zooms_with_buttons_wheel_and_keys(page):
    start, end = window_of(page)
    press(page, "in")
    zoomed = window_of(page)
    assert zoomed[1] - zoomed[0] == pytest.approx((end - start) / 2)
    timeline = page.locator('[data-timeline="0"] svg')
    timeline.scroll_into_view_if_needed()
    timeline.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    wheeled = window_of(page)
    assert wheeled[1] - wheeled[0] < zoomed[1] - zoomed[0]
    timeline.focus()
    page.keyboard.press("-")
    assert window_of(page)[1] - window_of(page)[0] > wheeled[1] - wheeled[0]


def drag(page, start, end):
    """Drags the pointer from one point to another."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def test_timelines_move_together(page):
    press(page, "right")
    moved = window_of(page)
    assert moved[0] > 0
    timeline = page.locator('[data-timeline="3"] svg')
    timeline.scroll_into_view_if_needed()
    box = timeline.bounding_box()
    drag(page, (box["x"] + 600, box["y"] + 40), (box["x"] + 400, box["y"] + 40))
    dragged = window_of(page)
    assert dragged[0] > moved[0]
    assert all(window_of(page, case) == dragged for case in range(4))


def test_map_chooses_the_window(page):
    press(page, "all")
    whole = window_of(page)
    edge = page.locator("[data-overview] .handle--w")
    edge.scroll_into_view_if_needed()
    box = edge.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    drag(page, (x, y), (x + 400, y))
    start, end = window_of(page)
    assert start > whole[0] and end == whole[1]


def test_next_miss_centres_a_miss(page):
    press(page, "in")
    press(page, "in")
    press(page, "in")
    assert page.locator('[data-timeline="2"] .miss').first.get_attribute("d") == ""
    press(page, "next-miss")
    start, end = window_of(page)
    assert (start + end) / 2 % 20e6 == pytest.approx(12e6), "dnn's deadline is 12 ms after a multiple of 20 ms"
    assert page.locator('[data-timeline="2"] .miss').first.get_attribute("d") != ""


def test_pointer_names_what_ran(page):
    timeline = page.locator('[data-timeline="3"] svg')
    timeline.scroll_into_view_if_needed()
    box = timeline.bounding_box()
    page.mouse.move(box["x"] + 140, box["y"] + 4 + 24 * 2 + 8)
    tip = page.locator('[data-timeline="3"] .tip')
    assert "core 0: dnn/0" in tip.inner_text()


def test_dark_theme_follows_the_system_and_the_button(page):
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    dark = page.evaluate(background)
    assert dark != light
    page.locator("#theme").click()
    assert page.evaluate(background) == light


def test_prints_light_and_without_controls(page, tmp_path):
    page.emulate_media(media="print")
    assert not page.locator(".toolbar").is_visible()
    pdf = page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF")


def test_narrow_screens_do_not_scroll_sideways(page):
    page.set_viewport_size({"width": 420, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
