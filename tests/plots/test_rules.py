"""Rules of every figure that this tree can draw, checked on the figures of its specs from the rows
in experiments/results: what stands over them, how many series they have, no text over text.
"""
import json
import math
from pathlib import Path
from statistics import median

import pytest
import rows
from matplotlib.figure import Figure
from matplotlib.text import Text

from retensor import style
from retensor.errors import PlotError
from retensor.figures import captions, drawer
from retensor.figures.view import make_view
from retensor.report import methods
from retensor.results import load_results
from retensor.spec import FigureSpec, find_specs

ROOT = Path(__file__).parents[2]
RESULTS = [path for path in sorted((ROOT / "experiments" / "results").glob("*/*.jsonl"))
           if path.parent.name != "originals"]
SLACK = 0.75  # points by which boxes may meet: they hold the room of letters that have descenders


def seconds(line):
    """Time of a sweep, of a row that has sweeps."""
    sweeps = line.get("phases", {}).get("stages", {}).get("sweeps")
    return {"sweep": median(sweeps) / int(line["executed"]["sweeps"])} if sweeps else {}


def exported(paths):
    """Lines as `retensor rows` prints them, as far as figures need what it derives."""
    sessions, newest = {}, {}
    for path in paths:
        for line in map(json.loads, path.read_text().splitlines()):
            if line["kind"] == "session":
                sessions[line["session"]] = line | {"devices": [line["machine"]["cpu"]["model"]]}
            elif line["kind"] == "row" and line.get("code", "own") == "own":
                newest[line["key"], path.parent.name] = line
    yield from sessions.values()
    for line in newest.values():
        machine = sessions[line["session"]]["machine"]
        gpu = ".cuda" in line["case"]["method"]
        device = machine["gpu"]["name"] if gpu else machine["cpu"]["model"]
        yield line | {"backend": "cuda" if gpu else "cpu", "device": device, "stale": False,
                      "currency": "sources", "code": "own", "seconds": seconds(line)}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("rules") / "rows.jsonl"
    with path.open("w") as file:
        for line in exported(RESULTS):
            file.write(json.dumps(line) + "\n")
    return load_results([path])


def drawn(results, spec, verdicts=()):
    """View and figure of a spec; None where it has no rows here or no picture."""
    try:
        view = make_view(results, spec, verdicts)
    except PlotError as error:
        if "no row of" in str(error):
            pytest.skip(str(error))
        raise
    module = drawer(spec)
    if spec.figure["kind"] == "claims" or not hasattr(module, "draw"):
        pytest.skip("a table" if spec.figure["kind"] != "claims" else "needs verdicts")
    if hasattr(module, "arrange"):
        module.arrange(view)
    with style.applied():
        return view, module.draw(view)


def boxes(figure):
    """The boxes of all texts that are shown, in points, with what they say."""
    figure.set_dpi(72)
    figure.draw_without_rendering()
    renderer = figure._get_renderer()
    found, hidden = [], set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            ticks = {*axis.get_major_ticks(), *axis.get_minor_ticks()} - {*axis._update_ticks()}
            hidden |= {label for tick in ticks for label in (tick.label1, tick.label2)}
    for text in dict.fromkeys(figure.findobj(Text)):
        if text not in hidden and text.get_visible() and text.get_text().strip():
            box = text.get_window_extent(renderer)
            if math.isfinite(box.x0) and box.width > 0:
                found.append((text.get_text(), box))
    return found


def faults(figure):
    """Pairs of texts that stand on one another, and texts that the page cuts off."""
    found, (width, height) = boxes(figure), figure.get_size_inches() * 72
    pairs = [(one, other) for index, (one, a) in enumerate(found) for other, b in found[index + 1:]
             if min(a.x1, b.x1) - max(a.x0, b.x0) > SLACK
             and min(a.y1, b.y1) - max(a.y0, b.y0) > SLACK]
    cut = [text for text, box in found if box.x0 < -SLACK or box.y0 < -SLACK
           or box.x1 > width + SLACK or box.y1 > height + SLACK]
    return pairs, cut


SPECS = find_specs(ROOT / "experiments")


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.artifact)
def test_a_figure_of_this_tree_keeps_the_rules(results, spec):
    view, figure = drawn(results, spec)
    title, setting = (text.get_text().replace("\n", " ") for text in figure.texts[:2])
    assert title == captions.title(spec) and spec.title in title
    if (ROOT / "papers" / spec.paper).is_dir():
        assert title.startswith(spec.paper.upper().replace("_", "-").replace(
            "BCB-SPTC", "BCB-SpTC").replace("TCA-SPMM", "TCA-SpMM"))
    devices = {captions.machine(device) for device in view.rows["device"]}
    assert devices & {setting.split(",")[0]} or f"{len(devices)} machines" in setting
    assert "fp32" in setting and "data" in setting
    assert faults(figure) == ([], [])
    for axes in figure.axes:
        colours = {line.get_color() for line in axes.lines if line.get_marker() in style.MARKERS}
        assert len(colours) <= style.MOST_SERIES + 2  # with marks of published values and failures


