"""Summaries over data sets: numbers checked by hand, and figures that show who failed."""
import csv
import math

import pytest
import rows

from retensor import summary
from retensor.errors import PlotError
from retensor.results import load_results
from retensor.save import save_artifact
from retensor.spec import FigureSpec

COO, HICOO = "pasta.cpu.coo", "pasta.cpu.hicoo"


def ttv(dataset, method, seconds, mode=0, **more):
    return rows.row("ttv", dataset, method, mode, seconds=[seconds] * 3, **more)


def two_methods():
    """HiCOO is 2 and 8 times faster on alpha's modes, as fast on beta, half as fast on gamma."""
    return [rows.session(),
            ttv("alpha", COO, 0.004), ttv("alpha", HICOO, 0.002),
            ttv("alpha", COO, 0.008, mode=1), ttv("alpha", HICOO, 0.001, mode=1),
            ttv("beta", COO, 0.003), ttv("beta", HICOO, 0.003),
            ttv("gamma", COO, 0.001, kind="generated"), ttv("gamma", HICOO, 0.002,
                                                            kind="generated")]


def draw(tmp_path, lines, **figure):
    results = load_results([rows.write(tmp_path / "rows.jsonl", lines)])
    spec = FigureSpec("pasta/fig4", "A fixture", {"kind": "speedups", "to": COO, **figure})
    return save_artifact(results, spec, tmp_path / "out")


def cell(view, x, series=HICOO, facet=None):
    return next(c for c in view.cells if (c.facet, c.x, c.series) == (facet, x, series))


def test_geometric_means_by_hand():
    assert summary.geometric_mean([[2, 8]]) == summary.Value(pytest.approx(4))
    weighed = summary.geometric_mean([[1, 1, 1, 1], [4]])
    assert weighed.value == pytest.approx(2)
    # Of two data sets a quarter of the resamples has the first alone, a quarter the second.
    assert (weighed.low, weighed.high) == (pytest.approx(1), pytest.approx(4))
    assert summary.geometric_mean([[3], [3], [3]]) == summary.Value(*[pytest.approx(3)] * 3)
    assert summary.geometric_mean([[2], []]) == summary.Value(pytest.approx(2))
    assert summary.geometric_mean([[], []]) is None


def test_intervals_of_geometric_means_hold_the_middle_and_are_reproducible():
    groups = [[math.exp(n % 7 - 3)] for n in range(30)]
    first, second = summary.geometric_mean(groups), summary.geometric_mean(groups)
    assert first == second and first.low < first.value < first.high
    assert first.low > math.exp(-3) and first.high < math.exp(3)


def test_profiles_by_hand():
    ratios = summary.performance_ratios({"a": [1, 4, None, None], "b": [2, 2, 3, None]})
    assert ratios == {"a": [1, 2, None, None], "b": [2, 1, 1, None]}
    assert summary.profile(ratios["a"]) == [(1, 0.25), (2, 0.5)]
    assert summary.profile(ratios["b"]) == [(1, 0.5), (2, 0.75)]
    assert summary.profile([None, None]) == [(1, 0)]
    assert summary.profile([3, 3]) == [(1, 0), (3, 1)]


def test_speedups_by_hand(tmp_path):
    view, paths = draw(tmp_path, two_methods())
    assert view.series == [HICOO]
    assert view.xs == ["alpha", "beta", "gamma", "geometric mean, real",
                       "geometric mean, generated"]
    values = {c.x: (c.measured.value, c.ok, c.total) for c in view.cells}
    assert values == {"alpha": (pytest.approx(4), 2, 2), "beta": (pytest.approx(1), 1, 1),
                      "gamma": (pytest.approx(0.5), 1, 1),
                      "geometric mean, real": (pytest.approx(2), 3, 3),
                      "geometric mean, generated": (pytest.approx(0.5), 1, 1)}
    mean = cell(view, "geometric mean, real").measured
    assert (mean.low, mean.high) == (pytest.approx(1), pytest.approx(4))
    assert cell(view, "alpha").measured.low is None
    with paths["csv"].open() as stream:
        line = next(row for row in csv.DictReader(stream) if row["dataset"].endswith("real"))
    assert float(line[f"speedup over {COO}"]) == pytest.approx(2) and line["of"] == "3"
    text = paths["svg"].read_text()
    assert "3/3" in text and "generated data: gamma" in text


