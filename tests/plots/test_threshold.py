"""experiments/hlsto/threshold.py: a planted cost model is found, a sweep is set beside it."""
import random
import sys
from pathlib import Path

import pytest
import rows

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments.hlsto import threshold  # noqa: E402: scripts beside their specs

FIXED, TILE, NONZERO = 4e-6, 3.28e-9, 5e-11  # seconds: a tile costs as much as 65.6 nonzeros
NONZEROS = 3932160
FILLS = (8, 16, 32, 64, 128, 256, 384)


def seconds(tiles, nonzeros, tile=TILE):
    return (FIXED if tiles else 0) + tiles * tile + nonzeros * NONZERO


def line(artifact, dataset, time, tiles, nonzeros, operation="mttkrp", method="hlsto.cuda",
         **params):
    made = rows.row(operation, dataset, method, 0, kind="generated", artifact=artifact,
                    seconds=[0.99 * time, time, 1.01 * time],
                    params={"edge": 16, "precision": "fp16", "threshold": 0, **params})
    return made | {"executed": {"dense_tiles": str(tiles), "sparse_nonzeros": str(nonzeros)}}


def fig7(noise=0.0, tile=TILE, fills=FILLS, formats=("hls_d", "hls_s"), **fields):
    """Rows as fig7.yaml has them: one number of nonzeros in tiles of equal fill."""
    rng, lines = random.Random(1), []
    for fill in fills:
        for form in formats:
            tiles = NONZEROS // fill if form == "hls_d" else 0
            nonzeros = 0 if tiles else NONZEROS
            time = seconds(tiles, nonzeros, tile) * (1 + rng.uniform(-noise, noise))
            lines.append(line("hlsto/fig7", f"tiles16-{fill}", time, tiles, nonzeros,
                              format=form, **fields))
    return lines


def sweep(swept=(16, 48, 64, 80, 128), best=64):
    """A tensor with a thousand tiles of every fill from 1 to 200; the best threshold is faster."""
    lines = []
    for at in swept:
        dense = 1000 * (201 - at)
        time = seconds(dense, 1000 * sum(range(1, at))) * (0.5 if at == best else 1)
        lines.append(line("hlsto/threshold", "g1-like", time, dense, 1, format="hls",
                          threshold=at))
    return lines


@pytest.fixture
def run(tmp_path, capsys):
    def call(*lines):
        code = threshold.main([rows.write(tmp_path / "rows.jsonl", [rows.session(), *lines])])
        return code, *capsys.readouterr()
    return call


def cells(text, start):
    """Cells of the table line that begins so."""
    found = [at for at in text.splitlines() if at.startswith(f"| {start}")]
    assert len(found) == 1, text
    return [cell.strip() for cell in found[0].strip("|").split("|")]


def test_the_planted_costs_and_their_crossover_are_found(run):
    code, out, _ = run(*fig7())
    assert code == 0
    assert cells(out, "hlsto.cuda mttkrp")[1:] == ["4.00", "3.280", "0.0500", "0.0%", "66"]


def test_noise_moves_the_threshold_little_and_shows_as_error(run):
    for operation, tile in (("mttkrp", TILE), ("ttm_chain", 2 * TILE)):
        code, out, _ = run(*fig7(noise=0.03, tile=tile, operation=operation))
        found = cells(out, f"hlsto.cuda {operation}")
        assert code == 0
        assert 0.01 < float(found[4].rstrip("%")) / 100 < 0.07
        assert int(found[5]) == pytest.approx(66 * tile / TILE, rel=0.05)


def test_operations_and_precisions_have_models_of_their_own(run):
    code, out, _ = run(*fig7(), *fig7(tile=2 * TILE, operation="ttm_chain"),
                       *fig7(tile=3 * TILE, precision="tf32"))
    assert code == 0
    assert cells(out, "hlsto.cuda ttm_chain")[5] == "132"
    assert cells(out, "hlsto.cuda mttkrp mode=0 rank=16 edge=16 precision=tf32")[5] == "197"
    assert cells(out, "hlsto.cuda mttkrp mode=0 rank=16 edge=16 precision=fp16")[5] == "66"


def test_a_sweep_tells_its_best_and_what_the_model_s_choice_loses(run):
    code, out, _ = run(*fig7(), *sweep())
    assert code == 0
    found = cells(out, "g1-like, hlsto.cuda mttkrp")
    assert (found[1], found[2], found[4], found[6]) == ("66", "64", "64", "0.0%")
    found = cells(run(*fig7(), *sweep(best=128))[1], "g1-like")
    assert (found[2], found[4]) == ("64", "128")
    assert float(found[6].rstrip("%")) > 5


def test_without_a_planted_best_the_model_s_threshold_is_the_best(run):
    found = cells(run(*fig7(), *sweep(swept=(40, 52, 66, 80, 92), best=None))[1], "g1-like")
    assert (found[2], found[4], found[6]) == ("66", "66", "0.0%")


def test_the_method_s_own_threshold_stands_beside_the_best(run):
    own = line("hlsto/threshold-model", "g1-like", 1, 1, 1, format="hls", threshold=-1)
    own["executed"]["threshold"] = "70"
    out = run(*fig7(), *sweep(), own)[1]
    found = cells(out, "g1-like")
    best = float(found[5])
    assert found[7:9] == ["70", "1000.0000"]
    assert float(found[9].rstrip("%")) == pytest.approx(100 * (1000 / best - 1), rel=0.01)
    assert cells(run(*fig7(), *sweep())[1], "g1-like")[7:] == ["", "", ""]


@pytest.mark.parametrize("lines, complaint", [
    ([], "found no row of hlsto/fig7 that is ok"),
    (fig7(fills=(64, 128)), "found 2 different numbers of tiles"),
    (fig7(formats=("hls_d",)), "and 0 all-sparse rows"),
    (fig7(formats=("hls_s",)), "found 0 different numbers of tiles"),
    (fig7(tile=-1e-12), "expected more than 0"),
    ([*fig7(), *[at | {"case": {**at["case"], "rank": 32}} for at in sweep()]],
     "found a sweep without rows of hlsto/fig7"),
])
def test_rows_that_give_no_model_end_with_2(run, lines, complaint):
    code, out, err = run(*lines)
    assert (code, out) == (2, "")
    assert complaint in err and len(err.splitlines()) == 1


def test_rows_that_failed_do_not_count(run):
    lines = fig7()
    for at in lines[4:]:
        at["status"] = "wrong"
    assert run(*lines)[0] == 2


def test_a_missing_file_ends_with_2(tmp_path, capsys):
    assert threshold.main([tmp_path / "none.jsonl"]) == 2
    assert "none.jsonl" in capsys.readouterr().err
