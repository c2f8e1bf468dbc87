"""Each call that changes a file fails once, or is the last one: what was finished stays, nothing
half done counts, and the same command ends well afterwards."""

import os
import shutil
import subprocess

import pytest

from attacks import METHOD, run
from faults import MOST, Faults, moments, needs_shim
from fetch_test import BODY, ENVIRONMENT, needs_fetch
from sweeps import RETENSOR

pytestmark = needs_shim


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


@pytest.mark.skipif("RETENSOR_ATTACKS" not in os.environ, reason="a report takes seconds")
def test_a_report_touches_no_row_and_is_made_whole_again(tmp_path, workspace):
    """The pages of a run that was cut short are made anew; result files stay as they are."""
    spec = workspace.spec([METHOD], figure={"kind": "lines", "x": "seed",
                                            "y": "stats.median"})
    assert workspace.run(spec, program=RETENSOR).returncode == 0
    rows, out, specs = workspace.out.read_bytes(), tmp_path / "report", tmp_path / "specs"
    specs.mkdir()
    shutil.copy(spec, specs)
    faults = Faults(tmp_path, out)

    def report(number, how):
        return run("report", "--rows", workspace.out, "--specs", specs, "--out", out, "--cache",
                   workspace.cache, timeout=300, env=faults.environment(number, how))

    assert report(0, "error").returncode == 0
    whole = contents(out)
    for number in moments(faults.calls(), min(MOST, 12)):
        for how in ("error", "full", "exit"):
            done = report(number, how)
            assert done.returncode in (0, 1, 2, 3, 99), (number, how, done.stderr)
            assert "Traceback" not in done.stderr, (number, how, done.stderr)
            assert workspace.out.read_bytes() == rows
    assert report(0, "error").returncode == 0
    assert contents(out) == whole


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*")
            if path.is_file()}


@needs_fetch
@pytest.mark.parametrize("how", ["error", "full", "exit"])
def test_a_fetched_file_is_verified_or_not_there(tmp_path, client, how):
    client.run("info", "good")  # makes the registry
    out, cache = client.out("good"), tmp_path / "cache"
    faults = Faults(tmp_path, cache)

    def fetch(number):
        return subprocess.run(client.command("fetch", "good", "--cacert", client.cacert),
                              env=dict(ENVIRONMENT, **faults.environment(number, how)),
                              capture_output=True, text=True, timeout=60, check=False)

    def content():
        return out.read_bytes() if out.exists() else BODY

    assert fetch(0).returncode == 0, fetch(0).stderr
    for number in moments(faults.calls()):
        shutil.rmtree(cache)
        done = fetch(number)
        assert done.returncode in (0, 2, 3, 99) and content() == BODY, (number, done.stderr)
        assert fetch(0).returncode == 0 and out.read_bytes() == BODY, number
