"""Figures: values, averaging of modes, labels of data that is not real, failures, rooflines."""
import csv
import warnings

import pytest
import rows
from matplotlib.figure import Figure

from retensor import style
from retensor.errors import PlotError
from retensor.figures import bands, captions, curves, dots
from retensor.figures import lines as line_figure
from retensor.figures import speedups, units
from retensor.figures.published import Mark
from retensor.figures.view import make_view
from retensor.results import load_results
from retensor.save import save_artifact
from retensor.spec import FigureSpec, load_spec

KINDS = ("grouped-bars", "lines", "scatter", "roofline", "stacked-bars", "table", "curves",
         "speedups", "performance-profile")


def read(tmp_path, lines):
    return load_results([rows.write(tmp_path / "rows.jsonl", lines)])


def spec(**figure):
    base = {"kind": "grouped-bars", "x": "dataset", "facet": "operation", "to": "pasta.cpu.coo"}
    return FigureSpec("pasta/fig4", "A fixture", {**base, **figure})


def cell(view, facet, x, series="pasta.cpu.coo"):
    return next(c for c in view.cells if (c.facet, c.x, c.series) == (facet, x, series))


def test_a_bar_is_the_median_with_its_quartiles(tmp_path):
    line = rows.row(seconds=[0.001, 0.002, 0.004], flops=4e6)
    found = cell(make_view(read(tmp_path, [line]), spec()), "tew", "alpha").measured
    assert found.value == pytest.approx(2.0)
    assert (found.low, found.high) == (pytest.approx(4e6 / 0.003 / 1e9),
                                       pytest.approx(4e6 / 0.0015 / 1e9))
    seconds = cell(make_view(read(tmp_path, [line]), spec(y="time")), "tew", "alpha").measured
    assert (seconds.value, seconds.low, seconds.high) == (0.002, 0.0015, 0.003)


def test_a_time_to_prepare_has_quartiles_where_it_was_repeated(tmp_path):
    line = rows.row()
    lone = cell(make_view(read(tmp_path, [line]), spec(y="prepare")), "tew", "alpha").measured
    assert (lone.value, lone.low, lone.high) == (0.3, None, None)
    line["phases"] |= {"prepare": 0.2, "preparations": [0.7, 0.1, 0.2]}
    found = cell(make_view(read(tmp_path, [line]), spec(y="prepare")), "tew", "alpha").measured
    assert (found.value, found.low, found.high) == (0.2, pytest.approx(0.15), pytest.approx(0.45))


def test_modes_are_averaged_by_their_times(tmp_path):
    lines = [rows.row("ttv", mode=m, seconds=[t] * 3, flops=6e6) for m, t in ((0, 0.001),
                                                                              (1, 0.005))]
    found = cell(make_view(read(tmp_path, lines), spec()), "ttv", "alpha")
    assert found.measured.value == pytest.approx(12e6 / 0.006 / 1e9)
    assert found.total == 2
    seconds = make_view(read(tmp_path, lines), spec(y="time")).cells[0].measured
    assert seconds.value == pytest.approx(0.003)


def test_the_table_has_the_mean_of_the_first_five_runs_beside_the_median(tmp_path):
    lines = [rows.row("ttv", mode=m, seconds=[t] * 3, flops=6e6) for m, t in ((0, 0.001),
                                                                              (1, 0.005))]
    lines[0]["phases"]["run"] = [0.001] * 4 + [0.006, 1]
    lines[1]["phases"]["run"] = [0.005] * 5
    _, paths = save_artifact(read(tmp_path, lines), spec(), tmp_path)
    with paths["csv"].open() as stream:
        line = next(csv.DictReader(stream))
    assert float(line["performance (GFLOPS)"]) == pytest.approx(12e6 / 0.006 / 1e9, rel=1e-5)
    assert float(line["mean of five runs"]) == pytest.approx(12e6 / 0.007 / 1e9, rel=1e-5)
    seconds = make_view(read(tmp_path, lines), spec(y="time")).cells[0]
    assert seconds.paper_mean == pytest.approx(0.0035)
    lines[1]["phases"]["run"] = [0.005] * 4
    assert make_view(read(tmp_path, lines), spec()).cells[0].paper_mean is None


@pytest.mark.parametrize("second,scale,told", [
    (0.5e-6, None, "1 of 3 values are below 0.1% of the largest of their panel; "
                   "`yscale: log` shows them"),
    (2e-6, None, None), (0.5e-6, "log", None)])
def test_values_too_small_for_a_linear_axis_are_told(tmp_path, second, scale, told):
    lines = [rows.row(seconds=[0.001] * 3), rows.row(seconds=[second] * 3, dataset="beta"),
             rows.row("ttv", seconds=[1] * 3)]  # in a panel of its own
    notes = make_view(read(tmp_path, lines), spec(y="time", yscale=scale)).notes
    assert [note for note in notes if "yscale" in note] == ([told] if told else [])


def test_launches_are_one_pooled_sample(tmp_path):
    lines = [rows.row(launch=n, seconds=[t] * 3) for n, t in ((0, 0.001), (1, 0.002), (2, 0.009))]
    view = make_view(read(tmp_path, lines), spec(y="time"))
    assert len(view.cells) == 1 and view.cells[0].measured.value == 0.002


