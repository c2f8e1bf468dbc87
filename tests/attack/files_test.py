"""Files that are no result files, and damaged ones: refused, and left as they are."""

import os
import random
import signal
import subprocess
import time

import pytest

from attacks import METHOD, papers_file, refused, rooted, run, sweep
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
           ("compare", "{}", "{}"), ("verdict", "--results", "{}"),
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
    more = ["--results", tmp_path / "rows.jsonl"] if command == "verdict" else []
    refused(run(command, "stranger", *more, timeout=20, env=rooted(tmp_path)), f"{kind}.yaml")


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
    ("verdict", "--results", "{}"), ("compare", "{}", "{}"), ("rows", "{}"),
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
    count = int(os.environ.get("RETENSOR_ATTACKS", "40"))
    whole = results.read_bytes()
    for damaged in damages(whole, count):
        results.write_bytes(damaged)
        for command in (("verdict", "--results", results), ("compare", results, results),
                        ("rows", results)):
            done = run(*command, cwd=ROOT)
            assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
            assert "Traceback" not in done.stderr and "terminate" not in done.stderr


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
