"""Saves what a reader sees first of an HTML report: screenshot.py REPORT.html IMAGE.png"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    report, image = map(Path, sys.argv[1:])
    executable = shutil.which("chromium") or sys.exit("needs Chromium: apt install chromium")
    with sync_playwright() as driver:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=executable, args=arguments)
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_selector("html[data-ready]")
        page.screenshot(path=image)
        browser.close()


main()