def test_what_differs_in_a_cell_becomes_a_series(tmp_path):
    lines = [rows.row(params={"threads": n}) for n in (1, 2)] + [rows.row(rank=8)]
    assert set(make_view(read(tmp_path, lines), spec()).series) == {
        "pasta.cpu.coo, rank=16, threads=1", "pasta.cpu.coo, rank=16, threads=2",
        "pasta.cpu.coo, rank=8, threads=2"}


def test_each_machine_has_panels_of_its_own(tmp_path):
    lines = [rows.row(), rows.row(device="Other CPU")]
    view = make_view(read(tmp_path, lines), spec())
    assert view.series == ["pasta.cpu.coo"]
    assert view.facets == ["tew, Fixture CPU", "tew, Other CPU"]
    assert make_view(read(tmp_path, lines), spec(hue="device")).facets == ["tew"]


def test_the_note_says_how_many_machines_stand_under_the_name_of_their_model(tmp_path):
    def on(name, host):
        line = rows.session(name)
        return line | {"machine": line["machine"] | {"identity": {"host": host, "gpu": None}}}

    lines = [on("a", "one"), on("b", "two"), rows.row(name="a"),
             rows.row(name="b", dataset="beta")]
    assert "Fixture CPU: rows of 2 machines" in make_view(read(tmp_path, lines), spec()).notes
    lines[1] = on("b", "one")
    assert not any("machines" in note for note in make_view(read(tmp_path, lines), spec()).notes)


def test_positions_follow_the_spec(tmp_path):
    (tmp_path / "fig4.yaml").write_text(rows.SPEC.replace("[alpha, beta]", "[beta, alpha]"))
    view = make_view(read(tmp_path, rows.sweep()), load_spec(tmp_path / "fig4.yaml"))
    assert view.xs == ["beta", "alpha"] and view.facets == ["tew", "ttv"]
    assert view.series == ["pasta.cpu.coo", "pasta.cpu.hicoo"]


def test_names_outside_the_spec_are_ordered_by_their_numbers(tmp_path):
    lines = [rows.row(dataset=name) for name in ("r10", "s1", "r2", "10", "r1")]
    assert make_view(read(tmp_path, lines), spec()).xs == ["10", "r1", "r2", "r10", "s1"]


FEW = [rows.session(), rows.ceilings(), rows.row(), rows.row(method="pasta.cpu.hicoo")]


@pytest.mark.parametrize("kind", KINDS)
def test_data_that_is_not_real_is_in_the_name_and_in_the_figure(tmp_path, kind):
    lines = [*FEW, rows.row(dataset="gamma", kind="stand-in"),
             rows.row(dataset="delta", kind="generated")]
    _, paths = save_artifact(read(tmp_path, lines), spec(kind=kind), tmp_path / "out")
    suffixes = {"csv", "rows.csv", "caption.txt"} | (set() if kind == "table" else {"svg", "pdf"})
    assert {path.name for path in paths.values()} == {
        f"fig4.stand-in.generated.{suffix}" for suffix in suffixes}
    if kind != "table":
        assert "stand-in data: gamma; generated data: delta" in paths["svg"].read_text()
        assert paths["pdf"].read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("kind", KINDS)
def test_real_data_needs_no_label(tmp_path, kind):
    _, paths = save_artifact(read(tmp_path, FEW), spec(kind=kind), tmp_path / "out")
    assert paths["csv"].name == "fig4.csv"
    text = paths["svg"].read_text() if "svg" in paths else ""
    assert "stand-in" not in text and "generated data" not in text


def test_the_caption_has_the_terms_of_every_data_set(tmp_path):
    own = rows.row(dataset="pattern", kind="real pattern")
    own["terms"] = {"source": "a page", "licence": "CC BY 4.0", "cite": "A. Author",
                    "pass_on": True}
    kept = rows.row(dataset="kept")
    kept["terms"] = {"source": "b", "licence": "own use", "pass_on": False}
    _, paths = save_artifact(read(tmp_path, [*FEW, own, kept]), spec(), tmp_path / "out")
    assert paths["caption.txt"].name == "fig4.real-pattern.caption.txt"
    text = paths["caption.txt"].read_text()
    assert "pattern: a page; licence: CC BY 4.0; cite: A. Author\n" in text
    assert "kept: b; licence: own use; the data may not be passed on\n" in text
    assert "real pattern data: pattern" in text
    assert text.count("its rows are older than their terms") == len(
        {line["case"]["dataset"] for line in FEW if line["kind"] == "row"})


@pytest.mark.parametrize("label", ["stand-in", "generated"])
def test_one_label_stands_alone(tmp_path, label):
    view = make_view(read(tmp_path, [*FEW, rows.row(dataset="gamma", kind=label)]), spec())
    assert (view.stem, view.data_label) == (f"fig4.{label}", f"{label} data: gamma")


def test_both_labels_stand_in_one_name(tmp_path):
    lines = [rows.row(kind="generated"), rows.row(dataset="b", kind="stand-in")]
    assert make_view(read(tmp_path, lines), spec()).stem == "fig4.stand-in.generated"


