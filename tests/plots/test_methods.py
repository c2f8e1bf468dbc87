"""The cross-paper page: which lines it has, what they are compared with, when they break even."""
import csv

import pytest
import rows

from retensor.results import load_results
from retensor.errors import PlotError
from retensor.figures.methods import draw
from retensor.report.methods import NEVER, baselines, check, lines_of, sections, tabulate

BASE, OTHER, FAST, SLOW = "parti.cuda", "pasta.cuda.coo", "blco.cuda", "mm_csf.cuda"


def method(name, operations, converts_least=False):
    return {"id": name, "operations": operations, "converts_least": converts_least}


# As `retensor list methods --json` prints it.
REGISTRY = [method(BASE, ["mttkrp"], True), method(FAST, ["mttkrp", "mttkrp_all"]),
            method(SLOW, ["mttkrp", "mttkrp_all"]), method("product.cuda", ["spmm"], True),
            method(OTHER, ["tew", "mttkrp"], True)]


def mttkrp(method, milliseconds, prepare=0.0, status="ok", **case):
    case = {"operation": "mttkrp", "mode": 0, "artifact": "pasta/gpu-speed", "params": {},
            "variant": "", **case}
    row = rows.row(method=method, status=status, seconds=[milliseconds / 1e3] * 3, **case)
    if status == "ok":
        row["phases"]["prepare"] = prepare
        row |= {"footprint": {"format_bytes": 70, "device_bytes": 90},
                "check": {"relative_frobenius": 1e-6, "error_over_bound": 0.25}}
    return row


def lines(tmp_path, *measured, stale=()):
    old = {"currency": "stale", "stale": True}
    path = rows.write(tmp_path / "rows.jsonl", [rows.session(), *(
        row | old if row in stale else row for row in measured)])
    return lines_of(load_results([path]).rows, baselines(REGISTRY, ["mttkrp"]))


def by_method(found):
    return {line.method: line for line in found}


def test_baselines_are_what_converts_least_of_an_operation_in_the_registry_s_order():
    assert baselines(REGISTRY, ["mttkrp", "mttkrp_all"]) == [BASE, OTHER]
    assert baselines(REGISTRY[::-1], ["mttkrp"]) == [OTHER, BASE]
    assert baselines(REGISTRY, ["spmm"]) == ["product.cuda"]
    assert baselines(REGISTRY, ["contraction"]) == []


def test_a_registry_without_the_agreed_fields_is_refused():
    check(REGISTRY)
    with pytest.raises(PlotError, match="method 1: no operations, converts_least"):
        check([REGISTRY[0], {"id": FAST}])


def test_runs_to_break_even_weigh_conversion_against_time(tmp_path):
    found = by_method(lines(tmp_path, mttkrp(BASE, 4, prepare=0.1), mttkrp(FAST, 2, prepare=0.3),
                            mttkrp(SLOW, 8, prepare=0.01)))
    assert found[FAST].break_even == 100  # 0.2 s at 2 ms a run
    assert found[SLOW].break_even == NEVER
    assert found[BASE].break_even is None
    assert found[FAST].over == pytest.approx(2) and found[BASE].over == pytest.approx(1)
    assert found[FAST].per_nonzero == 10  # 70 bytes of 7 nonzeros
    again = by_method(lines(tmp_path, mttkrp(BASE, 4, prepare=0.1), mttkrp(FAST, 2, prepare=0.05)))
    assert again[FAST].break_even == 0


@pytest.mark.parametrize("change", [{"dataset": "beta"}, {"rank": 32}, {"mode": 1},
                                    {"operation": "mttkrp_all", "mode": None}, {"dtype": "f64"}])
def test_only_the_same_problem_is_compared(tmp_path, change):
    found = by_method(lines(tmp_path, mttkrp(BASE, 4), mttkrp(FAST, 2, **change)))
    assert found[FAST].base is None and found[FAST].over is None


def test_machines_are_not_compared(tmp_path):
    found = by_method(lines(tmp_path, mttkrp(BASE, 4), mttkrp(FAST, 2, device="Other GPU")))
    assert found[FAST].base is None


def test_the_first_baseline_with_a_result_counts_with_its_fastest_parameters(tmp_path):
    found = lines(tmp_path, mttkrp(OTHER, 1), mttkrp(BASE, 4, params={"chunk": 1}),
                  mttkrp(BASE, 3, params={"chunk": 2}), mttkrp(FAST, 2))
    assert {line.base.method for line in found} == {BASE}
    assert by_method(found)[FAST].over == pytest.approx(1.5)
    assert {line.params for line in found if line.method == BASE} == {"chunk=1", "chunk=2"}
    failed = lines(tmp_path, mttkrp(OTHER, 1), mttkrp(BASE, 4, status="oom"))
    assert by_method(failed)[OTHER].base.method == OTHER


