"""Bands of figures hold real values as often as they say (datasets/STAND-INS.md)."""
import importlib.util
import json
import math
import random
import sys
from pathlib import Path

import pytest
from retensor.figures import bands

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "datasets/fits"))
spec = importlib.util.spec_from_file_location("stand_ins", ROOT / "ci/stand_ins.py")
stand_ins = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stand_ins)
distances = stand_ins.distances
TIMES, FACTS = stand_ins.read(stand_ins.ROWS)
MISSES = stand_ins.misses(TIMES)


def test_what_figures_use_follows_from_the_committed_rows():
    assert bands.CALIBRATED == stand_ins.calibrated(MISSES)
    assert stand_ins.main(["--check"]) == 0


@pytest.mark.parametrize("what", MISSES)
def test_real_values_lie_inside_as_often_as_the_band_says(what):
    every = [miss for own in MISSES[what].values() for miss in own]
    grown = math.log2(bands.CALIBRATED[what]["factor"])

    def inside(limit):
        return sum(miss <= limit + 1e-3 for miss in every) / len(every)
    assert inside(grown) >= bands.CALIBRATED["share"]
    assert bands.CALIBRATED[what]["inside_left_out"] >= bands.CALIBRATED["share"]
    assert inside(0) < 0.5 * bands.CALIBRATED["share"]  # variants alone say too little


def test_a_band_of_a_real_tensor_is_drawn_around_its_time():
    wide = bands.factor("stats.median")
    held = 0
    for real, like in stand_ins.PAIRS:
        for method in stand_ins.METHODS:
            band = [TIMES[like + variant, method] for variant in stand_ins.VARIANTS]
            held += min(band) / wide <= TIMES[real, method] <= max(band) * wide
    assert 0.8 * 21 <= held < 21


def test_the_factor_of_planted_misses_holds_their_share_of_further_ones():
    rng = random.Random(1)
    held = []
    for _ in range(400):
        misses = [abs(rng.gauss(0, 1)) for _ in range(16)]
        held.append(misses.pop() <= math.log2(distances.factor(misses, 0.8)))
    assert 0.75 < sum(held) / len(held) < 0.9


def test_too_few_values_say_nothing_of_a_share():
    with pytest.raises(ValueError, match="3 values say nothing of a share of 0.8"):
        distances.factor([1, 2, 3], 0.8)
    assert distances.factor([1, 2, 3, 0], 0.8) == 8


def test_left_out_tensors_that_are_unlike_the_others_lie_outside():
    alike = {name: [0.1, 0.2] for name in "abcd"}
    assert distances.left_out(alike, 0.8) == 1
    assert distances.left_out({**alike, "e": [5, 6]}, 0.8) < 1


def test_an_outdated_page_is_told(tmp_path, monkeypatch, capsys):
    page = tmp_path / "STAND-INS.md"
    page.write_text(stand_ins.PAGE.read_text().replace("| 3 |", "| 4 |", 1))
    monkeypatch.setattr(stand_ins, "PAGE", page)
    monkeypatch.setattr(stand_ins, "ROOT", tmp_path)
    monkeypatch.setattr(stand_ins, "BAND", tmp_path / "band.json")
    assert stand_ins.main(["--check"]) == 1
    assert "STAND-INS.md" in capsys.readouterr().out
    assert stand_ins.main([]) == 0 and stand_ins.main(["--check"]) == 0
    assert json.loads((tmp_path / "band.json").read_text()) == bands.CALIBRATED


def test_distances_have_signs_and_take_the_worst_mode():
    assert distances.distance([1, 4], [2, 1]) == -2
    assert distances.distance([0], [3]) is None
    assert distances.outside(4, [1, 2]) == 1 and distances.outside(1.5, [1, 2]) == 0
    assert distances.outside(1, [4, 8]) == 2