def stand_in(variant, milliseconds, method="pasta.cpu.coo", **changes):
    name = "x-like" if variant == "base" else f"x-like@{variant}"
    data = {"kind": "stand-in", "sha256": variant, "dims": [4, 5, 6], "nnz": 7, "for": "x",
            "variant": variant}
    return rows.row(dataset=name, data=data, method=method, seconds=[1e-3 * milliseconds] * 3,
                    **changes)


VARIANTS = [stand_in("base", 2), stand_in("seed", 2.1), stand_in("skew", 4),
            stand_in("clustering", 1)]


@pytest.mark.parametrize("kind", ["grouped-bars", "lines", "scatter", "roofline", "table"])
def test_variants_of_a_stand_in_are_a_band_around_its_own_value(tmp_path, kind):
    x = "intensity" if kind in ("scatter", "roofline") else "dataset"
    view, paths = save_artifact(read(tmp_path, VARIANTS), spec(kind=kind, x=x, y="time"),
                                tmp_path / "out")
    assert view.stem == "fig4.stand-in" and view.datasets == {"stand-in": ["x-like"]}
    found, = view.cells
    assert (found.x, found.measured.value, found.total) == ("x-like", 0.002, 4)
    wide = bands.factor("stats.median")
    assert wide > 1 and found.band == (pytest.approx(0.001 / wide), pytest.approx(0.004 * wide))
    with paths["csv"].open() as stream:
        line, = csv.DictReader(stream)
    assert [float(line[end]) for end in ("band from", "band to")] == pytest.approx(found.band)
    assert line["data"] == "stand-in"
    if kind != "table":
        text = paths["svg"].read_text()
        assert "4 of 5 real values lie inside" in text and "stand-in data: x-like" in text


def test_bands_of_what_was_not_calibrated_are_what_the_variants_span(tmp_path):
    lines = [{**line, "footprint": {"format_bytes": size}}
             for line, size in zip(VARIANTS, (20, 21, 40, 10))]
    view, paths = save_artifact(read(tmp_path, lines), spec(y="footprint.format_bytes"),
                                tmp_path / "out")
    assert view.cells[0].band == (10, 40)
    assert "least to largest of its variants" in paths["svg"].read_text()


def test_a_band_needs_the_base_and_takes_what_is_ok(tmp_path):
    alone = make_view(read(tmp_path, VARIANTS[2:]), spec(y="time"))
    assert alone.xs == ["x-like@clustering", "x-like@skew"]
    assert [found.band for found in alone.cells] == [None, None]
    failed = [*VARIANTS[:2], stand_in("skew", 1, status="oom", reason="9 GiB")]
    found, = make_view(read(tmp_path, failed), spec(y="time")).cells
    assert (found.ok, found.total, found.reason) == (2, 3, "oom: 9 GiB")
    wide = bands.factor("stats.median")
    assert found.band == (pytest.approx(0.002 / wide), pytest.approx(0.0021 * wide))
    baseless = [stand_in("base", 1, status="oom"), *VARIANTS[1:]]
    found, = make_view(read(tmp_path, baseless), spec(y="time")).cells
    assert found.measured is None and found.band is None


def test_the_order_of_a_spec_holds_for_a_stand_in_with_all_variants(tmp_path):
    order = {"case.dataset": ["x-like@all", "alpha"]}
    found = make_view(read(tmp_path, [rows.row(), *VARIANTS]),
                      FigureSpec("pasta/fig4", "A fixture", {"kind": "table"}, order))
    assert found.xs == ["x-like", "alpha"]


def test_speedups_of_variants_are_a_band_and_weigh_nothing_in_the_mean(tmp_path):
    other = "pasta.cpu.hicoo"
    lines = VARIANTS + [stand_in(variant, time, other) for variant, time in
                        (("base", 1), ("seed", 1), ("skew", 1), ("clustering", 2))]
    view, paths = save_artifact(read(tmp_path, lines), spec(kind="speedups", y="time"),
                                tmp_path / "out")
    bar, mean = view.cells
    assert bar.measured.value == pytest.approx(2)
    wide = bands.factor("stats.median", compared=True)
    assert bar.band == (pytest.approx(0.5 / wide), pytest.approx(4 * wide))
    assert (bar.ok, bar.total) == (4, 4)
    assert mean.measured.value == pytest.approx(2) and (mean.ok, mean.total) == (1, 1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "speedups"])
def test_failed_cases_stay_in_figure_and_table(tmp_path, kind):
    lines = [*FEW, rows.row(dataset="gamma", status="oom", reason="needs 9 GiB")]
    view, paths = save_artifact(read(tmp_path, lines), spec(kind=kind), tmp_path / "out")
    assert (view.ok, view.total) == (2, 3)
    with paths["csv"].open() as stream:
        failed = [line for line in csv.DictReader(stream) if line["status"] == "oom"]
    assert len(failed) == 1 and failed[0]["reason"] == "oom: needs 9 GiB"
    assert "2 of 3 cases ok (1 oom)" in view.notes
    if kind != "table":
        text = paths["svg"].read_text()
        assert "2 of 3 cases ok (1 oom)" in text and "gamma" in text and "oom" in text


def test_a_bar_with_missing_modes_says_so(tmp_path):
    lines = [rows.row("ttv", mode=0), rows.row("ttv", mode=1, status="timeout", reason="60 s")]
    view, paths = save_artifact(read(tmp_path, lines), spec(), tmp_path / "out")
    assert view.cells[0].reason == "timeout: mode 1: 60 s"
    assert "1/2" in paths["svg"].read_text()


