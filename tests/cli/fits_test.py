"""datasets/fits: what hlsto.py reads out of Table IV, and that the registry holds its fits; that a
search of real.py ends where no move is better."""
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent


def script(name):
    """A script of datasets/fits, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"datasets/fits/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sys.path.insert(0, str(ROOT / "datasets/fits"))
HLSTO, REAL = script("hlsto"), script("real")
ENTRIES = yaml.safe_load((ROOT / "datasets/hlsto-stand-ins.yaml").read_text("utf-8"))["datasets"]
ROWS = {row.name: row for row in HLSTO.TABLES}


CLAIMS = {claim["id"]: claim for claim in yaml.safe_load(
    (ROOT / "papers/hlsto/paper/claims.yaml").read_text("utf-8"))["claims"]}


def printed(size, value):
    """Whether a size in bytes rounds to what the table prints in MB."""
    return abs(size / HLSTO.MB - value) <= HLSTO.HALF


def law_of(name):
    """The registry's law of a stand-in and its number of tiles."""
    make = ENTRIES[f"{name}-like"]["make"]
    return make, make["tiles"]


@pytest.mark.parametrize("row", HLSTO.TABLES, ids=lambda row: row.name)
def test_whole_bytes_rounded_down_give_the_columns_that_dims_decide(row):
    assert printed(HLSTO.all_sparse(row), row.sparse) == (row.name != "g2")
    assert printed(16 * row.nnz, row.coo)
    assert printed(4 * np.prod(row.dims), row.whole)
    if row.name != "book":  # 24 bits are whole bytes
        assert not printed(HLSTO.all_sparse(row, float), row.sparse)
        assert not printed(HLSTO.all_sparse(row, np.ceil), row.sparse)


def test_the_sparse_size_of_g2_is_that_of_g1():
    assert printed(HLSTO.all_sparse(ROWS["g1"]), ROWS["g2"].sparse)


def test_one_order_of_thresholds_lets_no_size_grow():
    assert HLSTO.threshold_orders() == [HLSTO.THRESHOLDS]


def test_without_the_trajectories_the_order_is_open(monkeypatch):
    monkeypatch.setattr(HLSTO, "TABLES", [ROWS["art"], ROWS["book"]])
    assert len(HLSTO.threshold_orders()) == 2


@pytest.mark.parametrize("row", HLSTO.TABLES, ids=lambda row: row.name)
def test_a_stand_in_has_the_tiles_and_the_residual_that_it_states(row):
    make, tiles = law_of(row.name)
    stated = ENTRIES[f"{row.name}-like"]["stand_in"]["residual"]["bytes"]
    assert tiles == round(HLSTO.tiles_of(row)[0])
    counts = HLSTO.tile_counts(row.nnz, tiles, make)
    assert len(counts) == tiles and counts.sum() == row.nnz and counts.min() >= 1
    for threshold, size in zip(HLSTO.THRESHOLDS, row.hls):
        residual = HLSTO.hls_bytes(row, counts, threshold) / HLSTO.MB / size - 1
        assert residual == pytest.approx(stated[str(threshold)], abs=0.00006)


@pytest.mark.parametrize("row", HLSTO.TABLES, ids=lambda row: row.name)
def test_another_fill_fits_worse(row):
    make, tiles = law_of(row.name)

    def misfit(fill):
        counts = HLSTO.tile_counts(row.nnz, tiles, {**make, "dense_fill": fill})
        return np.sum(HLSTO.misses(row, counts)**2)

    assert misfit(make["dense_fill"]) < min(misfit(0.8 * make["dense_fill"]),
                                            misfit(1.25 * make["dense_fill"]))


