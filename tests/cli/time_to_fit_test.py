"""experiments/decompose/time_to_fit.py: what it measures, draws and leaves out."""
import csv
import subprocess
import sys

from decompositions_test import low_rank, write_tensor
from sweeps import ROOT

SCRIPT = ROOT / "experiments/decompose/time_to_fit.py"
SPLATT = ROOT / "experiments/decompose/splatt.csv"


def run(folder, *args):
    return subprocess.run([sys.executable, SCRIPT, *args, "--out", folder / "out"], text=True,
                          capture_output=True, timeout=120)


def points(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_every_sweep_of_every_seed_is_a_point_and_others_are_drawn_beside(tmp_path):
    write_tensor(tmp_path / "low.tns", low_rank((7, 6, 5), 2, seed=3)[0])
    done = run(tmp_path, "--tensor", f"low={tmp_path / 'low.tns'}", "--rank", "2", "--seeds", "2",
               "--codes", "ReTensor", "ReTensor, signs", "--also", SPLATT)
    assert done.returncode == 0, done.stderr
    found = points(tmp_path / "out.csv")
    runs = {(point["code"], point["seed"]) for point in found}
    assert len(runs) == 4 and {point["tensor"] for point in found} == {"low"}
    for code, seed in runs:
        own = [p for p in found if (p["code"], p["seed"]) == (code, seed)]
        seconds, fits = ([float(p[key]) for p in own] for key in ("seconds", "fit"))
        assert [int(p["sweeps"]) for p in own] == list(range(1, len(own) + 1))
        assert seconds == sorted(seconds) and seconds[0] > 0
        assert fits[-1] > 0.5
    svg = (tmp_path / "out.svg").read_text()
    assert "low, R = 2" in svg and "SPLATT" in svg and "ReTensor, signs" in svg


def test_a_code_that_dies_is_left_out_with_the_reason(tmp_path):
    write_tensor(tmp_path / "low.tns", low_rank((7, 6, 5), 2, seed=3)[0])
    broken = tmp_path / "pyttb.py"
    broken.write_text("raise ImportError('no such library')\n")
    done = run(tmp_path, "--tensor", f"low={tmp_path / 'low.tns'}", "--rank", "2", "--seeds", "1",
               "--codes", "pyttb", "ReTensor", "--packages", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "low, pyttb: left out: exit code 1: ImportError: no such library" in done.stderr
    assert {point["code"] for point in points(tmp_path / "out.csv")} == {"ReTensor"}
    nothing = run(tmp_path, "--tensor", f"low={tmp_path / 'none.tns'}", "--codes", "ReTensor")
    assert nothing.returncode == 1 and "none.tns" in nothing.stderr