def test_dots_stand_in_place_of_bars_on_a_logarithmic_axis(tmp_path):
    lines = [rows.row(dataset=name, seconds=[1e-3 * t] * 3) for name, t in (("a", 1), ("b", 9))]
    results = read(tmp_path, lines)

    def drawn(**figure):
        axes = dots.draw(make_view(results, spec(y="time", **figure))).axes[0]
        bars = [patch for patch in axes.patches if type(patch).__name__ == "Rectangle"]
        marks = [line for line in axes.lines if line.get_marker() == "o"]
        return axes.get_xscale(), len(bars), len(marks)
    assert drawn(yscale="log") == ("log", 0, 2)
    assert drawn() == ("linear", 2, 0)


def test_a_sweep_without_any_success_is_still_drawn(tmp_path):
    lines = [rows.row(status="crashed", reason="signal 11")]
    for kind in KINDS:
        view, _ = save_artifact(read(tmp_path, lines), spec(kind=kind), tmp_path / kind)
        assert view.notes[0] == "0 of 1 cases ok (1 crashed)"


def test_the_roof_is_intensity_times_measured_bandwidth(tmp_path):
    view, paths = save_artifact(read(tmp_path, rows.sweep()), spec(overlay="roofline"),
                                tmp_path / "out")
    assert cell(view, "tew", "alpha").roof == pytest.approx(4e6 / 48e6 * 20.0)
    assert cell(view, "ttv", "beta").roof == pytest.approx(8e6 / 48e6 * 20.0)
    assert "roofline (measured bandwidth)" in paths["svg"].read_text()


@pytest.mark.parametrize("kind", ["grouped-bars", "roofline"])
def test_without_ceilings_there_is_a_note_and_no_roof(tmp_path, kind):
    lines = [line for line in rows.sweep(bandwidth=None) if line["kind"] != "ceilings"]
    lines += [rows.ceilings("other session"), rows.ceilings("s1", backend="cuda")]
    view, paths = save_artifact(read(tmp_path, lines), spec(kind=kind, overlay="roofline"),
                                tmp_path / "out")
    assert all(found.roof is None for found in view.cells)
    assert any("no roofline" in note for note in view.notes)
    text = paths["svg"].read_text()
    assert "no roofline" in text and "<!-- roofline" not in text and "<!-- DRAM" not in text


def test_published_values_are_drawn_for_their_own_quantity_alone(tmp_path):
    lines = rows.sweep()
    keys = [line["key"] for line in lines if line["kind"] == "row"
            and line["case"]["operation"] == "ttv" and line["case"]["dataset"] == "beta"]
    claim = rows.verdict(published={"value": 2.5, "unit": "GFLOPS"}, value="rates.gflops",
                         keys=keys)
    results = read(tmp_path, lines)
    assert make_view(results, spec(), [claim]).published == [
        Mark("ttv", "beta", None, (2.5,), 0, "P-C16")]
    for other in ({"value": "stats.median"}, {"keys": [*keys, "unknown"]}, {"keys": []},
                  {"value": None},
                  {"published": {"value": 2.5, "unit": "s"}}, {"published": {"unit": "GFLOPS"}}):
        assert make_view(results, spec(), [claim | other]).published == []


def test_an_ok_row_without_the_quantity_is_a_gap(tmp_path):
    line = rows.row()
    del line["rates"]
    for kind in KINDS[:-2]:
        view, paths = save_artifact(read(tmp_path, [line]), spec(kind=kind), tmp_path / kind)
        assert view.cells[0].measured is None and view.cells[0].gap == "no value"
        assert kind in ("table", "stacked-bars") or "no value" in paths["svg"].read_text()


def test_names_are_no_markup(tmp_path):
    lines = [rows.row(dataset="a$x_1$b$", kind="generated")]
    for kind in KINDS:
        drawn = FigureSpec("pasta/fig4", "100 $ & <b>", spec(kind=kind, yscale="log").figure)
        paths = save_artifact(read(tmp_path, lines), drawn, tmp_path / kind)[1]
        assert ("svg" in paths) == (kind != "table")
        text = paths["svg"].read_text() if "svg" in paths else "a$x_1$b$"
        assert "a$x_1$b$" in text and "<b>" not in text


