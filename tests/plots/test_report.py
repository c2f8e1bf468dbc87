"""The report: complete, well-formed, self-contained, honest about what failed; and the CLI."""
import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
import rows

from plots.cli import main
from plots.errors import PlotError
from plots.load import load_results
from plots.report import build_report
from plots.report.counters import Counters
from plots.report.processes import run_all
from plots.spec import find_specs

ROOT = Path(__file__).parents[2]
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Tags, ids, links and text of a page; `problems` lists tags that do not balance."""

    def __init__(self, path):
        super().__init__()
        self.open, self.problems, self.ids, self.links = [], [], [], []
        self.text, self.images = "", []
        self.feed(path.read_text(encoding="utf-8"))
        self.problems += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values[name] for name in ("href", "src") if name in values]
        self.images += [values] if tag == "img" else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("report")
    lines = [*rows.sweep(), rows.row(dataset="gamma", kind="stand-in", status="oom",
                                     reason="needs 9 GiB & <more>"),
             rows.row(artifact="hlsto/fig7", dataset="delta", kind="generated")]
    specs = tmp_path / "specs" / "pasta"
    specs.mkdir(parents=True)
    (specs / "fig4.yaml").write_text(rows.SPEC)
    (specs / "again.yaml").write_text(rows.SPEC.replace("grouped-bars", "lines"))
    (specs / "never.yaml").write_text(rows.SPEC.replace("pasta/fig4", "pasta/fig9"))
    (specs / "shared.yaml").write_text("schema: 1\naxes: {dataset: [alpha]}\n")
    verdicts = [rows.verdict(), rows.verdict(id="F-C1", paper="flycoo", verdict="not tested",
                                             published={"at_least": 2.0, "unit": "times"},
                                             holds=None, measured=None, ratio=None,
                                             reason="no <GPU> here")]
    results = load_results([rows.write(tmp_path / "rows.jsonl", lines)])
    page, failures = build_report(results, find_specs(tmp_path / "specs"), verdicts,
                                  tmp_path / "out", [rows.audit()])
    assert failures == []
    return page.parent


def test_pages_are_balanced_and_ids_unique(report):
    pages = sorted(path.name for path in report.glob("*.html"))
    assert pages == ["findings.html", "flycoo.html", "hlsto.html", "index.html", "methods.html",
                     "pasta.html"]
    for name in pages:
        page = Page(report / name)
        assert page.problems == []
        assert len(page.ids) == len(set(page.ids))


def test_the_balance_check_can_fail(tmp_path):
    (tmp_path / "bad.html").write_text("<p><b>text</p>")
    assert Page(tmp_path / "bad.html").problems


def test_every_link_resolves_inside_the_report(report):
    pages = {path.name: Page(path) for path in report.glob("*.html")}
    for name, page in pages.items():
        for link in page.links:
            if link == "data:,":
                continue
            assert "//" not in link and not link.startswith("/"), link
            path, _, anchor = unquote(link).partition("#")
            assert (report / (path or name)).is_file(), link
            assert not anchor or anchor in pages[path or name].ids, link


def test_nothing_is_loaded_from_elsewhere(report):
    for path in [*report.glob("*.html"), *report.glob("assets/*")]:
        text = path.read_text()
        assert "http:" not in text and "https:" not in text and "@import" not in text


def test_figures_have_alternative_texts_and_labels(report):
    images = Page(report / "pasta.html").images
    assert {image["src"] for image in images} == {
        f"figures/pasta/{folder}/fig4.stand-in.svg" for folder in ("fig4", "again")}
    for image in images:
        assert "16 of 17 cases ok" in image["alt"] and "stand-in data: gamma" in image["alt"]


def test_the_page_holds_values_failures_provenance_and_claims(report):
    text = Page(report / "pasta.html").text
    for part in ("oom: needs 9 GiB & <more>", "stand-in data: gamma", "0123456789ab",
                 "retensor run", "P-C16", "consistent", "0.125 flop/byte",
                 "\N{PLUS-MINUS SIGN}0.1%", "Not run"):
        assert part in text
    start = Page(report / "index.html").text
    for part in ("18 cases: 17 ok, 1 oom", "Fixture CPU", "gcc 12.2", "copy_dram",
                 "retensor run 'a spec.yaml'", "not tested", "0123456789abcdef"):
        assert part in start
    assert "/somewhere" not in start
    flycoo = Page(report / "flycoo.html").text
    assert "no <GPU> here" in flycoo and "at least 2 times" in flycoo


def test_findings_stand_by_severity_with_their_readings_and_tests(report):
    page = Page(report / "findings.html")
    found = [name for name in page.ids if name in ("P-A01", "P-A02", "P-L01")]
    assert found == ["P-L01", "P-A01"]  # what fits is no finding
    for part in ("P-A01 says <this>", "2 checks fit, 1 do not, 0 are open", "1 of 2, 1 open",
                 "t.a.2: 4 as 2; and 2 other digits", "A < loop", "c < d"):
        assert part in page.text
    assert "t.a.3" not in page.text
    lines = (report / "findings.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 + 1 + 1 and "t.a.3" in lines[1]
    start = Page(report / "index.html")
    assert "findings.html#pasta" in start.links


def test_a_report_without_audits_says_so(tmp_path):
    results = load_results([rows.write(tmp_path / "rows.jsonl", rows.sweep())])
    build_report(results, [], [], tmp_path / "out")
    for name in ("index", "findings"):
        assert "No audit was given" in Page(tmp_path / "out" / f"{name}.html").text


@pytest.mark.parametrize("audit, message", [
    ({"paper": "pasta"}, "audit 0: no fit"),
    (rows.audit(listings=[{"severity": "grave"}]), "found severity 'grave'")])
def test_bad_audits_are_refused(tmp_path, audit, message):
    results = load_results([rows.write(tmp_path / "rows.jsonl", rows.sweep())])
    with pytest.raises(PlotError, match=message):
        build_report(results, [], [], tmp_path / "out", [audit])


def test_rows_without_a_spec_are_shown_as_a_table(report):
    page = Page(report / "hlsto.html")
    assert "fig7" in page.ids and "no spec" in page.text
    assert not page.images and "figures/hlsto/fig7.generated.csv" in page.links


def test_what_cannot_be_drawn_is_named(tmp_path):
    (tmp_path / "bad.yaml").write_text(rows.SPEC.replace("gflops", "gflopps"))
    results = load_results([rows.write(tmp_path / "rows.jsonl", rows.sweep())])
    page, failures = build_report(results, find_specs(tmp_path), [], tmp_path / "out")
    assert len(failures) == 1 and "gflopps" in failures[0]
    assert "Not drawn" in Page(page.parent / "pasta.html").text


@pytest.mark.parametrize("change", [{"verdict": ""}, {"paper": "../x"}, {"id": None}])
def test_bad_verdicts_are_refused(tmp_path, change):
    results = load_results([rows.write(tmp_path / "rows.jsonl", rows.sweep())])
    with pytest.raises(PlotError, match="verdict 0"):
        build_report(results, [], [rows.verdict(**change)], tmp_path / "out")


def test_command_line(tmp_path, capsys):
    warning = {"kind": "warning", "schema": 1, "text": "the last line is torn"}
    path = rows.write(tmp_path / "rows.jsonl", [warning, *rows.sweep()])
    (tmp_path / "fig4.yaml").write_text(rows.SPEC)
    done = subprocess.run([sys.executable, "-m", "plots", "figure", "--rows", path, "--spec",
                           tmp_path / "fig4.yaml", "--out", tmp_path / "f"],
                          text=True, capture_output=True, cwd=ROOT)
    assert done.returncode == 0 and "torn" in done.stderr
    assert [Path(line).name for line in done.stdout.splitlines()] == [
        "fig4.svg", "fig4.pdf", "fig4.csv", "fig4.rows.csv"]

    def report(*more):
        code = main(["report", *map(str, ("--rows", path, "--specs", tmp_path, "--out",
                                          tmp_path / "r", *more))])
        return code, capsys.readouterr()

    verdicts = tmp_path / "v.json"
    verdicts.write_text(json.dumps([rows.verdict()]))
    code, said = report("--verdicts", verdicts)
    assert code == 0 and said.out.strip() == str(tmp_path / "r" / "index.html")
    verdicts.write_text("{}")
    code, said = report("--verdicts", verdicts)
    assert code == 2 and "expected a JSON list" in said.err
    (tmp_path / "bad.yaml").write_text(rows.SPEC.replace("gflops", "gflopps"))
    code, said = report()
    assert code == 1 and "gflopps" in said.err


def test_counters_stand_beside_the_work_model_and_large_differences_are_marked(tmp_path):
    counted = {"launches": 2, "dram_bytes": 50e6, "dram_over_model": 50 / 48, "l2_bytes": 7e7,
               "missing": ["sm__inst_executed_pipe_tensor.sum"], "cache": "warm"}
    lines = [rows.session(),
             rows.row(dataset="near", method="pasta.cuda.coo") | {"profile": counted},
             rows.row(dataset="far", method="pasta.cuda.coo")
             | {"profile": counted | {"dram_bytes": 20e6, "dram_over_model": 20 / 48}},
             rows.row(dataset="none", method="pasta.cuda.coo") | {"profile": {"reason": "no ncu"}},
             rows.row() | {"profile": {"note": "a CPU method"}}]
    results = load_results([rows.write(tmp_path / "rows.jsonl", lines)])
    counters = Counters(results.rows)
    notes = {line[0]: line[-1] for line in counters.lines}
    assert notes == {"near": "", "far": "differs by more than 15%"}
    assert counters.reasons == {"no ncu": 1}
    build_report(results, [], [], tmp_path / "out")
    page = Page(tmp_path / "out" / "pasta.html")
    assert page.problems == []
    assert "In 1 of 2 rows the DRAM bytes differ" in page.text
    assert "No hardware counters for 1 rows: no ncu" in page.text
    assert "sm__inst_executed_pipe_tensor.sum" in page.text


def test_rows_without_profiles_have_no_counters(report):
    assert "Nsight" not in Page(report / "pasta.html").text


def test_work_of_many_processes_comes_back_in_order():
    assert run_all(lambda number=number: number ** 2 for number in range(20)) == [
        number ** 2 for number in range(20)]


def test_an_error_in_another_process_is_raised_here():
    def fail():
        raise PlotError("no room")
    with pytest.raises(PlotError, match="no room"):
        run_all([lambda: 1, fail])
