"""The report: complete, well-formed, self-contained, honest about what failed; and the CLI."""
import gzip
import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
import rows

from retensor import prose
from retensor.cli import main
from retensor.errors import PlotError
from retensor.figures import lines
from retensor.results import load_results
from retensor.report import (build_report, claims, counters, machines, parts, table_files, tables,
                             text, title_pages)
from retensor.report.processes import run_all
from retensor.report.sources import paper_file
from retensor.spec import find_specs

ROOT = Path(__file__).parents[2]
VOID = {"meta", "link", "img", "br", "hr", "input"}
CELLS = {"td", "th", "tr", "tbody"}
# Tags whose end may be left out, with those that end them.
ENDED_BY = {"td": CELLS, "th": CELLS, "tr": {"tr", "tbody"}, "thead": {"tbody"}, "tbody": set(),
            "dt": {"dt", "dd"}, "dd": {"dt", "dd"}}


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
        while self.open and tag in ENDED_BY.get(self.open[-1], ()):
            self.open.pop()
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in ENDED_BY:
            self.open.pop()
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        self.text += data


def judged(paper):
    """A paper's committed claims as if none had been measured."""
    _, content = paper_file(paper, "claims.yaml")
    return claims.arrange([rows.verdict(id=claim["id"], paper=paper, holds=None, measured=None,
                                        verdict="not tested", reason="no rows")
                           for claim in content["claims"]], [])


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
    assert pages == ["claims.html", "findings.html", "flycoo.html", "hlsto.html", "index.html",
                     "machines.html", "methods.html", "pasta.html", "tables.html"]
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
            path = path.partition("?")[0]
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
                 "retensor run", "Not run"):
        assert part in text
    start = Page(report / "index.html").text
    for part in ("18 cases: 17 ok, 1 oom", "not tested", "1 holds", "Jiajia Li"):
        assert part in start
    machines = Page(report / "machines.html").text
    for part in ("Fixture CPU", "gcc 12.2", "copy_dram", "retensor run 'a spec.yaml'",
                 "0123456789abcdef"):
        assert part in machines
    assert "/somewhere" not in machines
    drawers = Page(report / "claims.html").text
    for part in ("no <GPU> here", "at least 2 times", "\N{PLUS-MINUS SIGN}0.1%", "P-C16",
                 "consistent", "0.125 flop/byte"):
        assert part in drawers


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
    assert "fig7" in page.ids and "no spec" in page.text and "delta" in page.text
    assert "figures/hlsto/fig7.generated.csv" in page.links
    assert page.images == []  # no table as a picture


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
    done = subprocess.run([sys.executable, "-m", "retensor.cli", "figure", "--rows", path, "--spec",
                           tmp_path / "fig4.yaml", "--out", tmp_path / "f"],
                          text=True, capture_output=True, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "plots")})
    assert done.returncode == 0 and "torn" in done.stderr
    assert [Path(line).name for line in done.stdout.splitlines()] == [
        "fig4.svg", "fig4.pdf", "fig4.csv", "fig4.rows.csv", "fig4.caption.txt"]

    def report(*more):
        code = main(["report", *map(str, ("--rows", path, "--specs", tmp_path, "--out",
                                          tmp_path / "r", *more))])
        return code, capsys.readouterr()

    verdicts = tmp_path / "v.json"
    verdicts.write_text(json.dumps([rows.verdict()]))
    code, said = report("--verdicts", verdicts)
    assert "report: 4 of 4 figures and tables" in said.err
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
    told = counters.told(results.rows)
    assert {line[0]: line[-1] for line in told["lines"]} == {
        "near": "", "far": "differs by more than 15%"}
    assert told["reasons"] == {"no ncu": 1}
    build_report(results, [], [], tmp_path / "out")
    page = Page(tmp_path / "out" / "pasta.html")
    assert page.problems == []
    assert "In 1 of 2 rows the DRAM bytes differ" in page.text
    assert "No hardware counters for 1 row: no ncu" in page.text
    assert "sm__inst_executed_pipe_tensor.sum" in page.text


def test_rows_without_profiles_have_no_counters(report):
    assert "Nsight" not in Page(report / "pasta.html").text


def test_work_of_many_processes_comes_back_in_order():
    assert run_all(lambda number=number: number ** 2 for number in range(20)) == [
        number ** 2 for number in range(20)]


def test_progress_counts_to_the_end():
    seen = []
    run_all([lambda: 1] * 12, lambda done, total: seen.append((done, total)))
    assert seen == [(done, 12) for done in range(1, 13)]


def test_an_error_in_another_process_is_raised_here():
    def fail():
        raise PlotError("no room")
    with pytest.raises(PlotError, match="no room"):
        run_all([lambda: 1, fail])