@pytest.mark.parametrize("row", HLSTO.TABLES, ids=lambda row: row.name)
def test_shares_of_a_stand_in_lie_in_the_ranges_that_the_sizes_allow(row):
    make, tiles = law_of(row.name)
    counts = HLSTO.tile_counts(row.nnz, tiles, make)
    before = (0, 0)
    for threshold, least, most in HLSTO.sparse_ranges(row):
        slack = 0.001 * row.nnz  # a size that misses the printed one moves nonzeros across
        assert least - slack <= counts[counts < threshold].sum() <= most + slack
        assert before[0] <= least < most and before[1] < most
        before = least, most


@pytest.mark.parametrize("name", ["art", "book"])
def test_the_search_finds_the_law_of_the_registry(name):
    make, _ = law_of(name)
    law, counts, misfit = HLSTO.fit(ROWS[name], HLSTO.power_law)
    assert law["dense_fill"] == pytest.approx(make["dense_fill"], rel=0.05)
    assert law["exponent"] == pytest.approx(make["exponent"], rel=0.05)
    assert misfit == np.sum(HLSTO.misses(ROWS[name], counts)**2)


def test_least_squares_find_a_planted_minimum():
    found = HLSTO.least_squares(lambda at: np.array([at[0] * at[1] - 6, at[0] - 2, 0.1]), (1, 1))
    assert found == pytest.approx([2, 3], rel=0.01)


def test_impossible_laws_have_no_counts():
    steep = {"dense_share": 0, "dense_fill": 0.01, "spread": "exponential"}
    assert HLSTO.tile_counts(41 * 10, 10, steep) is None
    full = {"dense_share": 0.9, "dense_fill": 0.001, "spread": "exponential"}
    assert HLSTO.tile_counts(1000, 10, full) is None


@pytest.mark.parametrize("name", [f"{row.name}-like" for row in HLSTO.TABLES])
def test_a_stand_in_names_claims_that_have_a_query(name):
    assert [claim for claim in ENTRIES[name]["stand_in"]["fitted_to"]
            if "query" not in CLAIMS[claim]] == []


@pytest.mark.parametrize("number, row", list(enumerate(HLSTO.TABLES, start=28)))
def test_claims_quote_the_sizes_that_were_fitted(number, row):
    def quoted(ending):
        return CLAIMS[f"H-C{number}-{ending}"]["published"]["value"]

    endings = ("mttkrp-a100", "mttkrp-titan", "ttmchain-a100", "ttmchain-titan", "s", "d")
    sizes = (*row.hls, row.sparse, row.dense)
    assert [quoted(e) for e in endings] == [round(size * HLSTO.MB) for size in sizes]
    assert quoted("coo") == round(row.coo * HLSTO.MB / 16)
    assert quoted("dense") == round(row.whole * HLSTO.MB / 4)
    assert CLAIMS[f"H-C36-{row.name}"]["published"]["value"] == round(HLSTO.tiles_of(row)[0])
    for ending, threshold in zip(endings, HLSTO.THRESHOLDS):
        where = CLAIMS[f"H-C{number}-{ending}"]["query"]["where"]
        assert where["executed.threshold"] == str(threshold)


class Valley(REAL.Search):
    """Trials whose score is the distance from a law that grids do not have."""

    def __init__(self, steep):
        super().__init__(None, None, None, None)
        self.steep = steep

    def trial(self, law):
        return abs(law["run"] - 256) + abs(law["group"] - 32) + sum(
            self.steep * abs(exponent - aim) for exponent, aim in zip(law["exponent"], (0.35, 1.2)))


@pytest.mark.parametrize("steep", [1, 100])
def test_a_search_ends_where_no_move_is_better(steep):
    search = Valley(steep)
    facts = {"slice_gini": [0.2, 0.5]}
    score, law = REAL.power_law(search, facts, [40, 50], ((64, REAL.WHOLE), (1, 8)))
    moves = REAL.power_law_moves(2, REAL.ROUNDS[-1])
    assert all(search.trial(move(law)) >= score for move in moves)
    assert (law["run"], law["group"]) == (256, 32)
    assert law["exponent"] == pytest.approx([0.35, 1.2], abs=REAL.ROUNDS[-1] / 2 + 0.001)
    assert len(search.scores) < 200
