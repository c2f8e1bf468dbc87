"""Power that fails at any moment of a run: what was told to be finished is there afterwards,
nothing half done counts, and the same command ends well. The log of a run is replayed up to a
moment; what was not synced by then reached the disk or did not, in any order."""

import os
import shutil

import pytest

from attacks import METHOD, run
from disk import Content, Disk, records
from faults import Faults, moments, needs_shim
from sweeps import RETENSOR, TENSOR, Workspace

pytestmark = needs_shim
LOSSES = int(os.environ.get("RETENSOR_LOSSES", "1"))  # ways in which power fails at a moment


def losses(folder, before, log):
    """(the disk at a moment of a logged run, a seed for what it may hold)."""
    calls = list(records(log))
    for moment in moments(len(calls)):
        disk = Disk(folder, before)
        for call in calls[:moment]:
            disk.play(*call)
        for way in range(LOSSES):
            yield disk, moment * 1000 + way


def logged(tmp_path, folder, command):
    """What lay below a folder before a run, and the log of the calls by which that changed it."""
    before, log = tmp_path / "before", tmp_path / "log"
    shutil.copytree(folder, before)
    log.write_bytes(b"")
    environment = Faults(tmp_path, folder).environment(0, "error")
    done = command(dict(environment, SHIM_LOG=str(log)))
    assert done.returncode == 0, done.stderr
    return before, log


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "work").mkdir()
    return Workspace(tmp_path / "work")


def test_a_sweep_s_finished_rows_outlive_power(tmp_path, workspace):
    workspace.add_uniform("other", [9, 8, 7], 30)
    spec = workspace.spec([METHOD], axes={"dataset": ["tiny", "other"], "seed": [1, 2]})
    before, log = logged(tmp_path, workspace.folder,
                         lambda env: workspace.run(spec, program=RETENSOR, env=env))
    for disk, seed in losses(workspace.folder, before, log):
        rows = disk.safe.get(str(workspace.out), Content())
        disk.lose_power(seed)
        done = workspace.run(spec, program=RETENSOR)
        assert done.returncode == 0, (seed, done.stderr)
        assert workspace.out.read_bytes().startswith(rows.safe), seed
        ok = [row["key"] for row in workspace.lines() if row["status"] == "ok"]
        assert len(ok) == len(set(ok)) == 4, (seed, ok)


@pytest.mark.parametrize("ending", ["tns", "tnsb"])
def test_a_conversion_that_lost_power_is_whole_or_absent(tmp_path, ending):
    folder = tmp_path / "out"
    folder.mkdir()
    (tmp_path / "tiny.tns").write_text(TENSOR)
    target = folder / f"copy.{ending}"

    def convert(env=None):
        return run("dataset", "convert", tmp_path / "tiny.tns", target, env=env)

    before, log = logged(tmp_path, folder, convert)
    whole = target.read_bytes()
    for disk, seed in losses(folder, before, log):
        disk.lose_power(seed)
        assert not target.exists() or target.read_bytes() == whole, seed
        target.unlink(missing_ok=True)
        assert convert().returncode == 0


def test_what_is_never_synced_is_lost_at_some_time(tmp_path, workspace):
    """The replay can fail: without its syncs a log promises nothing."""
    spec = workspace.spec([METHOD], axes={"seed": [1, 2]})
    before, log = logged(tmp_path, workspace.folder,
                         lambda env: workspace.run(spec, program=RETENSOR, env=env))
    whole = workspace.out.read_bytes()
    disk = Disk(workspace.folder, before)
    for call in records(log):
        if call[0] != "sync":
            disk.play(*call)
    kept = set()
    for seed in range(20):
        disk.lose_power(seed)
        kept.add(workspace.out.read_bytes() if workspace.out.exists() else None)
    assert None in kept and len(kept - {None, whole}) > 0
