"""Tables and figures in the paper's order, points read off figures, and what each stands at; in
this tree every table and figure that READMEs and claims name has a spec with a figure function.
"""
import html
import re
from pathlib import Path

import pytest
import rows
import yaml

from retensor import digitised, style
from retensor.errors import PlotError
from retensor.figures import drawer
from retensor.figures.view import make_view
from retensor.results import load_results
from retensor.report import artifacts, build_report, claims
from retensor.report.artifacts import COMPARED, NOT_RUN, REGENERATED, stands_at
from retensor.spec import FigureSpec, find_specs, load_spec

ROOT = Path(__file__).parents[2]
HEAD = ",".join(digitised.COLUMNS) + "\n"


def listed(place, *names, paper="pasta", drawing=""):
    return {"paper": paper, "place": place, "drawing": drawing,
            "specs": [{"artifact": name, "state": "can run"} for name in names]}


KNOWN = [listed("Table I", drawing="a list of symbols"), listed("Fig. 5", "pasta/fig9"),
         listed("Fig. 4", "pasta/fig4"), listed("Fig. 6", "pasta/fig4"),
         listed("Fig. 1", drawing="steps", paper="flycoo")]


@pytest.fixture
def papers(tmp_path, monkeypatch):
    """A folder of papers in which points of figures may be put."""
    monkeypatch.setattr(digitised, "PAPERS", tmp_path / "papers")
    folder = tmp_path / "papers" / "pasta" / "paper" / "digitised"
    folder.mkdir(parents=True)
    return folder


def report(tmp_path, verdicts=()):
    specs = tmp_path / "specs"
    specs.mkdir()
    (specs / "fig4.yaml").write_text(rows.SPEC)
    (specs / "fig9.yaml").write_text(rows.SPEC.replace("pasta/fig4", "pasta/fig9"))
    (specs / "more.yaml").write_text(rows.SPEC.replace("pasta/fig4", "pasta/more"))
    results = load_results([rows.write(tmp_path / "rows.jsonl", rows.sweep())])
    page, _ = build_report(results, find_specs(specs), list(verdicts), tmp_path / "out", (), KNOWN)
    return page.parent


def test_a_page_has_the_papers_order_then_what_else_there_is(tmp_path, papers):
    out = report(tmp_path, [rows.verdict(place="Fig. 4 and 5", states="bars of both")])
    text = (out / "pasta.html").read_text()
    headings = re.findall(r"<h[23] [^>]*>([^<]*)", html.unescape(text))
    assert headings == ["Contents", "Fig. 5", "fig9: Fixture of five kernels",
                        "Fig. 4 and Fig. 6", "fig4: Fixture of five kernels",
                        "Beyond the paper's tables and figures",
                        "more: Fixture of five kernels", "Drawings without a number", "All claims"]
    assert text.count("<summary>1 claim of Fig.") == 2
    assert "a list of symbols" in text and "papers/pasta/paper/digitised/fig4.csv" in text
    assert "on this machine</dt><dd>can run" in text
    assert "steps" in (out / "flycoo.html").read_text()
    start = (out / "index.html").read_text()
    assert re.search(r'pasta.html">PASTA</a></td>' + "".join(
        f'<td class="n">{count}</td>' for count in (0, 2, 0, 1, 1)), start)


def test_points_read_off_a_figure_are_drawn_and_make_it_compared(tmp_path, papers):
    (papers / "fig4.csv").write_text(
        HEAD + 'tew,alpha,pasta.cpu.coo,2.5,0.1,"Fig. 4, TEW",a ruler\n')
    out = report(tmp_path)
    text = (out / "pasta.html").read_text()
    assert 'Fig. 4: <span class="state">compared</span>' in text
    assert 'Fig. 6: <span class="state">regenerated, not compared</span>' in text
    assert "a ruler" in text and "papers/pasta/paper/digitised/fig4.csv" not in text


@pytest.mark.parametrize("kind", ["grouped-bars", "lines"])
def test_points_are_grey_marks_at_their_bar_or_position(tmp_path, papers, kind):
    (papers / "fig4.csv").write_text(
        HEAD + "tew,alpha,pasta.cpu.coo,2.5,0.1,Fig. 4,a ruler\nttv,none,,1,0,Fig. 4,a ruler\n")
    (tmp_path / "fig4.yaml").write_text(rows.SPEC.replace("grouped-bars", kind))
    results = load_results([rows.write(tmp_path / "rows.jsonl", rows.sweep())])
    spec = load_spec(tmp_path / "fig4.yaml")
    figure = drawer(spec).draw(make_view(results, spec))
    marks = [line for axes in figure.axes for line in axes.lines
             if line.get_marker() in "_|" and line.get_color() == style.PUBLISHED
             and 2.5 in (*line.get_ydata(), *line.get_xdata())]
    assert len(marks) == 1  # the other names no position of the figure
    if kind == "grouped-bars":
        bars = [patch.get_y() + patch.get_height() / 2 for patch in figure.axes[0].patches
                if type(patch).__name__ == "Rectangle"]
        assert any(abs(marks[0].get_ydata()[0] - place) < 1e-9 for place in bars)


