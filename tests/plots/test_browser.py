"""The report's pages in a headless Chromium, where one is installed: no error on the console, no
overflow on a phone, every image there, every column of every table sorts both ways.
"""
import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import rows

from plots.load import load_results
from plots.report import build_report
from plots.spec import find_specs

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
               None)
PROBE = Path(__file__).parent / "probe.js"
PHONE = 360
PAGES = ("index", "pasta", "flycoo", "methods", "findings")

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")


def look(page, tmp_path):
    """What the probe found on a page, with the messages on its console."""
    probe = page.parent / f"probe-{page.name}"
    probe.write_text(
        f'<!DOCTYPE html><iframe src="{page.name}" style="width:{PHONE}px;height:800px;border:0">'
        f'</iframe><pre id="result"></pre><script>{PROBE.read_text()}</script>')
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--allow-file-access-from-files",
         "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom",
         probe.as_uri()], text=True, capture_output=True, timeout=120)
    found = re.search(r'<pre id="result">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    return json.loads(html.unescape(found[1])) | {
        "console": [line for line in done.stderr.splitlines() if ":CONSOLE" in line]}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    long_name = "a-tensor-whose-name-is-longer-than-what-a-phone-shows-in-one-line"
    lines = [*rows.sweep(), rows.row(dataset=long_name, kind="stand-in")]
    lines += [rows.row("mttkrp", long_name, method, 0, name="s1", seconds=[time] * 3)
              for method, time in (("parti.cuda", 0.004), ("blco.cuda", 0.002))]
    (folder / "fig4.yaml").write_text(rows.SPEC)
    results = load_results([rows.write(folder / "rows.jsonl", lines)])
    known = [{"paper": "pasta", "place": "Fig. 4", "drawing": "",
              "specs": [{"artifact": "pasta/fig4", "state": f"needs data {long_name}"}]}]
    verdicts = [rows.verdict(place="Fig. 4"), rows.verdict(id="F-1", paper="flycoo")]
    return build_report(results, find_specs(folder), verdicts, folder / "out", [rows.audit()],
                        known)[0].parent


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_a_phone_and_sort(report, tmp_path, name):
    found = look(report / f"{name}.html", tmp_path)
    assert found["width"] == PHONE and found["tables"] > 0
    assert found["problems"] == [] and found["console"] == []


def test_the_probe_finds_planted_faults(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text('<!DOCTYPE html><body><div style="width:600px">wide</div>'
                    '<img src="none.png" alt="x">'
                    '<div aria-label="T"><table class="sortable"><thead><tr><th>n</th></tr></thead>'
                    '<tbody><tr><td>2</td></tr><tr><td>1</td></tr></tbody></table></div>'
                    '<script>undefined_function();</script>')
    found = look(page, tmp_path)
    assert any("wide in 360" in problem for problem in found["problems"])
    assert any("no image" in problem for problem in found["problems"])
    assert "T: column 0 is not ascending" in found["problems"]
    assert any("undefined_function" in line for line in found["console"])
