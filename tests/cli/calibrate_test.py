"""retensor calibrate: how often compare calls what is no difference, and what it sees."""

import json
import lzma
import os
import random
import subprocess
import sys
import time

import pytest

from compare_test import compare, row, session, write
from sweeps import RETENSOR, ROOT, Workspace, calibration


def launches(count, between, seed=1, session="s", base=1e-3, modes=3, **members):
    """Rows of the same code: launches differ by `between`, the samples of each by 1%."""
    draw = random.Random(seed)
    found = []
    for mode in range(modes):
        for launch in range(count):
            middle = base * (1 + draw.uniform(-between, between))
            samples = [middle * (1 + draw.uniform(-.01, .01)) for _ in range(7)]
            found.append({**row(samples, session, mode=mode, launch=launch), **members})
    return found


def calibrate(*args, code=0):
    done = subprocess.run([RETENSOR, "calibrate", *map(str, args)], text=True, timeout=120,
                          capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 and "--json" in args else done.stderr


def made(tmp_path, between, **how):
    rows = write(tmp_path / "launches.jsonl", session(), *launches(12, between, **how))
    file = tmp_path / "calibration.json"
    return file, calibrate(rows, "--out", file, "--json")


def one_launch(tmp_path, between, **how):
    file, found = made(tmp_path, between, **how)
    return file, found["rules"][0]


def test_a_quiet_machine_sees_small_slowdowns_and_calls_few_that_are_none(tmp_path):
    _, found = one_launch(tmp_path, .001)
    assert found["pairs"] == 3 * 66 and found["false_alarms"] <= .01
    assert found["threshold"] <= 2 and found["power"]["5%"] > .99
    alarms = [point["false_alarms"] for point in found["curve"]]
    assert alarms == sorted(alarms, reverse=True)


def test_launches_too_few_for_two_halves_make_no_file(tmp_path):
    rows = write(tmp_path / "launches.jsonl", session(), *launches(3, .001, modes=60))
    file = tmp_path / "calibration.json"
    assert "found fewer than four launches of each case" in calibrate(rows, "--out", file, code=2)
    assert not file.exists()


def test_launches_that_differ_raise_the_threshold_and_hide_small_slowdowns(tmp_path):
    _, found = one_launch(tmp_path, .06)
    assert found["curve"][0]["false_alarms"] > .3  # the interval by itself is no rule here
    assert 7 <= found["threshold"] <= 15 and found["power"]["2%"] < .1


def test_compare_uses_the_threshold_of_the_machine_and_prints_it(tmp_path):
    file, found = one_launch(tmp_path, .06)
    a = write(tmp_path / "a.jsonl", session(), row([1e-3] * 5))
    b = write(tmp_path / "b.jsonl", session(), row([1.05e-3] * 5), row([1.4e-3] * 5, mode=1))
    assert json.loads(compare(a, b, "--json"))["pairs"][0]["change"] == "slower"
    with_it = json.loads(compare(a, b, "--json", "--calibration", file))
    assert with_it["pairs"][0]["change"] == "none"
    assert f"beyond {found['threshold']:g}%" in with_it["rules"][0]
    far = write(tmp_path / "far.jsonl", session(), row([1.4e-3] * 5))
    assert json.loads(compare(a, far, "--json", "--calibration", file))["worse"]
    other = [write(tmp_path / f"{name}.jsonl", session(cpu="CPU two"), row([t] * 5))
             for name, t in (("c", 1e-3), ("d", 1.05e-3))]
    elsewhere = json.loads(compare(*other, "--json", "--calibration", file))
    assert elsewhere["pairs"][0]["change"] == "slower" and "not calibrated" in elsewhere["rules"][0]


def test_one_slow_launch_decides_the_rule_of_one_and_not_that_of_three(tmp_path):
    rows = launches(20, .005)
    for row_ in rows[::20]:  # one of each case
        row_["phases"]["run"] = [1.4 * t for t in row_["phases"]["run"]]
    file = write(tmp_path / "launches.jsonl", session(), *rows)
    by_launches = {rule["launches"]: rule for rule in calibrate(file, "--json")["rules"]}
    assert by_launches[1]["threshold"] >= 30 and by_launches[3]["threshold"] <= 3
    assert by_launches[3]["power"]["5%"] > .7
    fitted = tmp_path / "calibration.json"
    calibrate(file, "--out", fitted)
    for count, change in ((1, "none"), (3, "slower")):
        a, b = (write(tmp_path / f"{name}{count}.jsonl", session(),
                      *[row([t * (1 + n / 1000) for n in range(5)], launch=k)
                        for k in range(count)])
                for name, t in (("a", 1e-3), ("b", 1.1e-3)))
        found = json.loads(compare(a, b, "--json", "--calibration", fitted))
        assert found["pairs"][0]["change"] == change
        assert "with 3 launches a side" in found["rules"][0]


def test_a_machine_that_changes_meanwhile_has_the_rule_of_its_worse_half(tmp_path):
    calm, wild = launches(10, .002, seed=1), launches(10, .2, seed=2)
    rows = []
    for mode in range(3):
        for n, row_ in enumerate(calm[10 * mode:10 * mode + 10] + wild[10 * mode:10 * mode + 10]):
            row_["case"]["launch"] = n
            rows.append({**row_, "key": json.dumps(row_["case"])})
    file = write(tmp_path / "launches.jsonl", session(), *rows)
    rule = calibrate(file, "--json")["rules"][0]
    assert rule["halves"][0] <= 2 and (rule["halves"][1] or 99) >= 20
    assert rule["threshold"] is None or rule["threshold"] >= rule["halves"][1]


def test_where_no_threshold_suffices_nothing_is_called(tmp_path):
    file, found = one_launch(tmp_path, .6)
    assert found["threshold"] is None
    a = write(tmp_path / "a.jsonl", session(), row([1e-3] * 5))
    b = write(tmp_path / "b.jsonl", session(), row([9e-3] * 5))
    found = json.loads(compare(a, b, "--json", "--calibration", file))
    assert found["pairs"][0]["change"] == "undecided" and not found["worse"]
    text = compare(a, b, "--calibration", file)
    assert "with 1 launch a side never, with 3 launches a side never" in text
    assert "1 pair: 0 slower, 0 faster, 0 without significant change" in text
    assert ", 1 undecided, " in text
    compare(a, b, "--calibration", file, "--strict", code=1)  # it has not seen that B is as fast


def test_a_rule_needs_launches_for_two_sides_in_each_half(tmp_path):
    for count, sides in ((11, [1]), (12, [1, 3]), (20, [1, 3, 5]), (36, [1, 3, 5, 9])):
        rows = write(tmp_path / f"{count}.jsonl", session(), *launches(count, .01, modes=2))
        found = calibrate(rows, "--json")["rules"]
        assert [rule["launches"] for rule in found] == sides
        assert all(len(rule["halves"]) == 2 for rule in found)


@pytest.mark.skipif("RETENSOR_WHOLE" not in os.environ, reason="takes 20 s, in the suite `long`")
@pytest.mark.parametrize("kept, folder, thresholds", [
    ("calibration", "cpu", [None, None, 50]), ("calibration-h200", "nvidia-h200", [5, 2, 1])])
def test_the_kept_rows_give_the_committed_calibration(tmp_path, kept, folder, thresholds):
    """They are compressed beside the logs. No rule of few launches keeps false alarms at 1% on two
    cores."""
    with lzma.open(ROOT / f"ci/logs/2026-11-26-{kept}.jsonl.xz") as packed:
        (tmp_path / "rows.jsonl").write_bytes(packed.read())
    made = calibrate(tmp_path / "rows.jsonl", "--json")
    assert made == json.loads(
        (ROOT / "experiments/results" / folder / "calibration.json").read_text())
    assert [rule["threshold"] for rule in made["rules"]] == thresholds


def test_a_verdict_on_times_is_undecided_where_no_difference_counts(tmp_path):
    file, _ = one_launch(tmp_path, .6)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"device": "NVIDIA H200",
                                                               "machine": ""}))

    def verdicts(*more):
        done = subprocess.run([RETENSOR, "verdict", "flycoo", *more], text=True, timeout=120,
                              capture_output=True, check=True)
        return done.stdout
    before, after = (json.loads(verdicts("--json", *more))
                     for more in ([], ["--calibration", str(file)]))
    changed = [(a, b) for a, b in zip(before, after) if a["verdict"] != b["verdict"]]
    assert changed and len(changed) < len(before)
    for a, b in changed:
        assert a["machine"] == "NVIDIA H200" and b["verdict"] == "undecided"
        assert b["holds"] is None and b["times_count"] is False
        assert "no difference between times counts on this machine" in b["reason"]
    assert any(v["machine"] == "NVIDIA H200" and v["times_count"] and v["holds"] for v in after)
    text = verdicts("--calibration", str(file))
    assert "stay undecided, since no difference between times counts on their machine" in text


