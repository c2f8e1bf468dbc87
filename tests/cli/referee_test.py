"""`referee`: who is faster where, and every unfairness that rows show, each planted in rows that
were measured."""
import json
import subprocess
from copy import deepcopy

import pytest

from sweeps import RETENSOR, calibration

A, B = "pasta.cpu.coo", "pasta.cpu.hicoo"
SAMPLES = [1.0, 1.001, 1.002, 0.999, 1.0]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The lines of a small sweep of two methods, and its spec."""
    from sweeps import Workspace
    workspace = Workspace(tmp_path_factory.mktemp("referee"))
    spec = workspace.spec([A, B], operation="mttkrp", axes={"rank": 3},
                          measure={"samples": 5})
    done = workspace.run(spec, program=RETENSOR)
    assert done.returncode == 0, done.stderr
    return spec, [json.loads(line) for line in workspace.out.read_text().splitlines()]


def rows_of(lines, method):
    return [line for line in lines
            if line["kind"] == "row" and line["case"]["method"] == method]


def calm(lines):
    """The same with times of a quiet machine: A takes half as long as B."""
    lines = deepcopy(lines)
    for method, scale in ((A, 1e-3), (B, 2e-3)):
        for row in rows_of(lines, method):
            row["phases"].update(run=[scale * s for s in SAMPLES], prepare=scale, stages={})
            row["stats"].update(median=scale, min=scale, max=scale)
            row["check"]["relative_frobenius"] = 1e-7
            row["executed"] = {"threads": "2"}
            row.pop("cpu_load", None)
    return lines


def referee(measured, tmp_path, change=None, *options, code=0, threshold=2):
    spec, lines = measured
    lines = calm(lines)
    if change is not None:
        lines = change(lines) or lines
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    session = next(line for line in measured[1] if line["kind"] == "session")
    done = subprocess.run([RETENSOR, "referee", str(spec), "--rows", str(path), "--calibration",
                           calibration(tmp_path, session, threshold), *options],
                          text=True, capture_output=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def bout(measured, tmp_path, change=None):
    found, = json.loads(referee(measured, tmp_path, change, "--json"))
    return found


def test_a_fair_fight_has_a_winner_and_no_lint(measured, tmp_path):
    found = bout(measured, tmp_path)
    assert (found["a"], found["b"], found["a_faster"], found["b_faster"]) == (A, B, 3, 0)
    assert found["lints"] == []
    page = referee(measured, tmp_path)
    assert "Of 3 problems A is faster on 3, B on 0, neither on 0; 0 undecided" in page
    assert "The rows show nothing unfair." in page
    assert page.count(f"| {A}") == 3 and "2.000" in page


def test_where_no_difference_counts_nobody_wins(measured, tmp_path):
    page = referee(measured, tmp_path, threshold=None)
    assert "Of 3 problems A is faster on 0, B on 0, neither on 0; 3 undecided" in page
    assert page.count("undecided: no difference counts with 1 launch a side") == 3
    assert "with 1 launch a side never" in page


def on_b(change):
    """A change of each row of B."""
    def apply(lines):
        for row in rows_of(lines, B):
            change(row)
    return apply


def wrong(lines):
    row = rows_of(lines, B)[0]
    row.update(status="wrong", reason="entry (1, 1) is 0")


def missing(lines):
    gone = rows_of(lines, B)[0]
    return [line for line in lines if line is not gone]


def second_variant(lines):
    for row in rows_of(lines, B):
        other = deepcopy(row)
        other["case"]["params"]["block"] = 64
        other["key"] = other["key"][::-1]
        lines.append(other)


def other_session(lines):
    session = deepcopy(next(line for line in lines if line["kind"] == "session"))
    session["session"] = "another"
    lines.insert(0, session)
    for row in rows_of(lines, B):
        row["session"] = "another"


def other_machine(lines):
    other_session(lines)
    lines[0]["machine"]["cpu"]["model"] = "Another CPU"


DECLINED = "on a probe (two modes of 70,000, more than 2^32 cells) it is unsupported: too large"
WRONG = "on a probe (empty slices in every mode) it is wrong: entry (1, 1) is 0"
LINTS = {
    "wrong": (wrong, f"Wrong results in 1 of 3 rows of {B}"),
    "finding": (on_b(lambda row: row.update(findings=["it sleeps"])),
                f"Finding in 3 of 3 rows of {B}: it sleeps"),
    "declined": (on_b(lambda row: row.update(foreign={"probes_declined": [DECLINED]})),
                 f"A probe was declined, which is no fault, in 3 of 3 rows of {B}: {DECLINED}"),
    # As rows of older programs have it.
    "declined once": (on_b(lambda row: row.update(findings=[DECLINED])),
                      f"A probe was declined, which is no fault, in 3 of 3 rows of {B}"),
    "declined and wrong": (on_b(lambda row: row.update(findings=[DECLINED, WRONG])),
                           f"Finding in 3 of 3 rows of {B}: {WRONG}"),
    "missing": (missing, f"{B} has no time on 1 of 3 problems: 1 without a row, 0 not ok"),
    "precision": (on_b(lambda row: row["check"].update(relative_frobenius=1e-3)),
                  "the relative error of pasta.cpu.coo is 1e-07, that of pasta.cpu.hicoo 0.001"),
    "declared": (on_b(lambda row: row.update(arithmetic={"operand_eps": 2**-11,
                                                         "accumulate_eps": 2**-24})),
                 f"Operands are rounded by up to 0 for {A} and 0.00049 for {B}, as they declare"),
    "preparation": (on_b(lambda row: row["phases"].update(prepare=1.0)),
                    f"{B} prepares (its format, reordering, tuning) for 1 s, 500 of its runs"),
    "zeroing": (on_b(lambda row: row["phases"].update(stages={"zero": [1e-3] * 5})),
                f"50% of the time of {B} is zeroing its output"),
    "caches": (on_b(lambda row: row["case"].update(cache="flushed")),
               f"Caches are warm for {A} and flushed for {B}"),
    "threads": (on_b(lambda row: row["executed"].update(threads="1")), f"1 for {B}"),
    "imported": (on_b(lambda row: row.update(code="original")),
                 "whose results nobody checked here, in 3 of 3 rows"),
    "outside": (on_b(lambda row: row.update(foreign={"times": "outside", "empty_step": 1e-3})),
                "Times by ReTensor's clock, of which an empty step may take more than 5%"),
    "drift": (on_b(lambda row: row.update(clock_flag=True)),
              "Clocks drifted by more than 2% in 3 of 3 pairs"),
    "session": (other_session, "No session measured both"),
    "machine": (other_machine, "Different machines in 3 of 3 pairs"),
}


@pytest.mark.parametrize("lint", LINTS)
def test_an_unfairness_is_told(measured, tmp_path, lint):
    change, words = LINTS[lint]
    found = bout(measured, tmp_path, change)
    assert any(words in line for line in found["lints"]), found["lints"]
    decided = {"finding": 0, "caches": 0, "machine": 0, "declined and wrong": 0, "wrong": 2,
               "missing": 2}.get(lint, 3)
    assert found["a_faster"] == decided


def test_the_best_of_several_variants_is_told(measured, tmp_path):
    bouts = json.loads(referee(measured, tmp_path, second_variant, "--json"))
    assert len(bouts) == 3  # each variant is a contestant of its own
    against_a = [b for b in bouts if A in (b["a"], b["b"])]
    assert len(against_a) == 2
    for found in against_a:
        assert any("one of 2 variants that were measured, the other one of 1" in line
                   for line in found["lints"]), found["lints"]
    between = referee(measured, tmp_path, second_variant, "--between", A, f"{B} block=64")
    assert between.count("\n## ") == 1
    refused = referee(measured, tmp_path, second_variant, "--between", A, B + " block=65", code=2)
    assert f"did you mean '{B} block=64'?" in refused


def test_nothing_to_compare_is_said(measured, tmp_path):
    error = referee(measured, tmp_path,
                    lambda lines: [x for x in lines if x not in rows_of(lines, B)], code=2)
    assert "found rows of 1 method of test/spec, expected two or more" in error
