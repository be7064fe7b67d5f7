"""Fixtures of the report tests: the sample reports and a browser."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
# Where `make built` puts programs.
BUILT = Path(os.environ.get("RINGFENCE_BUILT", ROOT / "target/debug"))


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """Directory with every report of the made-up sample run."""
    folder = tmp_path_factory.mktemp("sample")
    subprocess.run([BUILT / "examples/sample", folder], check=True)
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
    with sync_playwright() as driver:
        # Chromium's sandbox does not start for root, which containers run as.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = driver.chromium.launch(executable_path=executable, args=arguments)
        yield chromium
        chromium.close()
