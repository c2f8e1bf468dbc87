"""What the attacks share: sweeps of a method of the suite, commands, and what no command may do."""

import json
import os
import subprocess

from sweeps import RETENSOR, ROOT

RECIPES = ROOT / "datasets" / "recipes"
METHOD = "pasta.cpu.coo"


def run(*args, cwd=None, timeout=60, **how):
    """A command of the program; one that hangs fails the test."""
    return subprocess.run([RETENSOR, *map(str, args)], cwd=cwd, capture_output=True, text=True,
                          timeout=timeout, check=False, **how)


def sweep(workspace, spec, *more, **how):
    return workspace.run(spec, *more, program=RETENSOR, **how)


def refused(done, *words):
    """The input is at fault, which one line on stderr says; nothing crashed."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    for word in words:
        assert word in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def registry(folder, **entries):
    """A registry with these entries; what an entry does not say is that of a tiny tensor."""
    common = {"kind": "real", "form": "tensor", "dims": [2, 2], "nnz": 1, "source": "a test",
              "licence": "none"}
    path = folder / "registry.yaml"
    path.write_text(json.dumps({"schema": 1, "datasets": {
        name.replace("_", "-"): dict(common, **entry) for name, entry in entries.items()}}))
    return path


def papers_file(folder, kind):
    """Where a tree in this folder keeps the claims or findings of its one paper."""
    (folder / "experiments" / "schema").mkdir(parents=True)
    path = folder / "papers" / "stranger" / "paper" / (kind + ".yaml")
    path.parent.mkdir(parents=True)
    return path


def rooted(folder):
    """The environment in which the tree in this folder is the source tree."""
    return dict(os.environ, RETENSOR_ROOT=str(folder))


def ok_rows(workspace):
    return [row for row in workspace.lines() if row["status"] == "ok"]
