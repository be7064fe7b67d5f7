"""Saves what a reader sees first of an HTML report, or of a part of it: screenshot.py REPORT.html IMAGE.png"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("image", type=Path)
    parser.add_argument("--selector", help="the part, such as #accuracy; without one the top of the page")
    parser.add_argument("--height", type=int, default=900, help="at most so many pixels of it")
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    arguments = parser.parse_args()
    executable = shutil.which("chromium") or sys.exit("needs Chromium: apt install chromium")
    with sync_playwright() as driver:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=executable, args=flags)
        page = browser.new_page(viewport={"width": 1280, "height": arguments.height}, color_scheme=arguments.theme)
        page.goto(arguments.report.resolve().as_uri())
        page.wait_for_selector("html[data-ready]")
        if arguments.selector:
            box = page.locator(arguments.selector).bounding_box()
            clip = {**box, "height": min(box["height"], arguments.height)}
            page.screenshot(path=arguments.image, clip=clip, full_page=True)
        else:
            page.screenshot(path=arguments.image)
        browser.close()


main()
