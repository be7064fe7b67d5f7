"""The HTML report in a real browser."""

import pytest

SVG = "svg path[d], svg rect, svg line"


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


def test_every_chart_has_marks(page):
    figures = page.locator("figure")
    assert figures.count() >= 2 + 1 + 4
    for figure in figures.all():
        assert figure.locator(SVG).count() >= 5


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


def test_timelines_move_together(page):
    press(page, "right")
    moved = window_of(page)
    assert moved[0] > 0
    box = page.locator('[data-timeline="3"] svg').bounding_box()
    page.mouse.move(box["x"] + 600, box["y"] + 40)
    page.locator('[data-timeline="3"] svg').scroll_into_view_if_needed()
    box = page.locator('[data-timeline="3"] svg').bounding_box()
    page.mouse.move(box["x"] + 600, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 40, steps=4)
    page.mouse.up()
    dragged = window_of(page)
    assert dragged[0] > moved[0]
    assert all(window_of(page, case) == dragged for case in range(4))


def test_map_chooses_the_window(page):
    press(page, "all")
    whole = window_of(page)
    overview = page.locator("[data-overview] svg")
    overview.scroll_into_view_if_needed()
    box = overview.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 8, steps=4)
    page.mouse.up()
    start, end = window_of(page)
    # The whole run was selected, so dragging inside it moves nothing; dragging its edge would.
    assert (start, end) == whole or end - start < whole[1] - whole[0]


def test_next_miss_centres_a_miss(page):
    press(page, "next-miss")
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
