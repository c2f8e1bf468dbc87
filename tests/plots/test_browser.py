"""The report's pages in a headless Chromium, where one is installed: no error on the console, no
overflow on a phone, every image there, every column of every table sorts both ways, text with
contrast in light and dark; claims are searched and filtered and show their rows.
"""
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
import rows
from matplotlib import pyplot

from retensor.results import load_results
from retensor import style
from retensor.report import build_report
from retensor.report.slim import slim
from retensor.spec import find_specs

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
               None)
PROBE = Path(__file__).parent / "probe.js"
PHONE = 360
PAGES = ("index", "pasta", "flycoo", "own", "claims", "tables", "methods", "findings", "machines")
DARK = "--blink-settings=preferredColorScheme=0"

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")


ANSWER = '"FOUND {'  # how the probe's message begins in the browser's log


def until_found(command, limit, pages=1):
    """The messages on the console of a browser that runs until the probe has told what it found on
    so many pages."""
    with subprocess.Popen(command, text=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as browser:
        stop = threading.Timer(limit, browser.kill)
        stop.start()
        lines = []
        for line in browser.stderr:
            lines.append(line)
            pages -= ANSWER in line
            if pages == 0:
                break
        stop.cancel()
        browser.kill()
    return [line for line in lines if ":CONSOLE" in line] or lines or [""]


def look(page, tmp_path, *args, **how):
    """What the probe found on a page, as look_at()."""
    return look_at([page], tmp_path, *args, **how)[0]


def look_at(pages, tmp_path, steps="", address="", options=(), limit=120):
    """What the probe found on each of the pages of a folder, which one browser shows, with the
    messages on the console of all; `told` is what `steps`, an async function's body over `page` and
    its `frame`, returned before anything was unfolded."""
    probe = pages[0].parent / f"probe-{pages[0].name}"
    frames = "".join(f'<iframe src="{page.name}{address}" style="width:{PHONE}px;height:800px;'
                     f'border:0;position:absolute;top:0;left:0"></iframe>' for page in pages)
    probe.write_text(
        f'<!DOCTYPE html>{frames}<script type="text/plain" id="steps">{steps}</script>'
        f'<script>{PROBE.read_text()}</script>')
    lines = until_found(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--allow-file-access-from-files", "--remote-debugging-port=0", *options,
         "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'browser'}", probe.as_uri()],
        limit, len(pages))
    probe.unlink()
    answers = [re.search(r'"FOUND (.+)", source:', line) for line in lines]
    assert sum(map(bool, answers)) == len(pages), lines
    console = [line for line, answer in zip(lines, answers) if not answer]
    found = [json.loads(answer[1]) for answer in answers if answer]
    for one in found:
        assert "error" not in one, one["error"]
    return [one | {"console": console} for one in found]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    long_name = "a-tensor-whose-name-is-longer-than-what-a-phone-shows-in-one-line"
    lines = [*rows.sweep(), rows.row(dataset=long_name, kind="stand-in")]
    lines += [rows.row("mttkrp", long_name, method, 0, name="s1", seconds=[time] * 3)
              for method, time in (("parti.cuda", 0.004), ("blco.cuda", 0.002))]
    lines += [rows.row(artifact="own/sweep", dataset=name, kind="file") for name in "ab"]
    (folder / "fig4.yaml").write_text(rows.SPEC)
    results = load_results([rows.write(folder / "rows.jsonl", lines)])
    known = [{"paper": "pasta", "place": "Fig. 4", "drawing": "",
              "specs": [{"artifact": "pasta/fig4", "state": f"needs data {long_name}"}]}]
    keys = [line["key"] for line in lines if line["kind"] == "row"][:3]
    verdicts = [rows.verdict(place="Fig. 4", keys=keys, set_up=False, asks="measurement",
                             turned_by={"change": "bytes doubled", "factor": 2}),
                rows.verdict(id="P-C17", kind="NUM", holds=False, verdict="does not transfer"),
                rows.verdict(id="F-1", paper="flycoo", holds=None, verdict="fitted")]
    return build_report(results, find_specs(folder), verdicts, folder / "out", [rows.audit()],
                        known)[0].parent