def test_too_few_pairs_or_several_machines_are_refused(tmp_path):
    few = write(tmp_path / "few.jsonl", session(), *launches(3, .01))
    assert "expected at least 100" in calibrate(few, code=2)
    busy = {"cpu_load": {"cores": 2, "own": 1, "others": 1, "average": 2}}
    noisy = write(tmp_path / "noisy.jsonl", session(), *launches(12, .01, **busy))
    assert "36 noisy rows were refused" in calibrate(noisy, code=2)
    two = write(tmp_path / "two.jsonl", session(), session("t", cpu="CPU two"),
                *launches(12, .01), *launches(12, .01, session="t"))
    assert "rows of several machines" in calibrate(two, code=2)
    assert "no calibration" in compare(few, few, "--calibration", few, code=2)


@pytest.mark.parametrize("half_way", [False, True])
def test_another_process_makes_no_difference(tmp_path, half_way):
    """Real runs of one code: the first at rest, the second beside programs that take every core
    from its beginning or from its middle on."""
    workspace = Workspace(tmp_path)
    workspace.add_uniform("larger", [300, 300, 300], 200_000)
    spec = workspace.spec([("pasta.cpu.coo", {"threads": 2})], operation="mttkrp",
                          axes={"dataset": "larger", "mode": 0, "rank": 16},
                          measure={"samples": 60})
    sides, spent = [], 0
    for name, hogs in (("a", 0), ("b", 2 * os.cpu_count())):
        workspace.out = tmp_path / f"{name}.jsonl"
        started = time.monotonic()
        run = subprocess.Popen(workspace.command(spec, program=RETENSOR), cwd=workspace.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if hogs and half_way:
            time.sleep(spent / 2)
        waste = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(hogs)]
        try:
            assert run.wait(timeout=120) == 0
            spent = time.monotonic() - started
        finally:
            for process in waste:
                process.kill()
                process.wait()
        sides.append(workspace.out)
    file = calibration(tmp_path, workspace.lines("session")[0], 2)
    pair, = json.loads(compare(*sides, "--json", "--calibration", file))["pairs"]
    assert pair["change"] in ("too noisy", "none"), pair


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