def test_a_panel_without_the_row_to_compare_with_is_left_out_and_named(tmp_path):
    lines = [*two_methods(), rows.row("tew", "delta", HICOO)]
    view, paths = draw(tmp_path, lines, facet="operation")
    assert view.facets == ["ttv"] and "delta" not in view.xs
    assert "no row to compare with: tew" in paths["svg"].read_text()
    assert "mean of five runs" not in paths["csv"].read_text()  # those are seconds


@pytest.mark.parametrize("failed, status", [(HICOO, "oom"), (COO, "no base")])
def test_cases_without_a_ratio_stay_in_the_denominator(tmp_path, failed, status):
    lines = [line for line in two_methods() if line["kind"] != "row" or
             (line["case"]["dataset"], line["case"]["method"]) != ("beta", failed)]
    lines.append(ttv("beta", failed, 1, status="oom", reason="needs 9 GiB"))
    view, paths = draw(tmp_path, lines)
    beta = cell(view, "beta")
    assert (beta.measured, beta.ok, beta.total, beta.status) == (None, 0, 1, status)
    mean = cell(view, "geometric mean, real")
    assert (mean.measured.value, mean.ok, mean.total) == (pytest.approx(4), 2, 3)
    text = paths["svg"].read_text()
    assert "2/3" in text and status in text and (view.ok, view.total) == (7, 8)


def test_a_case_that_a_method_has_no_row_of_counts_against_it(tmp_path):
    view, _ = draw(tmp_path, two_methods()[:-1])
    mean = cell(view, "geometric mean, real")
    assert (mean.ok, mean.total) == (3, 3)
    missing = cell(view, "geometric mean, generated")
    assert (missing.measured, missing.ok, missing.total) == (None, 0, 1)
    gamma = cell(view, "gamma")
    assert (gamma.status, gamma.ok, gamma.total) == ("not run", 0, 1)


def test_a_launch_that_fails_takes_its_case_out(tmp_path):
    lines = [*two_methods(), ttv("beta", HICOO, 1, launch=1, status="crashed", reason="signal")]
    view, _ = draw(tmp_path, lines)
    assert (cell(view, "beta").measured, cell(view, "geometric mean, real").ok) == (None, 2)


def test_methods_meet_at_the_parameters_that_both_have(tmp_path):
    lines = [ttv("alpha", method, seconds, params=params) for method, seconds, params in (
        (COO, 0.004, {"threads": 1}), (COO, 0.002, {"threads": 2}),
        (HICOO, 0.002, {"threads": 1, "block": 8}), (HICOO, 0.002, {"threads": 2, "block": 8}))]
    view, _ = draw(tmp_path, lines)
    assert [(c.series, c.measured.value) for c in view.cells if c.x == "alpha"] == [
        (f"{HICOO}, threads=1", pytest.approx(2)), (f"{HICOO}, threads=2", pytest.approx(1))]
    with pytest.raises(PlotError, match="names several"):
        draw(tmp_path, [*lines[:2], ttv("alpha", HICOO, 0.002, params={"block": 8})])


def test_variants_of_one_method_are_compared_by_a_parameter(tmp_path):
    lines = [ttv("alpha", COO, seconds, params={"update": update})
             for update, seconds in (("atomic", 0.006), ("owner", 0.002), ("private", 0.003))]
    for to in ("atomic", {"method": COO, "update": "atomic"}):
        view, _ = draw(tmp_path, lines, hue="params.update", to=to)
        assert [(c.series, c.measured.value) for c in view.cells if c.x == "alpha"] == [
            ("update=owner", pytest.approx(3)), ("update=private", pytest.approx(2))]


def test_one_variant_is_compared_with_others_whatever_else_they_change(tmp_path):
    lines = [ttv("alpha", COO, seconds, params={"update": update, "kappa": kappa})
             for update, kappa, seconds in (("atomic", 0, 0.006), ("owner", 0, 0.002),
                                            ("owner", 4, 0.003))]
    view, _ = draw(tmp_path, lines, to={"method": COO, "params.update": "atomic"})
    assert [(c.series, c.measured.value) for c in view.cells if c.x == "alpha"] == [
        (f"{COO}, update=owner, kappa=0", pytest.approx(3)),
        (f"{COO}, update=owner, kappa=4", pytest.approx(2))]