@pytest.fixture(scope="module")
def in_light(report, tmp_path_factory):
    return all_pages(report, tmp_path_factory.mktemp("light"))


@pytest.fixture(scope="module")
def in_dark(report, tmp_path_factory):
    return all_pages(report, tmp_path_factory.mktemp("dark"), options=[DARK],
                     steps="return getComputedStyle(page.body).backgroundColor;")


def all_pages(report, folder, **how):
    """What the probe found on every page, by its name."""
    return dict(zip(PAGES, look_at([report / f"{name}.html" for name in PAGES], folder, **how)))


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_a_phone_and_sort(in_light, name):
    found = in_light[name]
    assert found["width"] == PHONE and (found["tables"] > 0) == (name != "flycoo")
    assert found["problems"] == [] and found["console"] == []


@pytest.mark.parametrize("name", PAGES)
def test_pages_have_contrast_in_the_dark(in_dark, name):
    found = in_dark[name]
    assert found["told"] == "rgb(20, 24, 28)" and found["problems"] == []


SHOWN = """
const seen = () => Array.from(page.querySelectorAll("details.claim:not([hidden])"), c => c.id);
const set = (name, value) => {
  const field = page.forms.filter.elements[name];
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
};
"""


def test_claims_are_searched_and_filtered(report, tmp_path):
    steps = SHOWN + """
    const found = [seen()];
    set("text", "INTENSITY fig. 4"); found.push(seen());
    set("text", "doubled"); found.push(seen());
    set("text", " "); found.push(seen());
    set("paper", "pasta"); found.push(seen());
    set("verdict", "does not transfer"); found.push(seen());
    set("kind", "TAB"); found.push(seen(), page.getElementById("shown").textContent);
    page.forms.filter.reset();
    await new Promise(done => setTimeout(done, 50));
    found.push(seen());
    return found;"""
    told = look(report / "claims.html", tmp_path, steps)["told"]
    everything, pasta = ["claim-P-C16", "claim-P-C17", "claim-F-1"], ["claim-P-C16", "claim-P-C17"]
    assert told == [everything, ["claim-P-C16"], ["claim-P-C16"], everything, pasta,
                    ["claim-P-C17"], [], "0 of 3 claims", everything]
    linked = look(report / "claims.html", tmp_path, SHOWN + "return seen();", "?paper=pasta")
    assert linked["told"] == pasta


LATE = """<script>addEventListener("load", () => setTimeout(() => {
  const script = document.createElement("script");
  script.src = "assets/claims.js";
  document.head.append(script);
}, 100));</script>"""


@pytest.mark.parametrize("late", [False, True], ids=["at once", "the page's script comes late"])
def test_an_address_opens_its_claim_with_the_rows_that_it_took(report, tmp_path, late):
    page = report / "claims.html"
    if late:  # long after the script of tables opened the claim
        script = '<script src="assets/claims.js" defer></script>'
        assert script in page.read_text()
        page = report / "late.html"
        page.write_text((report / "claims.html").read_text().replace(script, LATE))
    steps = """
    const drawer = page.getElementById("claim-P-C16");
    await until(() => drawer.querySelector("tbody a"));
    const rows = Array.from(drawer.querySelectorAll("tbody tr"), row => row.cells[0].textContent);
    return [drawer.open, rows, drawer.querySelector("tbody a").getAttribute("href"),
            drawer.textContent.includes("bytes doubled")];"""
    opened, values, link, turned = look(page, tmp_path, steps, "#claim-P-C16")["told"]
    assert opened and turned and values == ["0.08333", "0.1667", "0.1667"]
    assert link == "machines.html#session-s1"


def test_an_address_opens_what_is_folded(report, tmp_path):
    steps = 'return page.getElementById("session-s1").open;'
    assert look(report / "machines.html", tmp_path, steps, "#session-s1")["told"] is True
    assert look(report / "machines.html", tmp_path, steps)["told"] is False


