"""Each call that changes a file fails once, or is the last one: what was finished stays, nothing
half done counts, and the same command ends well afterwards."""

import os

import pytest

from attacks import METHOD, run
from sweeps import RETENSOR

SHIM = os.environ.get("RETENSOR_SHIM", "")
MOST = int(os.environ.get("RETENSOR_ATTACKS", "0")) or 12  # moments of each run that are tried

pytestmark = pytest.mark.skipif(not SHIM or bool(os.environ.get("RETENSOR_SANITIZED")),
                                reason="needs its library, which sanitizers do not load")


class Faults:
    """Environments in which the n-th call fails, and the number of calls of the last run."""

    def __init__(self, folder, below):
        self.counter = folder / "counter"
        self.below = below

    def environment(self, number, how):
        self.counter.write_bytes(bytes(8))
        return dict(os.environ, LD_PRELOAD=SHIM, SHIM_BELOW=str(self.below), SHIM_HOW=how,
                    SHIM_COUNTER=str(self.counter), SHIM_FAIL=str(number))

    def calls(self):
        return int.from_bytes(self.counter.read_bytes(), "little")


def moments(calls):
    """Numbers of calls to fail: all of them, or so many that lie evenly."""
    assert calls > 0
    return sorted({1 + k * (calls - 1) // max(MOST - 1, 1) for k in range(min(MOST, calls))})


@pytest.mark.parametrize("how", ["error", "full", "exit"])
def test_a_sweep_loses_nothing_that_was_finished(tmp_path, workspace, how):
    faults = Faults(tmp_path, workspace.folder)
    workspace.add_uniform("other", [9, 8, 7], 30)
    spec = workspace.spec([METHOD], axes={"dataset": ["tiny", "other"], "seed": [1, 2]})

    def sweep(number):
        return workspace.run(spec, program=RETENSOR, env=faults.environment(number, how))

    assert sweep(0).returncode == 0
    for number in moments(faults.calls()):
        workspace.out.unlink()
        for path in sorted(workspace.cache.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        faulty = sweep(number)
        assert faulty.returncode in (0, 1, 2, 3, 99), (number, faulty.returncode, faulty.stderr)
        whole = workspace.out.read_bytes().split(b"\n")[:-1] if workspace.out.exists() else []
        assert sweep(0).returncode == 0, number
        after = workspace.out.read_bytes().split(b"\n")
        assert after[:len(whole)] == whole, number
        done = [row["key"] for row in workspace.lines() if row["status"] == "ok"]
        assert len(done) == len(set(done)) == 4, (number, done)


@pytest.mark.parametrize("how", ["error", "full", "exit"])
@pytest.mark.parametrize("ending", ["tns", "tnsb"])
def test_a_conversion_is_whole_or_absent(tmp_path, workspace, how, ending):
    target = tmp_path / "out" / f"copy.{ending}"
    target.parent.mkdir()
    faults = Faults(tmp_path, target.parent)

    def convert(number):
        return run("dataset", "convert", workspace.folder / "tiny.tns", target,
                   env=faults.environment(number, how))

    assert convert(0).returncode == 0
    whole = target.read_bytes()
    for number in moments(faults.calls()):
        target.unlink(missing_ok=True)
        done = convert(number)
        if done.returncode == 0 or target.exists():
            assert target.read_bytes() == whole, number
        assert done.returncode in (0, 3, 99), (number, done.stderr)
        assert convert(0).returncode == 0
    # A process that ended leaves its part behind, under a name that is nobody's.
    left = [path for path in target.parent.iterdir() if path != target]
    assert all(path.suffix == ".part" for path in left) and (how == "exit" or not left)