PAPERS = sorted(path.parent.parent.name for path in ROOT.glob("papers/*/paper/about.yaml"))


@pytest.mark.parametrize("paper", PAPERS)
def test_a_title_page_names_claims_and_a_spec_that_exist(paper):
    title = title_pages.title_page(paper)
    assert set(title.headline) <= {claim.id for claim in judged(paper)}
    assert (ROOT / "experiments" / title.figure).with_suffix(".yaml").is_file()


@pytest.mark.parametrize("paper", PAPERS)
def test_every_numeric_cell_of_the_printed_tables_has_a_row_a_rule_or_a_reason(paper):
    own = judged(paper)
    printed = tables.tables(paper, own)
    listed = {entry["place"] for entry in paper_file(paper, "artifacts.yaml")[1]["artifacts"]
              if entry["place"].startswith("Table")}
    assert {table.place.split("(")[0] for table in printed} == listed
    for table in printed:
        assert table.without or any(cell.numeric for cell in table.cells)
        assert tables.faults(table, {claim.id for claim in own}) == []


def test_a_cell_without_anything_against_it_is_a_fault():
    table = tables.tables("bcb_sptc", [])[0]
    assert len(tables.faults(table, set())) == 2 * len(table.cells)
    cell = table.cells[0]
    cell.reason = "a reason"
    assert len(tables.faults(table, set(cell.ids))) == 2 * len(table.cells) - 2


def rule(check, table="sizes", status="does not fit", value=2.0, **row):
    return {"id": "A1", "table": table, "check": check, "severity": "result",
            "rows": [{"row": "r", "status": status, "right": {"value": value}, "ratio": 1.0,
                      "misread": [], **row}]}


@pytest.mark.parametrize("given, subject, value", [
    (rule("a = 2 * b"), True, 2.0), (rule("b = 2 * a"), False, None),
    (rule("a >= b"), True, None), (rule("2 * a = b"), True, None),
    (rule("c > sizes.a", table="others"), False, None),
    (rule("sizes.r.a = c", table=""), True, 2.0)])
def test_a_rule_recomputes_a_cell_that_stands_alone_on_its_left(given, subject, value):
    cell = tables.Cell("r", "a", "3")
    found = tables._checks(cell, "sizes", "", [given, rule("x = y"), rule("a = b", table="z")])
    assert [(check.subject, check.value) for check in found] == [(subject, value)]


def test_digits_that_would_mend_a_cell_are_few_and_its_own():
    cell = tables.Cell("r", "a", "3")
    for readings, mend in (([f"sizes.r.a: 3 as {k}" for k in range(2)], ["3 as 0", "3 as 1"]),
                           ([f"sizes.r.a: 3 as {k}" for k in range(9)], []),
                           (["sizes.r.b: 3 as 8"], [])):
        cell.checks = tables._checks(cell, "sizes", "", [rule("a = b", misread=readings)])
        assert cell.mend == mend


@pytest.mark.parametrize("text, value", [
    ("165K", 165e3), ("6.9E-3", 6.9e-3), ("0.152%", 0.00152), ("~1/6", 1 / 6),
    ("11,440,996", 11440996), ("DDR4", None), ("12M + 12M_F", None), ("CUDA Tkit 9.1", None)])
def test_printed_numbers_are_read(text, value):
    assert tables.printed_number(text) == (None if value is None else pytest.approx(value))


def test_a_table_says_the_same_in_all_its_forms(tmp_path):
    own = judged("hlsto")
    claim = next(claim for claim in own if claim.id == "H-C28-mttkrp-a100")
    claim.verdict |= {"verdict": "inconsistent", "holds": False, "measured": 2 * 49.88 * 2**20,
                      "ratio": 2.0, "published": {"value": 49.88 * 2**20, "unit": "bytes"}}
    printed = tables.tables("hlsto", own)
    cell = printed[-1].rows["Movies"][0]
    assert (cell.printed, cell.here, cell.outcome) == ("49.88", "99.76", "does not hold")
    table_files.write(printed, tmp_path)
    assert "Movies,\"HLS, SpMTTKRP, A100\",49.88,99.76,2.0,inconsistent" in (
        tmp_path / "tables.csv").read_text()
    latex = (tmp_path / "hlsto-table-iv.tex").read_text()
    assert "99.76 $\\times$" in latex and "\\toprule" in latex
    body = [line for line in latex.splitlines() if line.endswith("\\\\")]
    assert {line.count(" & ") for line in body} == {8}


