"""Bands of figures hold real values as often as they say (datasets/STAND-INS.md)."""
import json
import math
import random
import sys
from pathlib import Path

import pytest
import yaml
from retensor.figures import bands

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "datasets/fits"), str(ROOT / "ci")]
import stand_ins  # noqa: E402

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
    held = tried = 0
    for real, like in stand_ins.pairs_of(FACTS):
        for method in stand_ins.METHODS:
            band = [TIMES[like + variant, method] for variant in stand_ins.VARIANTS]
            tried += 1
            held += min(band) / wide <= TIMES[real, method] <= max(band) * wide
    assert tried >= 21 and 0.8 * tried <= held < tried


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


REFITTED = yaml.safe_load((ROOT / "datasets/refitted.yaml").read_text("utf-8"))["datasets"]


def in_order(facts):
    """The facts of a tensor as refitted.yaml names them."""
    tiles = {f"tile{edge}": [facts[f"tile{edge}"]["tiles"]] for edge in (8, 16)}
    return {**{name: facts[name] for name in ("per_fiber", "slices", "largest_slice",
                                              "slice_gini")}, **tiles}


def listed(value):
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("like", REFITTED)
def test_a_refitted_stand_in_states_the_facts_that_it_was_fitted_to(like):
    real = dict((second, first) for first, second in stand_ins.PAIRS)[like]
    told = REFITTED[like]["stand_in"]["fitted_to"]
    for name, values in in_order(FACTS[real]).items():
        assert listed(told[name]) == pytest.approx(values, abs=1e-4)


@pytest.mark.parametrize("real, second", [("ratings", "ratings-like-2"),
                                          ("oscil_dcop-pattern", "oscil_dcop-like-2")])
def test_a_refitted_stand_in_states_how_far_it_is_off(real, second):
    if second not in FACTS:
        pytest.skip(f"{second} has no rows yet")
    told = REFITTED[second]["stand_in"]["residual"]
    like = in_order(FACTS[second])
    for name, values in in_order(FACTS[real]).items():
        for stated, a, b in zip(listed(told[name]), values, like[name]):
            assert stated is None if a == 0 else stated == pytest.approx(math.log2(b / a), abs=1e-3)


@pytest.mark.parametrize("first", ["ratings-like", "uber4d-like", "oscil_dcop-like"])
def test_a_refitted_stand_in_is_closer_to_the_facts_than_the_first(first):
    real, second = dict((like, name) for name, like in stand_ins.PAIRS)[first], f"{first}-2"
    if second not in FACTS:
        pytest.skip(f"{second} has no rows yet")

    def misfit(like):
        return sum(math.log2(b / a)**2 for _, value in distances.WHAT
                   for a, b in zip(value(FACTS[real]), value(FACTS[like])))
    assert misfit(second) < 0.7 * misfit(first)
