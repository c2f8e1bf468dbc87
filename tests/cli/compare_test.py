"""retensor compare on files of known times; stale rows of a changed method in list and report."""
import json
import os
import subprocess

import pytest

from sweeps import RETENSOR, ROOT, Workspace

FAST = [1.00e-3, 1.01e-3, 0.99e-3, 1.00e-3, 1.02e-3]
SLOW = [1.20e-3, 1.22e-3, 1.19e-3, 1.21e-3, 1.20e-3]


def session(name="s", cpu="CPU one", commit="0123456789abcdef", dirty=False):
    return {"kind": "session", "schema": 1, "session": name, "machine": {"cpu": {"model": cpu}},
            "git": {"commit": commit, "dirty": dirty}}


def row(seconds, session="s", status="ok", method="pasta.cpu.coo", **case):
    case = {"artifact": "a/b", "dataset": "t", "operation": "ttv", "mode": 0, "launch": 0,
            "method": method, "params": {"threads": 2}, **case}
    return {"kind": "row", "schema": 1, "session": session, "key": json.dumps(case), "case": case,
            "status": status, "reason": "" if status == "ok" else "no memory",
            "phases": {"run": seconds}}


def write(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def compare(*args, code=0):
    done = subprocess.run([RETENSOR, "compare", *map(str, args)], text=True, capture_output=True,
                          timeout=60)
    assert done.returncode == code, f"{done.args}: {done.stdout}{done.stderr}"
    return done.stdout if code < 2 else done.stderr


@pytest.fixture
def files(tmp_path):
    a = write(tmp_path / "a.jsonl", session(), row(FAST), row(FAST, mode=1), row(FAST, mode=2),
              row(FAST, mode=3))
    b = write(tmp_path / "b.jsonl", session(commit="fedcba9876543210", dirty=True), row(SLOW),
              row(FAST, mode=1), row(FAST, mode=2, status="oom"), row(FAST, mode=4))
    return a, b


def test_a_slower_case_is_marked_and_the_rest_told_apart(files):
    text = compare(*files)
    lines = text.splitlines()
    assert lines[0].endswith("4 rows; CPU one; commit 0123456789ab")
    assert lines[1].endswith("4 rows; CPU one; commit fedcba987654 with changes")
    slower = next(line for line in lines if " slower  " in line)
    assert slower.startswith("1.200  [") and slower.endswith("t ttv mode=0")
    assert "not ok in B  t ttv mode=2: oom: no memory" in lines
    assert "only in A  t ttv mode=3" in lines and "only in B  t ttv mode=4" in lines
    assert lines[-1] == ("3 pairs: 1 slower, 0 faster, 1 without significant change, 0 with too "
                         "few samples, 1 not ok; 1 only in A, 1 only in B")
    assert "warning" not in text


def test_strict_fails_for_a_slower_or_broken_case_alone(files, tmp_path):
    compare(*files, "--strict", code=1)
    compare(files[0], files[0], "--strict")
    slower = write(tmp_path / "slower.jsonl", session(), row(SLOW))
    compare(files[0], slower, "--strict", code=1)
    compare(files[0], slower, "--strict", "--threshold", 25)
    compare(slower, files[0], "--strict")
    broken = write(tmp_path / "broken.jsonl", session(), row(FAST, status="timeout"))
    compare(files[0], broken, "--strict", code=1)


def test_json_holds_what_the_table_shows(files):
    found = json.loads(compare(*files, "--json"))
    changes = {pair["a"]["case"]["mode"]: pair.get("change") for pair in found["pairs"]}
    assert changes == {0: "slower", 1: "none", 2: None}
    first = next(pair for pair in found["pairs"] if pair["a"]["case"]["mode"] == 0)
    assert first["ci_low"] > 1.1 and first["ratio"] == pytest.approx(1.2)
    assert found["b"]["commits"] == ["fedcba987654 with changes"] and found["worse"]
    assert [alone["case"]["mode"] for alone in found["only_b"]] == [4]
    assert found["warnings"] == []


def test_other_machines_are_never_compared_silently(files, tmp_path):
    other = write(tmp_path / "other.jsonl", session(cpu="CPU two"), row(FAST))
    warning = "different machines in 1 of 1 pairs: A on CPU one, B on CPU two"
    assert f"warning: {warning}\n" in compare(files[0], other)
    assert json.loads(compare(files[0], other, "--json"))["warnings"] == [warning]


def test_two_methods_of_one_file(tmp_path):
    rows = write(tmp_path / "rows.jsonl", session(), row(SLOW, rank=None), row(SLOW, mode=1),
                 row(FAST, rank=None, method="pasta.cpu.hicoo",
                     params={"threads": 2, "block": 128}),
                 row(FAST, method="pasta.cpu.hicoo", params={"threads": 4, "block": 8}))
    text = compare(rows, "--by-method", "pasta.cpu.coo", "pasta.cpu.hicoo")
    assert " faster  " in text and "block=-|128" in text and "threads=2\n" in text
    assert "null" not in text
    assert "1 pair: 0 slower, 1 faster" in text and "1 only in A, 1 only in B" in text
    assert "'pasta.cpu.hicoo'" in compare(rows, "--by-method", "pasta.cpu.coo", "pasta.cpu.hico",
                                          code=2)


def test_ignored_members(tmp_path):
    a = write(tmp_path / "a.jsonl", session(), row(FAST))
    b = write(tmp_path / "b.jsonl", session(), row(FAST, artifact="a/c", params={"threads": 4}))
    assert "0 pairs" in compare(a, b)
    text = compare(a, b, "--ignore", "artifact", "params.threads")
    assert "1 pair: " in text and "threads=2|4" in text
    assert "'thread'" in compare(a, b, "--ignore", "thread", code=2)


def test_files_of_two_artifacts_are_paired_where_they_can_be(tmp_path):
    a = write(tmp_path / "a.jsonl", session(), row(FAST), row(FAST, mode=1), row(FAST, mode=2))
    b = write(tmp_path / "b.jsonl", session(), row(SLOW, artifact="a/c"),
              row(FAST, artifact="a/c", mode=1), row(FAST, artifact="a/c", mode=3))
    lines = compare(a, b).splitlines()
    assert lines[2] == "paired whatever their artifact"
    assert lines[-1].startswith("2 pairs: 1 slower") and lines[-1].endswith(
        "1 only in A, 1 only in B")
    mean = next(line for line in lines if line.startswith("geometric mean of B/A: "))
    assert mean.split()[4] == f"{1.2 ** 0.5:.3f}"
    found = json.loads(compare(a, b, "--json"))
    assert found["ignored"] == ["artifact"]
    assert found["mean"]["ratio"] == pytest.approx(1.2 ** 0.5)
    assert 1 <= found["mean"]["ci_low"] <= found["mean"]["ratio"] <= found["mean"]["ci_high"] < 1.21
    # One artifact in common: others stay apart.
    both = write(tmp_path / "both.jsonl", session(), row(SLOW, artifact="a/c"), row(SLOW))
    found = json.loads(compare(a, both, "--json"))
    assert (found["ignored"], len(found["pairs"])) == ([], 1)


def test_nothing_in_common_has_no_mean(tmp_path):
    a = write(tmp_path / "a.jsonl", session(), row(FAST))
    b = write(tmp_path / "b.jsonl", session(), row(SLOW, dataset="u"))
    assert "geometric mean" not in compare(a, b)
    assert json.loads(compare(a, b, "--json"))["mean"] is None


def test_a_file_that_is_missing_damaged_or_newer_is_refused(files, tmp_path):
    assert "none.jsonl" in compare(files[0], tmp_path / "none.jsonl", code=2)
    torn = tmp_path / "torn.jsonl"
    torn.write_text("x\n" + files[0].read_text())
    assert "torn.jsonl:1" in compare(files[0], torn, code=2)
    newer = write(tmp_path / "newer.jsonl", {**session(), "schema": 2})
    assert "schema 2" in compare(files[0], newer, code=2)


def test_rows_of_changed_sources_are_stale_in_list_and_report(tmp_path):
    workspace = Workspace(tmp_path)
    specs = tmp_path / "experiments" / "test"
    specs.mkdir(parents=True)
    spec = workspace.spec(["pasta.cpu.coo"])
    spec = spec.rename(specs / "spec.yaml")
    workspace.out = tmp_path / "out" / "results" / "here" / "rows.jsonl"
    assert workspace.run(spec, program=RETENSOR).returncode == 0

    (tmp_path / "experiments" / "schema").mkdir()

    def retensor(root, *args):
        return subprocess.run([RETENSOR, *map(str, args)], cwd=tmp_path, text=True, timeout=120,
                              capture_output=True, check=True,
                              env={**os.environ, "RETENSOR_ROOT": str(root)}).stdout

    def listed():
        return retensor(tmp_path, "list", "artifacts", "--registry", workspace.registry)

    def page():
        retensor(ROOT, "report", "--rows", workspace.out, "--specs", "experiments", "--out", "r")
        return (tmp_path / "r" / "test.html").read_text()

    stale = "1 of 1 rows are older than the code of their method"
    assert "  1 of 1 ok  " in listed() and stale not in page()
    lines = [json.loads(line) for line in workspace.out.read_text().splitlines()]
    changed = [dict(line, source_hash="0" * 64) if line["kind"] == "row" else line
               for line in lines]
    write(workspace.out, *changed)
    assert "  1 of 1 ok, 1 stale  " in listed() and stale in page()