def test_a_curve_goes_through_the_numbers_of_a_text(tmp_path):
    lines = [rows.row(dataset="alpha") | {"executed": {"fit_curve": "0.25 0.5 0.625"}},
             rows.row(dataset="beta") | {"executed": {"fit_curve": "0.125"}},
             rows.row(dataset="gamma", status="oom", reason="too large")]
    drawn = spec(kind="curves", y="executed.fit_curve", facet=None, xlabel="sweep", ylabel="fit")
    _, paths = save_artifact(read(tmp_path, lines), drawn, tmp_path / "out")
    with paths["csv"].open() as stream:
        table = list(csv.DictReader(stream))
    assert [(line["dataset"], line["sweep"], line["fit"]) for line in table] == [
        ("alpha", "1", "0.25"), ("alpha", "2", "0.5"), ("alpha", "3", "0.625"),
        ("beta", "1", "0.125"), ("gamma", "1", "")]
    assert table[-1]["reason"] == "oom: too large"
    text = paths["svg"].read_text()
    assert "alpha, pasta.cpu.coo" in text
    (legend,) = curves.draw(make_view(read(tmp_path, lines), drawn)).legends
    told = [entry.get_text() for entry in legend.get_texts()]
    assert [entry for entry in told if "oom" in entry] == ["gamma, pasta.cpu.coo: oom"]
    apart = spec(kind="curves", y="executed.fit_curve", facet="dataset", xlabel="sweep",
                 ylabel="fit")
    view, paths = save_artifact(read(tmp_path, lines), apart, tmp_path / "out")
    assert view.facets == ["alpha", "beta", "gamma"]
    assert "alpha, pasta.cpu.coo" not in paths["svg"].read_text()
    alpha, _, gamma = curves.draw(make_view(read(tmp_path, lines), apart)).axes
    assert len(alpha.get_xticks()) > 0 and not len([*gamma.get_xticks(), *gamma.get_yticks()])
    lines[0]["executed"]["fit_curve"] = "0.25 high"
    with pytest.raises(PlotError, match="executed.fit_curve lists no numbers: '0.25 high'"):
        save_artifact(read(tmp_path, lines), drawn, tmp_path / "out")


@pytest.mark.parametrize("length,broken", [(2, False), (16, True)])
def test_the_label_of_an_axis_fits_beside_upright_names(tmp_path, length, broken):
    lines = [rows.row(dataset=letter * length) for letter in "abcdefghijklmnopqrst"]
    drawn = spec(kind="lines", facet=None, ylabel="MMAs of the busiest warp")
    axes, = line_figure.draw(make_view(read(tmp_path, lines), drawn)).axes
    assert ("\n" in axes.get_ylabel()) == broken


def test_an_ablations_series_are_named_by_what_they_change(tmp_path):
    usual = {"a": 1, "b": True, "c": "x"}
    lines = [rows.row(params={**usual, **change})
             for change in ({}, {"a": 2}, {"b": False}, {"c": "y"})]
    view = make_view(read(tmp_path, lines), spec(kind="table", facet=None))
    name = "pasta.cpu.coo"
    assert view.series == [name, f"{name}, a=2", f"{name}, b=false", f"{name}, c=y"]
    assert "where nothing else is said: a=1, b=true, c=x" in view.notes
    lines.append(rows.row(params={**usual, "a": 2, "b": False}))
    view = make_view(read(tmp_path, lines), spec(kind="table", facet=None))
    assert f"{name}, a=2, b=false" in view.series and len(view.series) == 5


def test_no_value_is_left_out_where_choices_are_crossed(tmp_path):
    lines = [rows.row(params={"a": a, "b": b, "c": c})
             for a in (1, 2) for b in (1, 2) for c in "xy"]
    view = make_view(read(tmp_path, lines), spec(kind="table", facet=None))
    assert "pasta.cpu.coo, a=1, b=1, c=x" in view.series and len(view.series) == 8


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_failures_among_lines_are_marked_above_them(tmp_path, scale):
    lines = [rows.row(rank=r, params={"update": u}, status="oom" if r == 16 else "ok")
             for r in (8, 16, 32) for u in "ab"]
    drawn = spec(kind="lines", x="rank", hue="params.update", facet=None, xscale=scale,
                 yscale=scale)
    view, paths = save_artifact(read(tmp_path, lines), drawn, tmp_path / "out")
    assert (view.xs, view.series) == ([8, 16, 32], ["update=a", "update=b"])
    assert "oom (reason in the table)" in paths["svg"].read_text()
    crosses = [line for line in line_figure.draw(view).axes[0].lines if line.get_marker() == "x"]
    assert len(crosses) == 2


def test_many_failures_at_one_place_stay_in_their_panel(tmp_path):
    lines = [rows.row(rank=8, params={"update": u}, status="oom") for u in range(40)]
    drawn = spec(kind="curves", x="rank", hue="params.update", facet=None, yscale="log")
    with style.applied():
        figure = curves.draw(make_view(read(tmp_path, lines), drawn))
    heights = [line.get_ydata()[0] for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert len(heights) == 40 and 0.45 < min(heights) < max(heights) < 1
    with style.applied(), warnings.catch_warnings():
        warnings.simplefilter("error")  # the layout has room for the panel
        figure.draw_without_rendering()


@pytest.mark.parametrize("series", [1, 12])
def test_panels_have_room_for_the_names_below_them(tmp_path, series):
    lines = [rows.row(dataset=f"{name}{'-of-a-tensor' * 6}", params={"threads": n})
             for name in ("one", "other", "third") for n in range(series)]
    with style.applied(), warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = line_figure.draw(make_view(read(tmp_path, lines), spec(kind="lines", facet=None)))
        figure.draw_without_rendering()
    assert all(axes.get_position().height * figure.get_size_inches()[1] > 0.3
               for axes in figure.axes)


@pytest.mark.parametrize("width", ["single", "double"])
def test_more_panels_of_bars_than_stand_side_by_side_have_rows_of_their_own(tmp_path, width):
    lines = [rows.row(rank=r, dataset=name) for r in range(1, 12) for name in "ab"]
    drawn = spec(kind="grouped-bars", facet="rank", width=width)
    figure = dots.draw(make_view(read(tmp_path, lines), drawn))
    assert len(figure.axes) == 11


def test_small_multiples_have_all_other_lines_behind_as_one(tmp_path):
    lines = [rows.row(rank=r, params={"update": u}, seconds=[0.001 * u * r] * 3)
             for r in (8, 16) for u in range(1, 11)]
    drawn = spec(kind="lines", x="rank", y="time", hue="params.update", facet=None)
    figure = line_figure.draw(make_view(read(tmp_path, lines), drawn))
    assert len(figure.axes) == 10
    for axes in figure.axes:
        behind, own = axes.lines
        assert behind.get_color() == "#D8D8D8" and len(own.get_xdata()) == 2
        known = [y for y in behind.get_ydata() if y == y]
        assert sorted(known) == pytest.approx(sorted(0.001 * u * r for r in (8, 16)
                                                     for u in range(1, 11)))
        assert len(behind.get_ydata()) == 30  # with a gap after each


@pytest.mark.parametrize("count, spaced", [(10, [1, 10]), (11, [0, 10])])
def test_many_numbers_of_an_axis_stand_side_by_side(tmp_path, count, spaced):
    results = read(tmp_path, [rows.row(rank=r) for r in range(1, count + 1)])
    drawn = spec(kind="lines", x="rank", facet=None)
    axes, = line_figure.draw(make_view(results, drawn)).axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        str(r) for r in range(1, count + 1)]
    assert list(axes.get_xticks()[[0, -1]]) == spaced