def method_figures(results):
    """The cross-paper figures of the committed rows, as the report draws them."""
    for title, operations in methods.OPERATIONS.values():
        rows = results.rows[results.rows["case.operation"].isin(operations)]
        lines = methods.lines_of(rows, sorted(set(rows["case.method"])))
        for machine in dict.fromkeys(line.machine for line in lines):
            with style.applied():
                figure = methods.draw([line for line in lines if line.machine == machine],
                                      f"{title} on {machine}")
            if figure is not None:
                yield machine, figure


def test_figures_of_methods_keep_the_rules(results):
    found = list(method_figures(results))
    assert len(found) >= 4
    for machine, figure in found:
        title, setting = (text.get_text() for text in figure.texts)
        assert machine in title and "fp32" in setting
        assert faults(figure) == ([], [])
        for axes in figure.axes:
            marks = [line for line in axes.lines if line.get_marker() in style.MARKERS]
            assert len({line.get_color() for line in marks}) <= style.MOST_SERIES


def test_texts_on_one_another_are_found(tmp_path):
    figure = Figure()
    figure.text(0.5, 0.5, "one")
    figure.text(0.5, 0.5, "other")
    figure.text(0.99, 0.1, "cut off by the page")
    assert faults(figure) == ([("one", "other")], ["cut off by the page"])


def test_speedups_stand_on_a_logarithmic_axis_around_one(results):
    spec = next(spec for spec in SPECS if spec.artifact == "flycoo/gpu-speed")
    view, figure = drawn(results, spec)
    for axes in figure.axes:
        low, high = axes.get_xlim()
        assert axes.get_xscale() == "log" and low < 1 < high
        assert not [patch for patch in axes.patches if type(patch).__name__ == "Rectangle"]


def test_published_ratios_stand_beside_the_measured_ones(results):
    spec = next(spec for spec in SPECS if spec.artifact == "flycoo/fig9")
    own = results.rows[results.rows["case.artifact"] == "flycoo/fig9"]
    keys = list(own[own["case.method"].isin(("blco.cuda", "flycoo.cuda"))]["key"])
    claim = {"id": "F-C26-blco", "paper": "flycoo", "place": "Table 4", "verdict": "transfers",
             "holds": True, "value": None, "published": {"value": 1.5, "unit": "times"},
             "keys": keys}
    view, figure = drawn(results, spec, [claim])
    assert {(mark.x, mark.series, mark.values) for mark in view.published} == {
        (f"geometric mean, {kind}", "blco.cuda", (1.5,)) for kind in ("real", "stand-in")}
    lines = [line for line in figure.axes[0].lines if set(line.get_xdata()) == {1.5}]
    assert len(lines) == 2
    assert "published" in [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("width", ["single", "double"])
def test_own_figures_keep_the_rules_at_both_widths(tmp_path, width):
    lines = [rows.row("ttv", name, method, params={"threads": n}, seconds=[0.001 * n] * 3,
                      artifact="own/study")
             for name in ("a-tensor-with-a-long-name", "another-tensor", "third")
             for method in ("pasta.cpu.coo", "pasta.cpu.hicoo") for n in (1, 2, 4)]
    loaded = load_results([rows.write(tmp_path / "rows.jsonl", lines)])
    for figure in ({"kind": "speedups", "to": "pasta.cpu.coo"}, {"kind": "lines", "y": "time"},
                   {"kind": "grouped-bars", "y": "time", "yscale": "log"},
                   {"kind": "performance-profile"}, {"kind": "stacked-bars"}):
        spec = FigureSpec("own/study", "A study of threads", {**figure, "width": width})
        _, shown = drawn(loaded, spec)
        assert faults(shown) == ([], []), figure


@pytest.mark.parametrize("width", ["single", "double"])
def test_claims_are_drawn_as_measured_over_published_with_what_is_allowed(tmp_path, width):
    claims = [rows.verdict(id="P-1", measured=1.5, published={"value": 1.0, "unit": "times"},
                           tolerance={"factor": 2}),
              rows.verdict(id="P-2", measured=0.4656, published={"range": [1.2, 1.4], "unit": "x"},
                           verdict="does not transfer", holds=False),
              rows.verdict(id="P-3", measured=6, published={"at_least": 6, "unit": "tensors"}),
              rows.verdict(id="P-4", measured=None, published={}, verdict="not tested",
                           holds=None)]
    loaded = load_results([rows.write(tmp_path / "rows.jsonl", rows.sweep())])
    view = make_view(loaded, FigureSpec("pasta/fig4", "Claims", {
        "kind": "claims", "place": "Table I", "width": width}), claims)
    module = drawer(view.spec)
    module.arrange(view)
    with style.applied():
        figure = module.draw(view)
    assert len(view.table) == 4 and "1 more claims have no two numbers" in " ".join(view.notes)
    ratios = sorted(line.get_xdata()[0] for line in figure.axes[0].lines
                    if line.get_marker() in (*"oDs",) and len(line.get_xdata()) == 1)
    assert ratios == pytest.approx([0.4656 / 1.68 ** 0.5, 1, 1.5])
    assert faults(figure) == ([], [])