def test_a_published_mean_is_a_line_down_its_panel_in_the_colour_of_its_series(tmp_path, papers):
    (papers / "fig4.csv").write_text(
        HEAD + "tew,,pasta.cpu.hicoo,900,0,\"Fig. 4, mean\",text\nttv,,unknown,7,0,Fig. 5,text\n")
    (tmp_path / "fig4.yaml").write_text(rows.SPEC)
    results = load_results([rows.write(tmp_path / "rows.jsonl", rows.sweep())])
    spec = load_spec(tmp_path / "fig4.yaml")
    figure = drawer(spec).draw(make_view(results, spec))
    for axes, value, colour in zip(figure.axes, (900, 7), (style.colour(1), style.PUBLISHED)):
        lines = [line for line in axes.lines if line.get_linestyle() == "--"]
        assert [(line.get_xdata()[0], line.get_color()) for line in lines] == [(value, colour)]
        assert axes.get_xlim()[1] > value


RATIO = """schema: 1
claims:
  - {id: P-1, query: {where: {method: pasta.cpu.hicoo}, value: stats.median,
                      ratio_to: {where: {method: pasta.cpu.coo}}}}
"""


@pytest.mark.parametrize("kind, y", [("stacked-bars", "gflops"), ("grouped-bars", "time")])
def test_a_published_ratio_of_times_stands_at_so_many_times_the_base(tmp_path, papers, kind, y):
    """In a figure of times, where the claim has one base; not beside rates, nor with two bases."""
    (papers.parent / "claims.yaml").write_text(RATIO)
    lines = [rows.row(method=method, seconds=(3, 3, 3), stages={"kernel": 1.0, "output": 2.0})
             for method in ("pasta.cpu.coo", "pasta.cpu.hicoo")]
    lines.append(rows.row(dataset="beta", seconds=(3, 3, 3), stages={"kernel": 3.0}))
    keys = [line["key"] for line in lines]
    results = load_results([rows.write(tmp_path / "rows.jsonl", [rows.session(), *lines])])
    claim = rows.verdict(id="P-1", value="stats.median", keys=keys[:2],
                         published={"value": 2.5, "unit": "times"})

    def marks(claim=claim, kind=kind, y=y, **figure):
        spec = FigureSpec("pasta/fig4", "t", {"kind": kind, "x": "dataset", "y": y, **figure})
        view = make_view(results, spec, [claim])
        drawer(spec).draw(view)
        return [(mark.x, mark.series, mark.values) for mark in view.published]

    assert marks() == [("alpha", "pasta.cpu.hicoo", (7.5,))]
    assert marks(claim | {"keys": keys}) == []
    assert marks(claim | {"published": {"value": 2.5, "unit": "s"}}) == []
    assert marks(kind="grouped-bars", y="gflops") == []
    assert marks(kind="stacked-bars", share=True) == []


@pytest.mark.parametrize("text, message", [
    ("x,value\na,1\n", "found columns x, value"),
    (HEAD + ",a,,much,0,Fig. 4,ruler\n", "value 'much'"),
    (HEAD + ",a,,nan,0,Fig. 4,ruler\n", "value 'nan'"),
    (HEAD + ",a,,1,-1,Fig. 4,ruler\n", "at least 0"),
    (HEAD + ",a,,1,0,,ruler\n", "source is empty"),
    (HEAD + ",a,,1\n", "fig4.csv:2: expected 7 cells")])
def test_bad_points_are_refused(tmp_path, papers, text, message):
    (papers / "fig4.csv").write_text(text)
    (tmp_path / "fig4.yaml").write_text(rows.SPEC)
    with pytest.raises(PlotError, match=message):
        digitised.points(load_spec(tmp_path / "fig4.yaml"))


@pytest.mark.parametrize("value, shown", [("profile.sm_percent", True), ("rates.gflops", False)])
def test_views_of_other_rows_show_counters_where_a_claim_asks_for_them(tmp_path, value, shown):
    (tmp_path / "view.yaml").write_text(
        "schema: 1\nartifact: pasta/view\ntitle: View\nof: pasta/fig4\n"
        "figure: {kind: claims, place: Fig. 6}\n")
    (tmp_path / "fig4.yaml").write_text(rows.SPEC)
    row = rows.row(method="pasta.cuda.coo") | {"profile": {"launches": 2, "dram_over_model": 1}}
    results = load_results([rows.write(tmp_path / "rows.jsonl", [rows.session(), row])])
    build_report(results, find_specs(tmp_path), [rows.verdict(place="Fig. 6", value=value)],
                 tmp_path / "out")
    text = (tmp_path / "out" / "pasta.html").read_text()
    assert text.count("under Nsight Compute") == 1 + shown