def test_panels_have_one_axis_of_numbers_whatever_they_measured(tmp_path):
    lines = [rows.row(op, rank=r) for op in ("tew", "ttv") for r in (1, 2, 4)
             if (op, r) != ("ttv", 4)]
    drawn = line_figure.draw(make_view(read(tmp_path, lines), spec(kind="lines", x="rank")))
    all_measured, some = (axes.get_xlim() for axes in drawn.axes)
    assert some == all_measured and some[0] < 1 and some[1] > 4


def test_a_panel_of_a_number_says_what_it_is(tmp_path):
    results = read(tmp_path, [rows.row("ttv", mode=m) for m in (0, 1)])
    drawn = dots.draw(make_view(results, spec(facet="mode")))
    assert [axes.get_title(loc="left") for axes in drawn.axes] == ["mode 0", "mode 1"]
    drawn = dots.draw(make_view(results, spec()))
    assert [axes.get_title(loc="left") for axes in drawn.axes] == ["ttv"]


def test_a_machine_that_all_panels_are_of_stands_above_them_alone(tmp_path):
    lines = [rows.row("ttv", name, method, params={}, variant=variant)
             for name in ("alpha", "beta") for variant in ("first", "second")
             for method in ("parti.cuda", "blco.cuda", "pasta.cpu.coo")]
    loaded = read(tmp_path, lines)
    view = make_view(loaded, spec(kind="speedups", facet="variant", to="parti.cuda"))
    assert sorted(view.facets) == [f"{variant}, Fixture {kind}" for variant in ("first", "second")
                                   for kind in ("CPU", "GPU")]
    assert captions.panels(view) == {facet: facet for facet in view.facets}
    speedups.arrange(view)
    assert list(captions.panels(view).values()) == ["first", "second"]
    titles = [axes.get_title(loc="left") for axes in speedups.draw(view).axes]
    assert titles == ["first", "second"] and "Fixture GPU" in captions.setting(view)


@pytest.mark.parametrize("kinds, said", [
    ({"alpha": "real"}, "real data"),
    ({"alpha": "real", "mine.tns": "file"}, "user files: mine.tns"),
    ({"beta": "stand-in", "mine.tns": "file"}, "stand-in data: beta; user files: mine.tns"),
])
def test_what_is_drawn_says_which_data_is_not_of_the_registry_or_real(tmp_path, kinds, said):
    lines = [rows.row("ttv", name, kind=kind) for name, kind in kinds.items()]
    assert captions.setting(make_view(read(tmp_path, lines), spec())).endswith("; " + said)


@pytest.mark.parametrize("value, whole", [("3", True), ("2.5", False)])
def test_an_axis_of_whole_numbers_has_no_fractions(tmp_path, value, whole):
    lines = [rows.row(dataset=name, artifact="own/study") | {"executed": {"threshold": number}}
             for name, number in (("alpha", "1"), ("beta", value))]
    view = make_view(read(tmp_path, lines), FigureSpec("own/study", "Thresholds", {
        "kind": "grouped-bars", "y": "executed.threshold"}))
    figure = dots.draw(view)
    figure.set_size_inches(8, 4)
    figure.draw_without_rendering()
    shown = figure.axes[0].get_xticks()
    assert all(float(tick).is_integer() for tick in shown) == whole


@pytest.mark.parametrize("published, beyond", [(1.05, True), (30, False)])
def test_a_note_stands_beyond_the_published_value_beside_it(tmp_path, published, beyond):
    lines = [rows.row("ttv", mode=mode, status=status)
             for mode, status in ((0, "ok"), (1, "failed"))] + [rows.row("ttv", "beta", mode=0)]
    view = make_view(read(tmp_path, lines), spec(y="time", yscale="log"))
    found = cell(view, "ttv", "alpha")
    value = found.measured.high * published
    view.published = [Mark("ttv", "alpha", found.series, (value,), 0, "P-1")]
    axes = dots.draw(view).axes[0]
    note = next(text for text in axes.texts if text.get_text() == "1/2")
    assert note.xy[0] == (value if beyond else found.measured.high)


