"""`advise` and `method: auto`: what is predicted for a user's own tensor, and what runs then."""
import json
import random
import re
import shutil
import subprocess

import pytest

from sweeps import RETENSOR, ROOT

ROWS = ROOT / "experiments/results"


@pytest.fixture
def own(workspace):
    """A random tensor of the user's, and how to run a command in its folder."""
    draw = random.Random(20)
    places = {(draw.randint(1, 90), draw.randint(1, 70), draw.randint(1, 20)) for _ in range(4000)}
    (workspace.folder / "mine.tns").write_text(
        "".join(f"{i} {j} {k} {draw.random():.4f}\n" for i, j, k in sorted(places)))

    def run(command, *args, code=0):
        done = subprocess.run([RETENSOR, command, *map(str, args), "--cache",
                               str(workspace.cache)], cwd=workspace.folder, text=True,
                              capture_output=True, timeout=120, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done
    workspace.do = run
    return workspace


def test_a_tensor_gets_a_table_and_two_lines_of_reasons(own):
    out = own.do("advise", "mine.tns", "--rank", 8, "--calls", 1000, "--all").stdout
    table, why = out.split("\n\n")
    assert table.splitlines()[0].split()[:5] == ["method", "parameters", "prepare", "run", "total"]
    assert len(table.splitlines()) > 4
    first = table.splitlines()[1].split()[0]
    assert why.startswith(f"{first} ") and "for 1000 calls" in why.splitlines()[0]
    assert "families of tensors" in why.splitlines()[1]


def test_more_calls_pay_for_preparations_and_limits_leave_methods_out(own):
    def ask(*args, code=0):
        return json.loads(own.do("advise", "mine.tns", *args, "--json", code=code).stdout)
    once, often = (ask("--machine", "H200", "--calls", calls) for calls in (1, 1e6))
    assert once["ranked"][0]["prepare_seconds"] < often["ranked"][0]["prepare_seconds"]
    assert once["ranked"][0]["run_seconds"] > often["ranked"][0]["run_seconds"]
    exact = ask("--machine", "H200")
    rough = ask("--machine", "H200", "--error", 0.1)
    assert {m["method"] for m in exact["ranked"]} < {m["method"] for m in rough["ranked"]}
    assert all(m["device_bytes"] > 0 for m in exact["ranked"])
    tight = ask("--memory", "1KiB", "--machine", "device", code=1)
    assert not tight["ranked"]
    assert any("memory" in m["reason"] for m in tight["declined"])


@pytest.mark.parametrize("operation, more", [
    ("ttv", []), ("ttm", []), ("ts", []), ("tew", []), ("mttkrp_all", []), ("ttm_chain", []),
    ("contraction", ["--variant", "abk,kcd->abcd", "--error", 0.1])])
def test_every_operation_has_candidates(own, operation, more):
    (own.folder / "square.tns").write_text("1 2 3 1\n4 5 6 2\n9 9 9 1\n")
    found = json.loads(own.do("advise", "square.tns", "--operation", operation, "--machine",
                              "H200", *more, "--json").stdout)
    assert found["ranked"] and found["why"].count("\n") == 1


def test_a_matrix_of_spmm_weighs_the_libraries(own):
    (own.folder / "m.mtx").write_text("%%MatrixMarket matrix coordinate real general\n"
                                      "64 64 3\n1 1 2.5\n3 2 1\n64 64 1\n")
    found = json.loads(own.do("advise", "m.mtx", "--operation", "spmm", "--rank", 64, "--machine",
                              "H200", "--error", 0.01, "--json").stdout)
    names = {m["method"] for m in found["ranked"]}
    assert {"cublas.cuda", "cusparse.cuda", "sputnik.cuda"} <= names
    assert found["outside"]  # no such matrix was measured


def test_a_trial_measures_here(own):
    found = json.loads(own.do("advise", "mine.tns", "--trial", "--calls", 1e6, "--json").stdout)
    assert 1 <= len(found["trial"]) <= 3
    for tried in found["trial"]:
        assert tried["run_seconds"] > 0 and not tried["failure"]
    tried = len([step for step in found["trial"] if not step["failure"]])
    measured = [choice["measured"] for choice in found["ranked"]]
    assert measured == [True] * tried + [False] * (len(measured) - tried)
    behind = [choice["total_seconds"] for choice in found["ranked"][1:tried]]
    assert behind == sorted(behind)
    text = own.do("advise", "mine.tns", "--trial", "--calls", 1e6).stdout
    rows = [re.split(r" {2,}", line) for line in text.splitlines()[1:1 + len(measured)]]
    assert rows[0][5:7] == ["1.00x", "measured"]
    assert {row[5] for row in rows if row[6:7] != ["measured"] and len(row) > 6} <= {"-"}
    method = text.splitlines()[1].split()[0]
    assert f"A trial put {method}" in text and "\nBefore it: " in text


@pytest.mark.parametrize("args, words", [
    (["--operation", "mtkrp"], "did you mean 'mttkrp'?"),
    (["--calls", "0"], "--calls: found 0"),
    (["--memory", "8XB"], "--memory: found '8XB'"),
    (["--machine", "abacus"], "found 'abacus', expected one of cpu, device"),
    (["--machine", "cpu", "--trial"], "leave --machine out"),
    (["--model", "mine.tns"], "mine.tns: model of the planner: found text that is no JSON at"),
    (["--model", "object.json"], "object.json: model of the planner: found JSON without the lists"),
    (["--model", "list.json"], "list.json: model of the planner: found JSON without the lists"),
    (["--model", "empty.json"], "empty.json: model of the planner: found text that is no JSON"),
    (["--calls", "1e20"], "--calls: found 1e+20, expected 1 to 1e12"),
    (["mine.tns"], "found 2 arguments, expected only a data set or a tensor file"),
    (["--mode", "7"], "mode 7")])
def test_mistakes_are_told(own, args, words):
    for name, text in (("object", "{}"), ("list", "[]"), ("empty", "")):
        (own.folder / f"{name}.json").write_text(text)
    assert words in own.do("advise", "mine.tns", *args, code=2).stderr


def test_auto_becomes_one_method_and_the_row_says_so(own):
    spec = own.spec([("auto", {"calls": [1, 100000]}), "pasta.cpu.plain"], operation="mttkrp",
                    axes={"dataset": "mine.tns", "mode": [0, 2], "rank": 4})
    assert own.do("plan", spec).stdout.count("auto") == 4
    done = own.run(spec, program=RETENSOR)
    assert done.returncode == 0, done.stderr
    rows = own.lines()
    assert {row["case"]["method"] for row in rows} > {"pasta.cpu.plain"}
    assert "auto" not in {row["case"]["method"] for row in rows}
    chosen = [row for row in rows if "chosen_by" in row["executed"]]
    assert {name for row in chosen
            for name in row["executed"]["chosen_by"].split(", ")} == {"auto calls=1",
                                                                      "auto calls=100000"}
    assert all(row["check"]["ok"] and row["executed"]["expected_run"] for row in chosen)
    again = own.run(spec, program=RETENSOR)
    assert again.returncode == 0 and len(own.lines()) == len(rows)


def test_a_sweep_that_goes_on_keeps_to_what_was_chosen(own):
    """A second trial may end otherwise, which would add a row to a sweep that is complete."""
    spec = own.spec([("auto", {"calls": 1}), "pasta.cpu.hicoo"], operation="mttkrp",
                    axes={"dataset": "mine.tns", "mode": 0, "rank": 4})
    assert own.run(spec, program=RETENSOR).returncode == 0
    lines = own.lines("session")
    chosen, other = sorted(own.lines(), key=lambda row: "chosen_by" not in row["executed"])
    assert other["case"]["method"] == "pasta.cpu.hicoo" != chosen["case"]["method"]
    other["executed"]["chosen_by"] = "auto calls=1, auto calls=9"
    own.out.write_text("".join(json.dumps(line) + "\n" for line in [*lines, other]))
    assert own.run(spec, program=RETENSOR).returncode == 0
    assert own.lines() == [other]
    assert own.run(spec, "--rerun", program=RETENSOR).returncode == 0
    assert chosen["case"] in [row["case"] for row in own.lines()]


def test_auto_that_has_no_method_is_a_row_and_parameters_are_checked(own, monkeypatch):
    spec = own.spec([("auto", {"error": 1e-12})], operation="ttm_chain",
                    axes={"dataset": "mine.tns", "mode": 0, "rank": 4})
    assert own.run(spec, program=RETENSOR).returncode == 1
    row, = own.lines()
    assert row["status"] == "unsupported" and "the planner has no method" in row["reason"]
    own.run(spec, program=RETENSOR)
    assert len(own.lines()) == 1, "a finished sweep adds nothing"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    own.run(own.spec([("auto", {"machine": "device"})], operation="mttkrp", name="gpu",
                     axes={"dataset": "mine.tns", "mode": 0, "rank": 4}), program=RETENSOR)
    assert own.lines()[-1]["reason"].startswith("machine: device: ")
    wrong = own.spec([("auto", {"call": 3})], name="wrong")
    done = own.run(wrong, program=RETENSOR)
    assert done.returncode == 2 and "call" in done.stderr


def test_decompositions_and_bench_take_the_choice(own):
    out = own.do("cp", "mine.tns", "--rank", 2, "--max-sweeps", 2).stdout
    assert "chosen for 2 calls" in out.splitlines()[0]
    named = own.do("cp", "mine.tns", "--rank", 2, "--max-sweeps", 2, "--method",
                   "pasta.cpu.coo").stdout
    assert named.startswith("MTTKRP by pasta.cpu.coo, ")
    chosen = own.do("bench", "mine.tns", "--method", "auto", "--mode", 0, "--no-ceilings")
    assert "(auto)" in chosen.stdout


def test_a_row_that_tells_another_time_makes_another_table(tmp_path):
    """That the committed table is the committed rows' is seen by ci/lint."""
    changed = tmp_path / "rows.jsonl"
    shutil.copy(ROWS / "nvidia-h200/flycoo-small.jsonl", changed)
    lines = [json.loads(line) for line in changed.read_text().splitlines()]
    tables = []
    for factor in (1, 3):
        for line in lines:
            if line["kind"] == "row" and line["status"] == "ok":
                line["stats"]["median"] *= factor
        changed.write_text("".join(json.dumps(line) + "\n" for line in lines))
        subprocess.run([RETENSOR, "advise", "--train", tmp_path / "m.json", changed], check=True,
                       capture_output=True)
        tables.append((tmp_path / "m.json").read_text())
    assert tables[0] != tables[1]


def test_the_table_takes_the_newest_code_and_rows_with_several_preparations(own):
    """Rows of one case: old code with one preparation, old code with three, new code with one."""
    assert own.run(own.spec(["pasta.cpu.coo"], operation="mttkrp",
                            axes={"dataset": "mine.tns", "mode": 0, "rank": 4}),
                   program=RETENSOR).returncode == 0
    row, = own.lines()

    def trained(*changes):
        """Seconds of a run and of a preparation in the table of these rows."""
        lines = own.lines("session")
        for k, (code, run, preparations) in enumerate(changes):
            one = json.loads(json.dumps(row))
            one.update(key=f"{k:064x}", source_hash=code * 64,
                       finished=f"2026-01-0{k + 1}T00:00:00Z")
            one["stats"]["median"] = run
            one["phases"].pop("preparations", None)
            one["phases"]["prepare"] = sorted(preparations)[len(preparations) // 2]
            if len(preparations) > 1:
                one["phases"]["preparations"] = preparations
            lines.append(one)
        (own.folder / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in lines))
        own.do("advise", "--train", "m.json", "rows.jsonl")
        (_, _, run, prepare, *_), = json.loads((own.folder / "m.json").read_text())["times"]
        return run, prepare
    old, several, new = ("a", 1, [64]), ("a", 3, [2, 4, 9]), ("b", 7, [32])
    assert trained(old, new) == (7, 32)
    assert trained(old, several) == (2, 4)
    assert trained(old, several, new) == (7, 4)


def test_the_choices_meet_the_bar_on_families_that_were_left_out():
    lines = json.loads(subprocess.run([RETENSOR, "advise", "--regret", "--json"], check=True,
                                      capture_output=True, text=True).stdout)
    total = {line["calls"]: line for line in lines if not line["operation"]
             and not line["only_real"]}
    assert set(total) == {1, 10, 100, 1000}
    assert all(1 < line["predicted"]["mean"] <= 1.10 for line in total.values())