def test_what_has_nothing_to_compare_with_says_why(tmp_path):
    lines = [ttv("alpha", method, 0.004, params={"threads": threads})
             for method, threads in ((COO, 1), (HICOO, 1), (HICOO, 2))]
    view, _ = draw(tmp_path, [*lines, ttv("beta", HICOO, 1, params={"threads": 1})])
    reasons = {(c.x, c.series): c.reason for c in view.cells if c.status == "no base"}
    assert reasons == {("alpha", f"{HICOO}, threads=2"): "no row to compare with has threads=2",
                       ("beta", f"{HICOO}, threads=1"): "no row to compare with"}


def test_ratios_stay_on_one_machine_where_both_ran(tmp_path):
    other = {"device": "Other CPU"}
    lines = [ttv("alpha", COO, 0.004), ttv("alpha", HICOO, 0.002),
             ttv("alpha", COO, 0.001, **other), ttv("alpha", HICOO, 0.001, **other)]
    view, _ = draw(tmp_path, lines)
    assert [(c.series.split(", ")[1], c.measured.value) for c in view.cells if c.x == "alpha"] == [
        ("Fixture CPU", pytest.approx(2)), ("Other CPU", pytest.approx(1))]
    assert not any("across machines" in note for note in view.notes)
    view, _ = draw(tmp_path, [lines[0], lines[3]])
    assert "across machines: Other CPU against Fixture CPU" in view.notes


def test_sizes_are_compared_as_times_are(tmp_path):
    lines = [{**ttv("alpha", method, 1), "footprint": {"format_bytes": size}}
             for method, size in ((COO, 300), (HICOO, 100))]
    view, _ = draw(tmp_path, lines, y="footprint.format_bytes")
    assert cell(view, "alpha").measured.value == pytest.approx(3)


@pytest.mark.parametrize("figure, message", [
    ({"to": "pasta.cpu.none"}, "no row is the pasta.cpu.none"),
    ({"to": None}, "needs `to`"),
    ({"y": "gflops"}, "can't be a rate"),
    ({"x": "rank"}, "x of this kind"),
    ({"kind": "performance-profile", "y": "gflops"}, "can't be a rate"),
    ({"to": {"mehtod": COO}}, "no row has the field 'mehtod'")])
def test_figures_that_compare_nothing_are_refused(tmp_path, figure, message):
    with pytest.raises(PlotError, match=message):
        draw(tmp_path, two_methods(), **figure)


def test_a_profile_by_hand_one_panel_per_kind_of_data(tmp_path):
    view, paths = draw(tmp_path, two_methods(), kind="performance-profile")
    assert view.facets == ["generated", "real"] or view.facets == ["real", "generated"]
    assert sorted(view.ratios["real"][COO].values()) == [1, pytest.approx(2), pytest.approx(8)]
    assert sorted(view.ratios["real"][HICOO].values()) == [1, 1, 1]
    assert cell(view, "alpha", COO, "real").measured.value == pytest.approx(4)
    assert "share of cases" in paths["svg"].read_text()


def plateau(view, series):
    return summary.profile(list(view.ratios["real"][series].values()))[-1][1]


def test_a_failing_solver_has_a_lower_plateau(tmp_path):
    view, paths = draw(tmp_path, two_methods(), kind="performance-profile")
    assert plateau(view, HICOO) == 1 and "2/3" not in paths["svg"].read_text()
    failing = [line if line.get("key") is None or line["case"]["dataset"] != "beta" or
               line["case"]["method"] != HICOO else
               ttv("beta", HICOO, 1, status="timeout", reason="60 s") for line in two_methods()]
    view, paths = draw(tmp_path, failing, kind="performance-profile")
    assert plateau(view, HICOO) == pytest.approx(2 / 3) and plateau(view, COO) == 1
    text = paths["svg"].read_text()
    assert "2/3" in text and "beta" in text and "timeout" in text