def test_samples_are_taken_until_the_interval_is_narrow_or_the_time_is_over(workspace):
    spec = workspace.spec(["pasta.cpu.coo"], measure={"samples": 5, "precision": "90%",
                                                      "at_most": "10s", "batch": 8})
    assert workspace.run(spec, program=RETENSOR).returncode == 0
    line, = workspace.lines()
    assert line["sampling"]["stopped_by"] == "precision" and line["sampling"]["reached"] <= .9
    assert line["batch"]["runs"] == 8 and 0 < line["batch"]["seconds"] < 1
    # Runs so long that few fit into the limit and hardly two take the same number of nanoseconds.
    workspace.add_uniform("cube", [200, 150, 140], 200000)
    spec = workspace.spec(["pasta.cpu.coo"], axes={"dataset": "cube"},
                          measure={"samples": 5, "precision": "0.001%", "at_most": "300ms",
                                   "timeout": "20s"})
    assert workspace.run(spec, program=RETENSOR).returncode == 0
    line = workspace.lines()[-1]
    assert line["sampling"]["stopped_by"] == "limit" and line["stats"]["count"] > 5


def test_without_precision_a_row_has_the_samples_asked_for_and_no_more_members(workspace):
    assert workspace.run(workspace.spec(["pasta.cpu.coo"]), program=RETENSOR).returncode == 0
    line, = workspace.lines()
    assert line["stats"]["count"] == 1 and "sampling" not in line and "batch" not in line


@pytest.mark.parametrize("measure,word", [
    ({"at_most": "5s"}, "with a `precision`"), ({"precision": "1%", "at_most": "20s"}, "timeout"),
    ({"precision": "1"}, "a share of the median"), ({"batch": 0}, "batch")])
def test_what_says_no_precision_is_refused(workspace, measure, word):
    done = workspace.run(workspace.spec(["pasta.cpu.coo"], measure=measure), program=RETENSOR)
    assert done.returncode == 2 and word in done.stderr


def test_interleaved_methods_take_turns_in_one_process(workspace):
    methods = ["pasta.cpu.coo", "pasta.cpu.hicoo"]
    spec = workspace.spec(methods, measure={"order": "interleaved", "samples": 5})
    assert workspace.run(spec, program=RETENSOR).returncode == 0
    rows = workspace.lines()
    assert {line["case"]["order"] for line in rows} == {"interleaved"}
    assert [line["stats"]["count"] for line in rows] == [5, 5]
    assert rows[0]["finished"] <= rows[1]["finished"] and rows[0]["cpu_load"] == rows[1]["cpu_load"]
