"""Fixtures of the report tests: the sample reports and a browser."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """Directory with every report of the made-up sample run."""
    folder = tmp_path_factory.mktemp("sample")
    command = ["cargo", "run", "--quiet", "--locked", "--package", "ringfence-report"]
    subprocess.run([*command, "--example", "sample", "--", folder], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium; without one the tests are skipped, but never in CI."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        reason = "the HTML report's tests need Chromium: apt install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        # Chromium's sandbox does not start for root, which containers run as.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = driver.chromium.launch(executable_path=executable, args=arguments)
        yield chromium
        chromium.close()