def test_a_panel_names_the_positions_that_it_has(tmp_path):
    lines = [rows.row("ttv", dataset="alpha"), rows.row("tew", dataset="alpha"),
             rows.row("tew", dataset="beta")]
    drawn = dots.draw(make_view(read(tmp_path, lines), spec()))
    named = {axes.get_title(loc="left"): [label.get_text() for label in axes.get_yticklabels()]
             for axes in drawn.axes}
    assert named == {"tew": ["alpha", "beta"], "ttv": ["alpha"]}


@pytest.mark.parametrize("seconds, text", [(2.5, "2.5 s"), (0.0622, "62.2 ms"),
                                           (9.75e-5, "97.5 us"), (4e-8, "40 ns")])
def test_a_stack_tells_its_time(tmp_path, seconds, text):
    results = read(tmp_path, [rows.row(stages={"kernel": [seconds] * 3})])
    _, paths = save_artifact(results, spec(kind="stacked-bars"), tmp_path)
    assert text in paths["svg"].read_text()


def test_stages_are_stacked(tmp_path):
    stages = {"zero": [0.001] * 3, "kernel": [0.002, 0.003, 0.004]}
    view, paths = save_artifact(read(tmp_path, [rows.row(stages=stages)]),
                                spec(kind="stacked-bars"), tmp_path / "out")
    assert {name: value.value for name, value in view.cells[0].stack.items()} == {
        "phases.stages.zero": 0.001, "phases.stages.kernel": 0.003}
    with paths["csv"].open() as stream:
        assert next(csv.DictReader(stream))["kernel"] == "0.003"


def test_figures_are_the_same_from_run_to_run(tmp_path):
    results = read(tmp_path, rows.sweep())
    first, second = (save_artifact(results, spec(), tmp_path / name)[1]["svg"].read_bytes()
                     for name in "ab")
    assert first == second


def test_stale_and_drifting_rows_are_noted(tmp_path):
    lines = [rows.row(currency="stale") | {"clock_flag": True},
             rows.row(dataset="beta", currency="confirmed") | {"clock_flag": False}]
    notes = " ".join(make_view(read(tmp_path, lines), spec()).notes)
    assert "1 of 2 rows are older" in notes and "1 of 2 rows are confirmed" in notes
    assert "1 of 2 rows ran while the clock" in notes


def test_unknown_names_are_refused(tmp_path):
    results = read(tmp_path, rows.sweep())
    with pytest.raises(PlotError, match="no row has the field 'gflopps'"):
        make_view(results, spec(y="gflopps"))
    with pytest.raises(PlotError, match="no row of pasta/other"):
        make_view(results, FigureSpec("pasta/other"))
    with pytest.raises(PlotError, match="unknown figure kind 'pie'"):
        save_artifact(results, spec(kind="pie"), tmp_path)


@pytest.mark.parametrize("text, message", [
    ("schema: 1\nartifact: ../etc\n", "artifact must read"),
    ("schema: 2\nartifact: pasta/fig4\n", "newer"),
    ("- 1\n", "expected a map"),
    ("a: [\n", "bad.yaml"),
    ("artifact: pasta/fig4\nfigure: {kind: lines, facets: dataset}\n", "nearest: facet"),
    ("artifact: pasta/fig4\ninclude: ../../../outside.yaml\n", "may not leave"),
    ("artifact: pasta/fig4\ninclude: bad.yaml\n", "nested deeper")])
def test_bad_specs_are_refused(tmp_path, monkeypatch, text, message):
    (tmp_path / "experiments" / "pasta").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "experiments")
    path = tmp_path / "experiments" / "pasta" / "bad.yaml"
    path.write_text(text)
    with pytest.raises(PlotError, match=message):
        load_spec(path)


@pytest.mark.parametrize("artifact", ["own/t", "My-lab/fig_1", "9/-x", "own/_x"])
def test_an_artifact_that_the_program_measures_can_be_drawn(tmp_path, artifact):
    path = tmp_path / "mine.yaml"
    path.write_text(f"schema: 1\nartifact: {artifact}\n")
    assert load_spec(path).artifact == artifact


def test_a_spec_that_is_not_there_is_named_once(tmp_path):
    with pytest.raises(PlotError) as refusal:
        load_spec(tmp_path / "nope.yaml")
    assert str(refusal.value) == f"{tmp_path / 'nope.yaml'}: No such file or directory"


def test_includes_are_merged_and_the_including_file_wins(tmp_path):
    (tmp_path / "pasta").mkdir()
    (tmp_path / "shared.yaml").write_text(
        "title: Shared\nfigure: {kind: lines, x: rank}\naxes: {dataset: [b, a]}\n")
    (tmp_path / "pasta" / "own.yaml").write_text(
        "include: [../shared.yaml]\nartifact: pasta/fig4\nfigure: {x: dataset}\n")
    found = load_spec(tmp_path / "pasta" / "own.yaml")
    assert found.figure == {"kind": "lines", "x": "dataset"} and found.title == "Shared"
    assert found.order["case.dataset"] == ["b", "a"]