def test_ditto_marks_are_read_as_what_they_stand_for(report, tmp_path):
    steps = """
    const table = page.querySelector(".tall table");
    return Array.from(table.tBodies[0].rows,
                      row => [row.cells[0].textContent, row.lastElementChild.textContent.trim()]);
    """
    assert '<td>"<td>' in (report / "methods.html").read_text()
    first, second = look(report / "methods.html", tmp_path, steps)["told"]
    assert first == second and first[0].startswith("a-tensor-whose-name") and first[1] != '"'


def test_links_stay_in_the_report(report, tmp_path):
    steps = """
    page.querySelector('nav a[href="pasta.html"]').click();
    await until(() => frame.contentDocument.readyState === "complete" &&
                      frame.contentDocument !== page);
    return frame.contentDocument.title;"""
    assert look(report / "index.html", tmp_path, steps)["told"] == "PASTA: ReTensor report"


def picture(svg, tmp_path):
    """What Chromium draws of a file, as an array of pixels."""
    out = tmp_path / f"{svg.stem}.png"
    subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--user-data-dir={tmp_path / 'browser'}", "--window-size=700,600",
                    f"--screenshot={out}", svg.as_uri()], capture_output=True, timeout=120)
    return pyplot.imread(out)


def test_a_slim_figure_is_the_same_picture(tmp_path):
    figure, axes = pyplot.subplots(1, 2)
    for index, at in enumerate(axes):
        at.plot([1, 20, 400], [1, 3.14159, 2], "o-", clip_on=index == 0)
        at.loglog([1, 9, 50], [4, 4, 1], "s--", markerfacecolor="none")
        at.plot([2, 30, 300], [4, 2, 3], "D", alpha=0.5, markersize=20)
        at.bar([3, 7], [2, 1.5], hatch="//", alpha=0.3)
        at.tick_params(axis="x", rotation=90)
        at.grid(True, which="both")
    whole, small, other = (tmp_path / f"{name}.svg" for name in ("whole", "small", "other"))
    with style.applied():
        figure.savefig(whole)
    shutil.copy(whole, small)
    slim(small)
    assert small.stat().st_size < 0.6 * whole.stat().st_size
    pixels = picture(whole, tmp_path)
    assert pixels.std() > 0.05 and abs(pixels - picture(small, tmp_path)).mean() < 5e-4
    other.write_text(small.read_text().replace('d="m0 0', 'd="m9 9').replace("marker:", ""))
    assert abs(pixels - picture(other, tmp_path)).mean() > 1e-3


@pytest.mark.parametrize("steps, limit, told", [
    ("await until(() => false);", 2, "assert 0 == 1"),
    ("throw new Error('NOT FOUND {');", 120, "Error: NOT FOUND {")])
def test_a_page_that_never_answers_or_throws_fails(tmp_path, steps, limit, told):
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html><p>text</p>")
    with pytest.raises(AssertionError, match=told):
        look(page, tmp_path, steps, limit=limit)


def test_the_probe_finds_planted_faults(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text('<!DOCTYPE html><body><div style="width:600px">wide</div>'
                    '<p style="color:#aaa">faint</p><button></button><div class="scroll"></div>'
                    '<img src="none.png" alt="x">'
                    '<div aria-label="T"><table class="sortable"><thead><tr><th>n</th></tr></thead>'
                    '<tbody><tr><td>2</td></tr><tr><td>1</td></tr></tbody></table></div>'
                    '<script>undefined_function();</script>')
    good = tmp_path / "good.html"
    good.write_text("<!DOCTYPE html><p>text</p>")
    beside, found, after = look_at([good, page, good], tmp_path)
    assert beside["problems"] == after["problems"] == []
    assert any("too little contrast" in problem for problem in found["problems"])
    assert "no name of <button></button>" in found["problems"]
    assert "a part that scrolls takes no focus" in found["problems"]
    assert any("wide in 360" in problem for problem in found["problems"])
    assert any("no image" in problem for problem in found["problems"])
    assert "T: column 0 is not ascending" in found["problems"]
    assert any("undefined_function" in line for line in found["console"])