def test_of_artifacts_counts_the_one_of_todays_sources_then_of_more_modes(tmp_path):
    measured = [mttkrp(FAST, 5, mode=m) for m in range(2)]
    measured += [mttkrp(FAST, 1, artifact="hlsto/fig12")]
    line, = lines(tmp_path, *measured)
    assert (line.time.value, line.row["case.artifact"]) == (0.005, "pasta/gpu-speed")
    line, = lines(tmp_path, *measured, stale=measured[:2])
    assert (line.time.value, line.stale) == (0.001, 0)
    line, = lines(tmp_path, *measured, stale=measured)
    assert (line.time.value, line.stale) == (0.005, 2)


def test_one_sample_is_no_time(tmp_path):
    once = mttkrp(FAST, 2, prepare=0.3)
    once["stats"]["count"] = 1
    found = by_method(lines(tmp_path, mttkrp(BASE, 4), once))
    assert found[FAST].time is None and found[FAST].gflops is None and found[FAST].ok == 1
    assert found[FAST].base is None and found[FAST].per_nonzero == 10
    again = by_method(lines(tmp_path, mttkrp(FAST, 2, artifact="pasta/fig7"), once))
    assert again[FAST].time.value == pytest.approx(0.002)


def test_a_failed_mode_is_counted_and_leaves_nothing_to_compare(tmp_path):
    found = by_method(lines(tmp_path, *(mttkrp(BASE, 4, mode=m) for m in range(3)),
                            mttkrp(FAST, 2, mode=0), mttkrp(FAST, 2, mode=1, status="oom")))
    assert (found[FAST].ok, found[FAST].total, found[FAST].status) == (1, 2, "oom")
    assert found[FAST].over is None
    names, table = tabulate(list(found.values()))
    modes = {line[names.index("method")]: line[names.index("modes")] for line in table}
    assert modes == {BASE: "each of 3", FAST: "0"}


def test_the_page_has_tables_figures_and_their_files(tmp_path):
    measured = [mttkrp(BASE, 4, kind="stand-in"), mttkrp(FAST, 2, kind="stand-in"),
                mttkrp(FAST, 2, dataset="alone")]
    path = rows.write(tmp_path / "rows.jsonl", [rows.session(), *measured])
    drawn = [draw() for draw in sections(load_results([path]), [], REGISTRY, tmp_path)]
    found = {section.key: section for section in drawn}
    section = found["mttkrp"]
    with open(tmp_path / section.csv, newline="") as file:
        table = list(csv.DictReader(file))
    assert [(line["tensor"], line["data"], line["method"], line["baseline"]) for line in table] == [
        ("alone", "real", FAST, ""), ("alpha", "stand-in", FAST, BASE),
        ("alpha", "stand-in", BASE, BASE)]
    assert [figure["machine"] for figure in section.figures] == ["Fixture GPU"]
    assert (tmp_path / section.figures[0]["svg"]).is_file()
    assert found["spmm"].table == found["spmm"].figures == []


def names_drawn(tmp_path, *measured):
    figure = draw(lines(tmp_path, *measured), "MTTKRP")
    return figure and [text.get_text().replace("\n", " ")
                       for text in figure.axes[0].get_yticklabels()]


def test_methods_meet_on_one_problem_alone(tmp_path):
    whole = [mttkrp(BASE, 4, mode=mode) for mode in range(3)]
    assert names_drawn(tmp_path, *whole, mttkrp(FAST, 2)) is None  # all modes and one mode
    all_modes = mttkrp(FAST, 2, operation="mttkrp_all", mode=None)
    assert names_drawn(tmp_path, *whole, all_modes) == ["alpha, rank 16"]
    assert names_drawn(tmp_path, mttkrp(BASE, 4), mttkrp(FAST, 2)) == ["alpha, rank 16, mode 0"]
    two_types = [mttkrp(name, 4, dtype=dtype) for name in (BASE, FAST) for dtype in ("f32", "f64")]
    assert names_drawn(tmp_path, *two_types) == ["alpha, rank 16, mode 0, fp32",
                                                 "alpha, rank 16, mode 0, fp64"]
    einsums = [mttkrp(name, 4, operation="contraction", variant=variant, mode=None, rank=None)
               for name in (BASE, FAST) for variant in ("ak,kb->ab", "akl,klb->ab")]
    assert names_drawn(tmp_path, *einsums) == ["alpha, ak,kb->ab", "alpha, akl,klb->ab"]
    assert names_drawn(tmp_path, einsums[0], einsums[3]) is None


def test_a_tensor_of_one_method_has_no_figure(tmp_path):
    path = rows.write(tmp_path / "rows.jsonl", [rows.session(), mttkrp(BASE, 4)])
    section = sections(load_results([path]), [], REGISTRY, tmp_path)[0]()
    assert len(section.table) == 1 and section.figures == []