def test_a_panel_per_variant_of_the_operation_beside_variants_of_stand_ins(tmp_path):
    lines = [stand_in("base", 2), stand_in("seed", 4), rows.row(variant="mul")]
    view = make_view(read(tmp_path, lines), spec(kind="grouped-bars", facet="variant"))
    assert view.facets == ["add", "mul"]
    assert [found.band is not None for found in view.cells] == [True, False]


def test_names_of_panels_and_series_say_whose_value_they_are(tmp_path):
    lines = [rows.row(params={"remap": remap, "inner": inner}) for remap in (False, True)
             for inner in ("", "edge=16")]
    view, paths = save_artifact(
        read(tmp_path, lines), spec(kind="grouped-bars", facet="remap", hue="inner"), tmp_path)
    assert view.series == ["inner=edge=16", "inner=none"]
    text = paths["svg"].read_text()
    assert "remap=false" in text and "remap=true" in text


@pytest.mark.parametrize("low, high, unit, expected", [
    (1.5, 8, "", ["2", "5"]), (1.5, 800, "", ["10", "100"]),
    (1e-5, 0.02, "s", ["10 us", "100 us", "1 ms", "10 ms"]), (2e6, 3e6, "bytes", ["2 MB", "3 MB"]),
    (2e-4, 9e-4, "s", ["200 us", "500 us"]), (1e-7, 0.05, "", ["1e-6", "1e-4", "0.01"])])
def test_a_logarithmic_axis_has_a_few_numbers_with_si_units(low, high, unit, expected):
    axes = Figure().add_subplot()
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    units.logarithmic(axes.xaxis, unit)
    axes.figure.draw_without_rendering()
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert set(expected) <= set(shown) and len(shown) <= 6


@pytest.mark.parametrize("value, unit, text", [
    (1.234e-5, "s", "12.3 us"), (0.9996, "s", "1 s"), (2e9, "bytes", "2 GB"), (0, "s", "0 s"),
    (999.96e-6, "s", "1 ms"), (233.1e6, "", "233 M"), (1234, "", "1234"), (0.5, "GFLOPS", "0.5"),
    (512, "bytes", "512 B")])
def test_numbers_carry_si_prefixes(value, unit, text):
    assert units.shown(value, unit) == text


@pytest.mark.parametrize("x, name", [("method", "pasta.cpu.coo"), ("dataset", "alpha, pasta")])
def test_a_stack_is_named_once(tmp_path, x, name):
    lines = [rows.row(), rows.row(method="pasta.cpu.hicoo")]
    _, paths = save_artifact(read(tmp_path, lines), spec(kind="stacked-bars", x=x), tmp_path)
    text = paths["svg"].read_text()
    assert name in text and "pasta.cpu.coo, pasta.cpu.coo" not in text


@pytest.mark.parametrize("kind", ["grouped-bars", "lines", "stacked-bars"])
def test_noisy_rows_are_marked_and_counted(tmp_path, kind):
    lines = [rows.row() | {"noise": {"spread": 12.0, "reasons": ["samples spread 12-fold"]}},
             rows.row(dataset="beta") | {"noise": {"spread": 1.1, "reasons": []}},
             rows.row(dataset="gamma")]  # of an older program
    view, paths = save_artifact(read(tmp_path, lines), spec(kind=kind, y="time"), tmp_path)
    assert [found.noisy for found in view.cells] == [1, 0, 0]
    assert "~: 1 of 3 rows are noisy (samples spread: 1)" in view.notes
    assert paths["svg"].read_text().count("~") >= 2
    with paths["csv"].open() as stream:
        assert [line["noisy"] for line in csv.DictReader(stream)] == ["1", "0", "0"]


def test_imported_times_stand_in_a_figure_only_where_it_asks_for_them(tmp_path):
    own = [rows.row(dataset=name, seconds=[0.002] * 3) for name in "ab"]
    theirs = rows.row(dataset="a", seconds=[0.001] * 3, params={}) | {"code": "original"}
    results = read(tmp_path, [*own, theirs])
    assert make_view(results, spec()).series == ["pasta.cpu.coo"]
    view = make_view(results, spec(originals=True))
    assert view.series == ["pasta.cpu.coo", "pasta.cpu.coo (original)"]
    view, paths = save_artifact(results, spec(kind="speedups", y="time", originals=True,
                                              to="pasta.cpu.coo (original)"), tmp_path)
    with paths["csv"].open() as stream:
        ratios = {line["dataset"]: line for line in csv.DictReader(stream)}
    speedup = "speedup over pasta.cpu.coo (original)"
    assert float(ratios["a"][speedup]) == pytest.approx(0.5)
    assert ratios["b"][speedup] == "" and ratios["b"]["ok"] == "0"


def test_a_table_names_the_machine_where_there_are_several(tmp_path):
    lines = [rows.row(device=name, method="pasta.cuda.coo", name=name) for name in ("A", "B")]
    for given, named in ((lines, ["A", "B"]), (lines[:1], None)):
        _, paths = save_artifact(read(tmp_path, given), spec(facet=None), tmp_path)
        with paths["csv"].open() as stream:
            found = list(csv.DictReader(stream))
        assert [line["machine"] for line in found] == named if named else "machine" not in found[0]
