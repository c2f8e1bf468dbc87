"""The wheel, built from this build folder without a network and used away from the source tree."""
import os
import subprocess
import sys

import pytest
from conftest import ROOT

SCRIPT = """
import numpy as np, retensor
x = np.zeros((9, 8, 7), np.float32)
x[2, 3, 4] = 2
assert retensor.ttv(x, np.ones(7), 2).to_numpy()[2, 3] == 2
print(retensor.library.library()._name)
print(retensor.program.program())
print(retensor.bench(x, rank=4, samples=2, ceilings=False)["status"][0])
figure = retensor.plot({"artifact": "flycoo/fig2"}, ROWS, kind="grouped-bars", x="dataset",
                       y="executed.load_ratio", hue="params.partition")
figure.savefig("figure.svg")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = os.environ.get("RETENSOR_BUILD", ROOT / "build")
    subprocess.run([*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index",
                    "--wheel-dir", folder, ROOT / "plots"],
                   check=True, env={**os.environ, "RETENSOR_BUILD": str(build)})
    (wheel,) = folder.glob("retensor-*-py3-none-linux_*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", folder / "site", wheel],
                   check=True)
    return folder / "site"


def test_it_works_away_from_the_source_tree(installed, tmp_path):
    bare = {name: value for name, value in os.environ.items() if not name.startswith("RETENSOR")}
    rows = ROOT / "experiments/results/cpu/flycoo-fig2.jsonl"
    done = subprocess.run([sys.executable, "-c", SCRIPT.replace("ROWS", repr(str(rows)))],
                          cwd=tmp_path, text=True, capture_output=True, check=False,
                          env={**bare, "PYTHONPATH": str(installed), "HOME": str(tmp_path),
                               "MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stderr
    library, program, status = done.stdout.split()
    assert library.startswith(str(installed)) and program.startswith(str(installed))
    assert status == "ok" and (tmp_path / "figure.svg").is_file()
    assert (tmp_path / ".cache/retensor").is_dir()


def test_it_says_where_claims_are(installed, tmp_path):
    bare = {name: value for name, value in os.environ.items() if not name.startswith("RETENSOR")}
    done = subprocess.run([installed / "bin/retensor", "verdict", "pasta"], cwd=tmp_path, text=True,
                          capture_output=True, check=False,
                          env={**bare, "PYTHONPATH": str(installed), "HOME": str(tmp_path)})
    assert done.returncode == 2 and "set RETENSOR_ROOT to a source tree" in done.stderr


def test_the_source_tree_stays_clean(installed):
    assert not [path for path in ("build", "retensor.egg-info", "dist")
                if (ROOT / "plots" / path).exists()]


def test_its_command_is_the_program(installed, tmp_path):
    done = subprocess.run([installed / "bin/retensor", "list", "datasets"], cwd=tmp_path, text=True,
                          capture_output=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(installed), "HOME": str(tmp_path)})
    assert done.returncode == 0 and "wordnet" in done.stdout