def test_a_table_is_compared_where_a_value_of_it_was_measured():
    class Section:
        error, drawn = "", object()
        spec = load_spec(ROOT / "experiments" / "pasta" / "table1.yaml")

    known = [listed("Table I", "pasta/table1"), listed("Table II", "pasta/never")]

    def states(verdict):
        own = artifacts.arrange("pasta", known, [Section()], claims.arrange([verdict], []))
        return [state for entry in own.entries for state in entry.states.values()]

    assert states(rows.verdict(place="Table I, row TS")) == [COMPARED, NOT_RUN]
    assert states(rows.verdict(place="Table II")) == [REGENERATED, COMPARED]  # from the registry
    assert states(rows.verdict(place="Table III")) == [REGENERATED, NOT_RUN]
    assert states(rows.verdict(place="Table I", verdict="fitted",
                               holds=None)) == [REGENERATED, NOT_RUN]
    assert states(rows.verdict(place="Table I", measured=None,
                               holds=None)) == [REGENERATED, NOT_RUN]


@pytest.mark.parametrize("text, place, expected", [
    ("Fig. 4 and 5, left", "Fig. 5", True), ("Fig. 14", "Fig. 1", False),
    ("Table II(b), r1", "Table II", True), ("Table III", "Table II", False),
    ("section 4.2.2, Fig. 4", "Fig. 4", True), ("Fig. 3, Fig. 4(a)", "Fig. 4", True),
    (None, "Fig. 4", False), ("Table 4", "Fig. 4", False)])
def test_places_are_told_apart(text, place, expected):
    assert stands_at(text, place) == expected


def test_lists_without_the_agreed_fields_are_refused(tmp_path):
    results = load_results([rows.write(tmp_path / "rows.jsonl", rows.sweep())])
    with pytest.raises(PlotError, match="artifact 0: no place"):
        build_report(results, [], [], tmp_path / "out", (), [{"paper": "pasta", "specs": [],
                                                              "drawing": ""}])


def named_places(text):
    """The tables and figures that a text names: "Fig. 4 and 5" are two."""
    found = set()
    for kind, first, more in re.findall(
            r"\b(Table|Fig\.)\s+([0-9]+|[IVX]+)(?![0-9IVX])(?:[a-z]\b)?(?:\s+and\s+([0-9IVX]+)\b)?",
            text):
        found |= {f"{kind} {number}" for number in (first, more) if number}
    return found


def places_of(paper):
    """The places of a paper's artifacts.yaml with their entries."""
    content = yaml.safe_load((paper / "paper/artifacts.yaml").read_text())
    assert content["paper"] == paper.name
    return {entry["place"]: entry for entry in content["artifacts"]}


def readme_artifacts(paper):
    """The first cells of the README's table of artifacts."""
    section = (paper / "README.md").read_text().partition("\n## Artifacts\n")[2].split("\n## ")[0]
    return [line.split("|")[1].strip() for line in section.splitlines()
            if line.startswith("| ")][1:]


PAPERS = sorted(path.parents[1] for path in ROOT.glob("papers/*/paper/artifacts.yaml"))


def test_named_places_find_what_is_named():
    assert named_places("Fig. 4 and 5, Table II(b), Fig. 2b; Fig. 12") == {
        "Fig. 4", "Fig. 5", "Table II", "Fig. 2", "Fig. 12"}


def test_every_paper_lists_its_tables_and_figures():
    assert {path.name for path in PAPERS} == {
        path.parent.name for path in ROOT.glob("papers/*/README.md")}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.name)
def test_what_claims_and_readmes_name_has_a_spec_with_a_figure_function(paper):
    known = places_of(paper)
    claims = paper / "paper/claims.yaml"
    texts = readme_artifacts(paper)
    if claims.exists():
        texts += [claim["place"] for claim in yaml.safe_load(claims.read_text())["claims"]]
    named = set().union(*map(named_places, texts))
    assert named <= known.keys(), "tables or figures that artifacts.yaml lacks"
    specs = {spec.artifact: spec for spec in find_specs(ROOT / "experiments")}
    for place, entry in known.items():
        assert ("specs" in entry) != ("drawing" in entry), place
        for name in entry.get("specs", ()):
            assert name in specs, f"{place}: no spec of {name}"
            assert drawer(specs[name]), f"{place}: no figure function of {name}"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.name)
def test_specs_named_by_a_table_or_figure_are_listed_under_it(paper):
    listed_specs = {name for entry in places_of(paper).values() for name in entry.get("specs", ())}
    for spec in find_specs(ROOT / "experiments"):
        if spec.paper == paper.name and re.fullmatch(r"(fig|table)\d+(-gpu)?", spec.name):
            assert spec.artifact in listed_specs
