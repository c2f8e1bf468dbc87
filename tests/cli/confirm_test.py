"""retensor confirm: a sample measured again speaks for rows of older code, or does not."""

import json
import signal
import subprocess

import pytest

from sweeps import FAULTY, RETENSOR, Workspace, calibration, copies, wait_for


def confirm(workspace, *options, threshold=2, program=RETENSOR):
    options = ["--calibration",
               calibration(workspace.folder, workspace.lines("session")[0], threshold),
               *map(str, options)]
    return subprocess.run(
        [program, "confirm", workspace.out, "--registry", workspace.registry, "--cache",
         workspace.cache, *options], cwd=workspace.folder, text=True, timeout=120,
        capture_output=True, check=False)


@pytest.fixture
def aged(tmp_path):
    """A workspace with eight rows of older code, and a function that changes them."""
    workspace = Workspace(tmp_path)
    spec = workspace.spec(["pasta.cpu.coo"], axes={"seed": list(range(1, 9))})
    assert workspace.run(spec, program=RETENSOR).returncode == 0

    def change(**stats):
        text = ""
        for line in map(json.loads, workspace.out.read_text().splitlines()):
            if line["kind"] == "row":
                line["source_hash"] = "0" * 64
                line["stats"].update(stats)
            text += json.dumps(line) + "\n"
        workspace.out.write_text(text)
    return workspace, change


def test_rows_of_todays_code_need_no_confirmation(aged):
    workspace, _ = aged
    done = confirm(workspace)
    assert done.returncode == 0
    assert "every row with times was measured with today's code" in done.stderr


def test_a_sample_that_agrees_confirms_the_rest(aged):
    workspace, change = aged
    change(q1=0, q3=100)  # seconds: any time agrees
    assert len(confirm(workspace, "--dry-run").stdout.splitlines()) == 5
    done = confirm(workspace)
    assert done.returncode == 0, done.stderr
    confirmation, = workspace.lines("confirmation")
    assert len(confirmation["keys"]) == 8 and len(confirmation["sample"]) == 5
    assert len(workspace.lines()) == 13
    assert "every row with times was measured with today's code" in confirm(workspace).stderr


@pytest.mark.parametrize("asked", [True, False])
def test_oracles_are_kept_for_the_next_file_where_asked_for(aged, asked):
    workspace, change = aged
    change(q1=0, q3=100)
    assert confirm(workspace, *["--keep-oracles"] * asked).returncode == 0
    kept = [path for path in (workspace.cache / "oracle").rglob("*") if path.is_file()]
    assert bool(kept) == asked


def test_a_sample_that_differs_leaves_the_rows_stale(aged):
    workspace, change = aged
    change(median=50, q1=49, q3=51, max=500)
    done = confirm(workspace)
    assert done.returncode == 1 and "0 of 8 rows confirmed" in done.stderr
    assert not workspace.lines("confirmation")


def aged_copies(folder, count, delay):
    """A workspace with rows of older code, of cases that take `delay` ms each."""
    workspace = Workspace(folder)
    assert workspace.run(workspace.spec(copies(count, delay))).returncode == 0
    older = [line | ({"source_hash": "0" * 64} if line["kind"] == "row" else {})
             for line in map(json.loads, workspace.out.read_text().splitlines())]
    workspace.out.write_text("".join(json.dumps(line) + "\n" for line in older))
    return workspace


def test_a_case_that_reaches_the_limit_keeps_its_older_row(tmp_path):
    workspace = aged_copies(tmp_path, 1, 1500)
    before = workspace.lines()
    done = confirm(workspace, "--timeout", 1, program=FAULTY)
    assert done.returncode == 1, done.stderr
    assert "no result within 1 s" in done.stderr and "0 of 1 rows confirmed" in done.stderr
    assert workspace.lines() == before
    refused = confirm(workspace, "--timeout", 0, "--dry-run", program=FAULTY)
    assert refused.returncode == 2 and "--timeout: found 0, expected 1 to" in refused.stderr


def test_a_signal_keeps_what_was_measured_until_then(tmp_path):
    workspace = aged_copies(tmp_path, 5, 300)
    beside = tmp_path / "rows.jsonl.confirm"
    rule = calibration(tmp_path, workspace.lines("session")[0], 2)  # whatever the machine's own
    with subprocess.Popen([FAULTY, "confirm", workspace.out, "--registry", workspace.registry,
                           "--cache", workspace.cache, "--calibration", rule],
                          cwd=tmp_path, text=True, stderr=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as running:
        wait_for(lambda: beside.exists() and '"kind":"row"' in beside.read_text())
        running.send_signal(signal.SIGTERM)
        talk = running.communicate(timeout=60)[1]
    assert running.returncode == 128 + signal.SIGTERM and "run the same command again" in talk
    assert 5 < len(workspace.lines()) < 10 and not workspace.lines("confirmation")
    again = subprocess.run([FAULTY, "confirm", workspace.out, "--dry-run", "--calibration", rule],
                           cwd=tmp_path, text=True, capture_output=True, check=True)
    left = 10 - len(workspace.lines())
    assert f"{left} row{'s' * (left > 1)} to confirm" in again.stderr


def test_where_no_difference_counts_nothing_is_confirmed_or_measured(aged):
    workspace, change = aged
    change()
    before = workspace.out.read_text()
    done = confirm(workspace, threshold=None)
    assert done.returncode == 2 and workspace.out.read_text() == before
    assert "undecided, since no difference between single launches counts" in done.stderr
    assert "with 1 launch a side never" in done.stderr
    assert not list(workspace.folder.glob("*.confirm"))


def test_rows_of_another_machine_are_refused_and_nothing_is_written(aged):
    workspace, change = aged
    change()
    text = workspace.out.read_text()
    model = workspace.lines("session")[0]["machine"]["cpu"]["model"]
    workspace.out.write_text(text.replace(model, "Another Processor"))
    before = workspace.out.read_text()
    done = confirm(workspace)
    assert done.returncode == 2 and "Another Processor" in done.stderr and model in done.stderr
    assert workspace.out.read_text() == before
