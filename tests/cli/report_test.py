"""The report of all committed rows: at most 10 MB, without what the next one is built faster from,
and each page opens within 3 s on two cores."""
import shutil
import subprocess
import time

import pytest

from sweeps import RETENSOR, ROOT

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
               None)
LARGEST = 10_000_000
LONGEST = 3.0


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    subprocess.run([RETENSOR, "report", "--out", out], cwd=ROOT, check=True, capture_output=True,
                   timeout=900)
    return out


def opening(address, folder):
    """Seconds until Chromium, started anew, has drawn a page."""
    start = time.monotonic()
    subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                    "--window-size=1400,900", f"--user-data-dir={folder / 'browser'}",
                    f"--screenshot={folder / 'page.png'}", address],
                   check=True, capture_output=True, timeout=60)
    return time.monotonic() - start


def test_the_report_is_small(report):
    sizes = {path: path.stat().st_size for path in report.rglob("*")
             if path.is_file() and path.parent.name != ".parts"}
    assert sum(sizes.values()) <= LARGEST, sorted(sizes.items(), key=lambda item: -item[1])[:9]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_every_page_opens_soon(report, tmp_path):
    empty = min(opening("about:blank", tmp_path) for _ in range(3))
    took = {page.name: min(opening(page.as_uri(), tmp_path) for _ in range(2)) - empty
            for page in report.glob("*.html")}
    assert len(took) > 9 and max(took.values()) <= LONGEST, took


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_slow_page_is_seen(tmp_path):
    page = tmp_path / "slow.html"
    page.write_text("<!DOCTYPE html><script>const end = performance.now() + 4000;"
                    "while (performance.now() < end);</script>")
    assert opening(page.as_uri(), tmp_path) > LONGEST