def test_a_part_is_kept_until_what_it_is_made_of_changes(tmp_path):
    store = parts.Parts(tmp_path)
    (tmp_path / "a.svg").write_text("drawn")
    store.keep("a", "digest", {"lines": [1]}, ["a.svg"])
    assert store.kept("a", "digest") == {"lines": [1]}
    assert store.kept("a", "other") is None and store.kept("b", "digest") is None
    (tmp_path / "b.svg").write_text("drawn otherwise")
    store.keep("a", "digest", {"lines": [1]}, ["b.svg"])
    assert store.kept("a", "digest") and not (tmp_path / "a.svg").exists()
    (tmp_path / "b.svg").write_text("damaged")
    assert store.kept("a", "digest") is None
    (tmp_path / "kept").write_text("of someone else")
    for foreign in (str(tmp_path / "kept"), "../kept"):
        inner = parts.Parts(tmp_path / "inner")
        with gzip.open(inner.folder / "a.json.gz", "wt") as file:
            json.dump({"digest": "", "content": 1, "files": {foreign: 1}}, file)
        inner.keep("a", "digest", 1, [])
        assert (tmp_path / "kept").exists()
    (tmp_path / ".parts" / "a.json.gz").write_bytes(b"no archive")
    assert store.kept("a", "digest") is None


def test_a_second_report_draws_only_what_changed(tmp_path):
    (tmp_path / "fig4.yaml").write_text(rows.SPEC)
    (tmp_path / "fig5.yaml").write_text(rows.SPEC.replace("pasta/fig4", "pasta/fig5"))
    other = [rows.row(artifact="pasta/fig5", dataset=name) for name in ("alpha", "beta")]
    figures = [tmp_path / "out" / "figures" / "pasta" / f"{name}.svg" for name in ("fig4", "fig5")]

    def times(lines):
        results = load_results([rows.write(tmp_path / "rows.jsonl", lines)])
        build_report(results, find_specs(tmp_path), [rows.verdict()], tmp_path / "out")
        return [figure.stat().st_mtime_ns for figure in figures]

    first = times([*rows.sweep(), *other])
    assert times([*rows.sweep(), *other]) == first
    changed = times([*rows.sweep(), *other, rows.row(artifact="pasta/fig5", dataset="gamma")])
    assert changed[0] == first[0] and changed[1] != first[1]


def test_a_part_depends_on_what_draws_it_and_not_on_other_kinds():
    used = {Path(path).stem for path in parts._used([lines])}
    assert {"lines", "panels", "quantity", "style"} <= used and "stacked_bars" not in used
    changed = parts.digest([lines], "rows"), parts.digest([lines], "row"), parts.digest([], "rows")
    assert len(set(changed)) == 3


def test_the_documentation_is_linked_where_it_is(tmp_path):
    results = load_results([rows.write(tmp_path / "rows.jsonl", rows.sweep())])
    page, _ = build_report(results, [], [], tmp_path / "out")
    assert "docs/index.html" not in page.read_text()
    (tmp_path / "out" / "docs").mkdir()
    (tmp_path / "out" / "docs" / "index.html").write_text("")
    page, _ = build_report(results, [], [], tmp_path / "out")
    assert '<a href="docs/index.html">Documentation</a>' in page.read_text()


