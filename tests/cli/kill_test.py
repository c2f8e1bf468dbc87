"""A sweep that is killed at random moments and resumed gives the rows of an undisturbed one.

$RETENSOR_KILLS moments, 20 by default.
"""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from sweeps import Workspace, copies

MOMENTS = int(os.environ.get("RETENSOR_KILLS", "20"))
CASES = 8


def methods():
    return copies(CASES, 15) + ["faulty.cpu.exception"]


def row_set(workspace):
    """Case key to status of its newest row."""
    return {row["key"]: row["status"] for row in workspace.lines()}


def worker_of(pid):
    """The worker of a driver. Other children are LeakSanitizer's, for whom a driver that ends would
    wait for ever."""
    try:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if b"worker" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
                return int(child)
    except OSError:
        pass
    return None


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    workspace = Workspace(tmp_path_factory.mktemp("undisturbed"))
    start = time.monotonic()
    assert workspace.run(workspace.spec(methods())).returncode == 1
    seconds = time.monotonic() - start
    rows = row_set(workspace)
    assert sorted(rows.values()) == ["failed"] + ["ok"] * CASES
    return rows, seconds


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_killed_at_a_random_moment(tmp_path, undisturbed, moment):
    expected, seconds = undisturbed
    rng = random.Random(moment)
    workspace = Workspace(tmp_path)
    spec = workspace.spec(methods())
    running = workspace.start(spec)
    time.sleep(rng.uniform(0, 1.1 * seconds))
    victim = running.pid if rng.random() < 0.6 else worker_of(running.pid)
    if victim is not None:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
    running.communicate(timeout=60)
    whole = workspace.out.read_bytes() if workspace.out.exists() else b""
    whole = whole[:whole.rfind(b"\n") + 1]

    workspace.run(spec)
    assert workspace.out.read_bytes().startswith(whole), "a finished row was lost"
    assert row_set(workspace) == expected
    ok = [row["key"] for row in workspace.lines() if row["status"] == "ok"]
    assert len(ok) == len(set(ok)), "a finished row was doubled"


def test_a_decomposition_that_is_killed_goes_on_from_its_checkpoint(tmp_path):
    workspace = Workspace(tmp_path)
    workspace.add_uniform("random", [30, 20, 25], 900)
    checkpoint = tmp_path / "model"
    other = {"operation": "cpd", "axes": {"dataset": "random", "rank": 8, "dtype": "f64",
                                          "max_sweeps": 500, "tolerance": 0},
             "measure": {"timeout": "100s"}}  # with a sanitiser on a busy machine
    plain = workspace.spec(["cpd.cpu.als"], "plain", **other)
    spec = workspace.spec([("cpd.cpu.als", {"checkpoint": str(checkpoint)})], **other)
    assert workspace.run(plain).returncode == 0
    running = workspace.start(spec)
    while not checkpoint.exists() and running.poll() is None:
        time.sleep(0.001)
    running.kill()
    running.communicate(timeout=60)

    # The next run reads the file: it refuses a damaged one.
    intact = checkpoint.read_bytes()
    checkpoint.write_bytes(intact[:-1])
    assert workspace.run(spec).returncode == 1
    assert "not an intact checkpoint" in workspace.lines()[-1]["reason"]
    checkpoint.write_bytes(intact)
    assert workspace.run(spec).returncode == 0
    whole, resumed = (row["executed"] for row in workspace.lines() if row["status"] == "ok")
    assert resumed["fit_curve"] == whole["fit_curve"]
    assert not checkpoint.exists()
