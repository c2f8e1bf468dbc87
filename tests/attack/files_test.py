"""Files that are no result files, and damaged ones: refused, and left as they are."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from attacks import METHOD, papers_file, refused, registry, rooted, run, sweep
from sweeps import RETENSOR, ROOT


@pytest.fixture
def results(workspace):
    """A result file with two rows."""
    sweep(workspace, workspace.spec([METHOD]))
    sweep(workspace, workspace.spec([METHOD], name="again", axes={"seed": 2}))
    return workspace.out


@pytest.mark.parametrize("out", ["pipe", "/dev/stdout", "/dev/null", "/dev/full"])
def test_rows_go_into_regular_files_alone(workspace, out):
    os.mkfifo(workspace.folder / "pipe")
    workspace.out = workspace.folder / out if out == "pipe" else out
    refused(sweep(workspace, workspace.spec([METHOD])), "a regular file")


READERS = [("plan", "{}"), ("run", "{}"), ("rows", "{}"), ("import", "{}"),
           ("compare", "{}", "{}"), ("verdict", "--rows", "{}"),
           ("dataset", "info", "x", "--registry", "{}"), ("dataset", "info", "{}.tns"),
           ("dataset", "info", "{}.mtx"), ("dataset", "info", "{}.tnsb")]


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_files_without_end_are_not_read(tmp_path, command, kind):
    for name in ("file", "file.tns", "file.mtx", "file.tnsb"):
        if kind == "pipe":
            os.mkfifo(tmp_path / name)
        else:
            (tmp_path / name).symlink_to("/dev/zero")
    refused(run(*[word.format(tmp_path / "file") for word in command], timeout=20,
                env=dict(os.environ, RETENSOR_CACHE=str(tmp_path / "cache"))))


@pytest.mark.parametrize("command, kind", [("verdict", "claims"), ("audit", "findings")])
def test_files_without_end_in_a_tree_are_not_read(tmp_path, command, kind):
    papers_file(tmp_path, kind).symlink_to("/dev/zero")
    (tmp_path / "rows.jsonl").write_text("")
    more = ["--rows", tmp_path / "rows.jsonl", "--registry", registry(tmp_path)]
    more = more if command == "verdict" else []
    refused(run(command, "stranger", *more, timeout=20, env=rooted(tmp_path)), f"{kind}.yaml")


def large_results(path, count, code):
    """A result file of `count` rows, each with a profile of several kB that no one compares."""
    session = {"kind": "session", "schema": 1, "session": "s",
               "machine": {"cpu": {"model": "a processor of some name"}}}
    case = {"artifact": "a/b", "dataset": "t", "operation": "ttv", "mode": 0, "launch": 0,
            "method": METHOD, "params": {"threads": 2}, "data": {"sha256": "0" * 64}}
    row = {"kind": "row", "schema": 1, "session": "s", "status": "ok", "reason": "", "code": code,
           "profile": {f"metric {n}": n / 7 for n in range(100)},
           "phases": {"run": [0.001 + n / 7e6 for n in range(20)]}}
    with open(path, "w") as out:
        out.write(json.dumps(session) + "\n")
        for n in range(count):
            out.write(json.dumps(dict(row, key=f"{n:064x}", case=dict(case, seed=n))) + "\n")
    return path


@pytest.mark.skipif(bool(os.environ.get("RETENSOR_SANITIZED")),
                    reason="the sanitizers have memory of their own")
def test_a_large_file_is_compared_in_a_part_of_its_bytes(tmp_path):
    """A file of 139 MB with 40,000 cases took 0.8 GB once."""
    large = large_results(tmp_path / "large.jsonl", 40000, "own")
    few = large_results(tmp_path / "few.jsonl", 20, "own")
    assert large.stat().st_size > 130e6
    for more in ([], ["--json"]):
        with open(tmp_path / "out", "w") as out:
            done = subprocess.Popen([RETENSOR, "compare", large, few, *more], stdout=out)
            _, code, used = os.wait4(done.pid, 0)
        assert code == 0 and used.ru_maxrss * 1024 < 200e6, (used.ru_maxrss, more)
    found = json.loads((tmp_path / "out").read_text())
    assert len(found["pairs"]) == 20 and len(found["only_a"]) == 39980 and not found["only_b"]


def test_a_whole_line_with_a_bad_byte_is_no_torn_line(workspace, results):
    whole = results.read_bytes()
    lines = whole.splitlines(keepends=True)
    for position in (0, 1, len(lines[-1]) // 2, len(lines[-1]) - 2):
        damaged = bytearray(lines[-1])
        damaged[position] = 0xff
        results.write_bytes(b"".join(lines[:-1]) + damaged)
        before = results.read_bytes()
        refused(sweep(workspace, workspace.spec([METHOD], name="third", axes={"seed": 3})),
                f"rows.jsonl:{len(lines)}", "copy")
        assert results.read_bytes() == before


def test_a_line_without_its_newline_is_torn_and_costs_itself(workspace, results):
    lines = results.read_bytes().splitlines(keepends=True)
    results.write_bytes(b"".join(lines)[:-20])
    done = sweep(workspace, workspace.spec([METHOD], name="again", axes={"seed": 2}))
    assert done.returncode == 0, done.stderr
    assert [row["case"]["seed"] for row in workspace.lines()] == [1, 2]


def nested(depth):
    return '{"kind":"row","schema":1,"case":' + "[" * depth + "]" * depth + "}\n"


@pytest.mark.parametrize("command", [
    ("verdict", "--rows", "{}"), ("compare", "{}", "{}"), ("rows", "{}"),
    ("plot", "experiments/pasta/fig4.yaml", "--rows", "{}")])
def test_deep_nesting_is_refused(tmp_path, command):
    path = tmp_path / "deep.jsonl"
    path.write_text(nested(50000))
    refused(run(*[word.format(path) for word in command], cwd=ROOT), "deep.jsonl:1")


def damages(text, count):
    """Copies of the bytes, each damaged at one place."""
    dice = random.Random(7)
    for _ in range(count):
        at, kind = dice.randrange(len(text)), dice.randrange(4)
        if kind == 0:
            yield text[:at] + bytes([dice.randrange(256)]) + text[at + 1:]
        elif kind == 1:
            yield text[:at] + text[at + dice.randrange(1, 40):]
        elif kind == 2:
            yield text[:at] + dice.choice([b"[", b"{", b'"', b"\n", b"1e999", b"null", b"-"]) + \
                text[at:]
        else:
            yield text.replace(dice.choice([b"ok", b"row", b"0", b"1", b"schema", b"case"]),
                               dice.choice([b"null", b"[]", b"\\u0000", b"9" * 400]), 3)


def test_damaged_rows_end_no_reader_by_a_crash(workspace, results):
    # The judge of all claims takes seconds under a sanitizer.
    few = "10" if os.environ.get("RETENSOR_SANITIZED") else "40"
    count = int(os.environ.get("RETENSOR_ATTACKS", few))
    whole = results.read_bytes()
    for damaged in damages(whole, count):
        results.write_bytes(damaged)
        for command in (("verdict", "--rows", results), ("compare", results, results),
                        ("rows", results)):
            done = run(*command, cwd=ROOT)
            assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
            assert "Traceback" not in done.stderr and "terminate" not in done.stderr


JUNK = [None, [], {}, "x", "", -1, 1e308, True, [[1]], {"a": {"b": [1, "x"]}}, "9" * 400,
        "\x1b[31m"]


def inside(value, path=()):
    """Paths of all members."""
    for name, member in value.items() if isinstance(value, dict) else ():
        yield (*path, name)
        yield from inside(member, (*path, name))


def other_types(lines, count):
    """Copies of the lines of a result file with a member of another type, or without one."""
    dice = random.Random(3)
    for _ in range(count):
        changed = json.loads(json.dumps(lines))
        line = dice.choice(changed)
        *above, name = dice.choice(list(inside(line)))
        at = line
        for step in above:
            at = at[step]
        at[name] = dice.choice(JUNK)
        if dice.random() < 0.2:
            del at[name]
        yield changed


def test_members_of_other_types_end_no_figure_and_no_report_by_a_crash(workspace):
    """As the plots get them: what `retensor rows` prints of a file that it takes."""
    every = "RETENSOR_ATTACKS" in os.environ
    spec = workspace.spec([METHOD], axes={"seed": [1, 2]},
                          figure={"kind": "lines", "x": "seed", "y": "stats.median"})
    sweep(workspace, spec)
    (workspace.folder / "specs").mkdir()
    shutil.copy(spec, workspace.folder / "specs")
    lines = [json.loads(line) for line in workspace.out.read_text().splitlines()]
    shown = workspace.folder / "shown.jsonl"
    packages = dict(os.environ, PYTHONPATH=str(ROOT / "plots"))
    for changed in other_types(lines, 300 if every else 5):
        workspace.out.write_text("".join(json.dumps(line) + "\n" for line in changed))
        done = run("rows", workspace.out)
        assert done.returncode in (0, 2) and "Traceback" not in done.stderr, done.stderr
        if done.returncode == 2:
            continue
        shown.write_text(done.stdout)
        for command in (("figure", "--spec", spec),
                        ("report", "--specs", workspace.folder / "specs")):
            done = subprocess.run([sys.executable, "-m", "retensor.cli", *command, "--rows", shown,
                                   "--out", workspace.folder / "out"], cwd=ROOT, env=packages,
                                  capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode in (0, 1, 2) and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_starting_ends_as_signals_do(workspace, number, code):
    """Whenever it comes: before anything is watched it kills, later it stops the sweep."""
    spec = workspace.spec([METHOD])
    for delay in (0.002, 0.005, 0.01, 0.02, 0.04, 0.08):
        running = subprocess.Popen(workspace.command(spec, "--rerun", program=RETENSOR),
                                   cwd=workspace.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        time.sleep(delay)
        running.send_signal(number)
        running.communicate(timeout=20)
        assert running.returncode in (0, -number, code), running.returncode