@pytest.mark.parametrize("listed", [True, False])
def test_an_own_spec_has_its_figure_its_page_and_its_provenance(tmp_path, monkeypatch, listed):
    """Whether it is named to the report or found where its session says that it was read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    own = tmp_path / "mine" / "sweep.yaml"
    own.parent.mkdir()
    own.write_text(rows.SPEC.replace("pasta/fig4", "mine/sweep").replace("five kernels", "mine"))
    session = rows.session(spec={"path": "mine/sweep.yaml", "sha256": "ef" * 32,
                                 "artifact": "mine/sweep"})
    lines = [session, *(rows.row(artifact="mine/sweep", dataset=name, kind="file")
                        for name in ("alpha", "beta"))]
    results = load_results([rows.write(tmp_path / "rows.jsonl", lines)])
    specs = find_specs("specs", own) if listed else find_specs("specs")
    page, failures = build_report(results, specs, [], tmp_path / "out")
    assert failures == []
    own_page = Page(page.parent / "mine.html")
    assert own_page.images[0]["src"] == "figures/mine/sweep.svg"
    for part in ("Fixture of mine", "retensor run mine/sweep.yaml", "0123456789ab", "Fixture CPU"):
        assert part in own_page.text
    assert "mine.html" in Page(page).links and str(tmp_path) not in own_page.text


def test_a_spec_that_is_another_by_now_is_not_taken_for_that_of_the_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").mkdir()
    (tmp_path / "own.yaml").write_text(rows.SPEC.replace("pasta/fig4", "mine/other"))
    session = rows.session(spec={"path": "own.yaml", "sha256": "", "artifact": "mine/sweep"})
    lines = [session, rows.row(artifact="mine/sweep")]
    results = load_results([rows.write(tmp_path / "rows.jsonl", lines)])
    build_report(results, find_specs("specs"), [], tmp_path / "out")
    assert "mine/sweep (no spec)" in Page(tmp_path / "out" / "mine.html").text


def test_tables_tell_once_what_lines_have_in_common():
    names = ["name", "none", "zero", "same", "value", "again"]
    lines = [["a", None, 0, "x", k, k] for k in range(6)]
    assert text.told(names, lines) == (["name", "value"], [["a", k] for k in range(6)],
                                       {"same": "x", "again": "value"})
    assert text.told(names, lines[:text.FEW_LINES]) == (
        ["name", "same", "value", "again"], [["a", "x", k, k] for k in range(5)], {})
    assert text.told(names, []) == ([], [], {})


def test_what_stands_above_too_is_a_ditto_mark():
    lines = [["alpha", 1, 12], ["alpha", 1, 12], ["beta", 2, 12], ["alpha", 2, 3]]
    assert list(text.dittoed(lines)) == [["alpha", "1", "12"], ['"', "1", '"'], ["beta", "2", '"'],
                                         ["alpha", "2", "3"]]


def test_ceilings_stand_side_by_side_with_what_was_measured_otherwise():
    def measured(**ceilings):
        return {"ceilings": [{"what": what, "value": value, "unit": "GB/s", "detail": detail}
                             for what, (value, detail) in ceilings.items()]}

    labels = {"s1": ["A", "B"], "s2": ["A", "B"], "s3": ["A", "B"], "s4": ["B"]}
    both, alone = machines.ceilings({
        ("s1", "cpu"): measured(copy=(1.0, "8 MiB"), gather=(2.0, "rows")),
        ("s2", "cpu"): measured(copy=(1.5, "9 MiB"), gather=(3.0, "rows")),
        ("s3", "cpu"): measured(copy=(1.2, "8 MiB")),
        ("s4", "cpu"): measured(copy=(7.0, "9 MiB"))}, labels)
    assert both.machine == "A, B" and both.ways == [["copy", "GB/s", "8 MiB"],
                                                    ["gather", "GB/s", "rows"]]
    assert both.lines == [("s1", [1.0, 2.0], ""), ("s2", [1.5, 3.0], "copy: 9 MiB"),
                          ("s3", [1.2, None], "")]
    assert alone.lines == [("s4", [7.0], "")] and alone.anchor != both.anchor


def test_sessions_of_one_commit_stand_together():
    sessions = {"a": {"git": {"commit": "0" * 40}}, "b": {"git": {"commit": "1" * 40}},
                "c": {"git": {"commit": "0" * 40}}, "d": {}}
    sessions["b"]["git"]["dirty"] = True
    assert list(machines.by_commit("abcd", sessions)) == [
        (" at commit 000000000000", ["a", "c"]),
        (" at commit 111111111111 with uncommitted changes", ["b"]), ("", ["d"])]
    assert machines.builds({"a": {"build": {"x": 1}}, "b": {}, "c": {"build": {"x": 1}},
                            "d": {"build": {"x": 2}}}) == [{"x": 1}, {"x": 2}]


def test_two_sentences_tell_what_holds_and_what_does_not():
    def entry(headline, holds, cause=None):
        return rows.verdict(headline=headline, holds=holds, cause=cause,
                            in_words={"paper": "2", "here": "1"})

    why = {"says": "blocks wait", "shown_by": ["P-1"]}
    held, failed = entry("size", True), entry("speed", False)
    assert prose.sentences([held, failed, entry(None, False)]) == [
        "1 of 2 headline claims holds, for example size (paper: 2, here: 1).",
        "Does not hold: speed (paper: 2, here: 1). Cause not found."]
    # What has a cause comes first, with what shares it.
    more = [failed, entry("memory", False, why), entry("traffic", False, why)]
    assert prose.sentences(more) == [
        "0 of 3 headline claims hold.",
        "Among those that do not hold: memory (paper: 2, here: 1) and traffic (paper: 2, here: 1). "
        "Cause: blocks wait."]
    assert prose.sentences(more[1:])[1].startswith("Does not hold: memory")
    assert prose.sentences([entry(None, True), rows.verdict()]) == []
    # What no row tests is no failure.
    open_one = {**entry("size", None), "verdict": "not tested"}
    assert prose.sentences([open_one] * 2) == [
        "None of the 2 headline claims is tested by these rows."]
    assert prose.sentences([held, open_one])[1] == "1 is not tested by these rows."
