"""What HLSTO's Table IV says about the tiles of its six tensors, and stand-ins fitted to it.

`hlsto.py` prints the reading of the table and the fits; `tests/cli/fits_test.py` and
`tests/unit/stand_ins_test.cpp` hold the registry to them. Places are those of the paper (Wang et
al., TPDS 2023): dims and nonzeros from Table III, sizes from Table IV, formulas (11) to (16).

An HLS tensor whose tiles of at least T nonzeros are dense takes
    i N_s + (t + 512) D + 2 N bytes
with i bytes an index of a nonzero, t bytes an index of a tile, N_s nonzeros in sparse tiles and D
dense tiles; a bitmap of 16^3 cells has 512 bytes and a value 2. All tiles dense: D is the number of
non-empty tiles. Between two thresholds the size changes by the tiles in between alone.
"""
import itertools
from collections import namedtuple
from math import ceil, log2

import numpy as np

MB = 2**20      # the unit of the table; read_columns shows why
HALF = 0.005    # half a unit of the last printed digit, in MB
EDGE = 16       # section VII.A.3
CELLS = EDGE**3
COLUMNS = ("SpMTTKRP A100", "SpMTTKRP TITAN", "SpTTMChain A100", "SpTTMChain TITAN")
THRESHOLDS = (78, 82, 61, 41)  # of the columns above; threshold_orders shows why

Published = namedtuple("Published", "name source dims nnz hls sparse dense coo whole")
TABLES = [
    Published("movies", "GroupLens", (1238, 5665, 1078), 11440996, (49.88, 49.63, 51.58, 55.48),
              65.47, 175.25, 174.58, 28840.28),
    Published("art", "GroupLens", (669, 379, 251), 63066, (0.25, 0.25, 0.27, 0.29),
              0.30, 0.87, 0.96, 242.77),
    Published("book", "GroupLens", (364, 104, 227), 93866, (0.39, 0.39, 0.41, 0.45),
              0.45, 1.04, 1.43, 32.78),
    Published("g1", "GAIA", (480, 875, 749), 10685223, (38.11, 37.95, 38.98, 40.45),
              50.95, 48.23, 163.04, 1200.03),
    Published("g2", "GAIA", (480, 875, 749), 10806566, (38.26, 38.09, 39.17, 40.61),
              50.95, 48.35, 164.90, 1200.03),
    Published("g3", "GAIA", (480, 875, 749), 10638476, (38.00, 37.83, 38.87, 40.40),
              50.73, 48.23, 162.33, 1200.03),
]


def index_bits(dims):
    """Bits of a nonzero's linear index (11)."""
    return sum(ceil(log2(length)) for length in dims)


def tile_bits(dims):
    """Bits of a tile's linear index (13)."""
    return sum(ceil(log2(length / EDGE)) for length in dims)


def all_sparse(row, rounding=np.floor):
    """Bytes with no dense tile (11), (12); `rounding` takes index bits to whole bytes."""
    return row.nnz * (rounding(index_bits(row.dims) / 8) + 2)


def tile_bytes(row):
    """Bytes of a dense tile beside its values: bitmap and index."""
    return CELLS // 8 + tile_bits(row.dims) // 8


def tiles_of(row):
    """Non-empty tiles by the HLS-D column, and how far a half unit of its last digit takes them."""
    return ((row.dense * MB - 2 * row.nnz) / tile_bytes(row), HALF * MB / tile_bytes(row))


def hls_bytes(row, counts, threshold):
    """Bytes (16) of tiles with `counts` nonzeros, those of at least `threshold` dense."""
    dense = counts >= threshold
    index = index_bits(row.dims) // 8
    return index * counts[~dense].sum() + tile_bytes(row) * dense.sum() + 2 * counts.sum()


def threshold_orders():
    """Thresholds of the columns with which no tensor grows when more tiles become sparse.

    A tile of n nonzeros is smaller as sparse when i n < t + 512, for all n below 128 here.
    """
    return [order for order in itertools.permutations(sorted(THRESHOLDS))
            if all(sizes[a] >= sizes[b] for sizes in (row.hls for row in TABLES)
                   for a in range(4) for b in range(4) if order[a] < order[b])]


def sparse_ranges(row):
    """For each threshold, rising: the least and the most nonzeros that lie in smaller tiles.

    K tiles of a to b nonzeros, M together, save K (t + 512) - i M bytes when they become sparse, so
    that K lies between the saving over that of a tile of a and over that of one of b nonzeros.
    """
    index, tile = index_bits(row.dims) // 8, tile_bytes(row)
    bands, start, before = [], 1, row.dense
    for threshold, size in sorted(zip(THRESHOLDS, row.hls)):
        saved = (before - size) * MB
        low, high = max(0, saved - 2 * HALF * MB), saved + 2 * HALF * MB
        bands.append((low, high, low / (tile - index * start),
                      high / (tile - index * (threshold - 1))))
        start, before = threshold, size
    tiles, fewest = sum(tiles_of(row)), sum(band[2] for band in bands)
    least = most = 0
    for (low, high, few, many), threshold in zip(bands, sorted(THRESHOLDS)):
        many = min(many, tiles - (fewest - few))
        least += max(few, (tile * few - high) / index)
        most += min(many * (threshold - 1), max(0, (tile * many - low) / index))
        yield threshold, least, most


def apportioned(weights, total, cap):
    """Whole numbers of the given total, each near min(scale * weight, cap); weights fall.

    As `apportion` in common/generate/tiled.cpp. None where the cap is too low.
    """
    tails = np.append(np.cumsum(weights[::-1])[::-1], 0.0)

    def reached(scale):
        capped = len(weights) - np.searchsorted(weights[::-1], cap / scale)
        return capped * cap + scale * tails[capped]

    low, high = 0.0, 1.0
    while reached(high) < total:
        high *= 2
        if high > 2.0**200:
            return None
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) < total else (low, middle)
    ends = np.floor(np.cumsum(np.minimum(weights * high, cap)) + 0.5)
    ends[-1] = total
    return np.diff(np.minimum(ends, total), prepend=0).astype(np.int64)


def tile_counts(nnz, tiles, law):
    """Nonzeros of each tile under a law of the generator `tiled`, or None where it has none.

    As `tile_counts` in common/generate/tiled.cpp.
    """
    cap = int(law["dense_fill"] * CELLS)
    in_dense = round(law["dense_share"] * nnz)
    if cap < 2:
        return None
    dense = -(-in_dense // cap)
    sparse, in_sparse = tiles - dense, nnz - in_dense
    if sparse < 1 or not sparse <= in_sparse <= sparse * cap:
        return None
    rank = np.arange(sparse)
    if law["spread"] == "exponential":
        weights = -np.log((rank + 0.5) / sparse)
    else:
        weights = (rank + 1.0)**-law["exponent"]
    excess = apportioned(weights, in_sparse - sparse, cap - 1)
    if excess is None:
        return None
    full = apportioned(np.ones(dense), in_dense, cap) if dense else np.zeros(0, np.int64)
    return np.concatenate([full, 1 + excess])


def exponential_law(share, fill):
    """Equally filled dense tiles that hold a share, the others with exponentially spread counts."""
    return {"dense_share": round(share, 4), "dense_fill": round(fill, 4), "spread": "exponential"}


def power_law(exponent, fill):
    """Tiles by a power law of their rank, cut at a fill."""
    return {"dense_share": 0, "dense_fill": round(fill, 4), "spread": "power_law",
            "exponent": round(exponent, 3)}


LAWS = {exponential_law: (0.7, 0.08), power_law: (1.2, 0.2)}  # and where the search begins
STEP = 0.03  # of a difference in the logarithms of parameters; fills are whole cells, 1/300 apart


def misses(row, counts):
    """Differences of the four sizes in MB; that of SpMTTKRP on the A100, on which most claims rest,
    counts tenfold when squared."""
    weights = [10**0.5 if threshold == THRESHOLDS[0] else 1 for threshold in THRESHOLDS]
    return np.array([weight * (hls_bytes(row, counts, threshold) / MB - size)
                     for weight, threshold, size in zip(weights, THRESHOLDS, row.hls)])


def least_squares(miss, start):
    """Positive parameters with the least sum of squares (Levenberg and Marquardt, in logarithms).

    `miss` gives None where it has no value.
    """
    at, damping = np.log(start), 1.0
    now = miss(np.exp(at))
    for _ in range(60):
        moved = [miss(np.exp(at + STEP * unit)) for unit in np.eye(len(at))]
        if any(m is None for m in moved):
            break
        slopes = np.stack([(m - now) / STEP for m in moved], axis=1)
        normal = slopes.T @ slopes
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), -slopes.T @ now)
        there = miss(np.exp(at + step))
        if there is not None and there @ there < now @ now:
            at, now, damping = at + step, there, damping / 3
        else:
            damping *= 3
    return np.exp(at)


def fit(row, make):
    """The law of this form that fits the row best, its counts and their misfit."""
    tiles = round(tiles_of(row)[0])

    def miss(at):
        counts = tile_counts(row.nnz, tiles, make(*at))
        return None if counts is None else misses(row, counts)

    law = make(*least_squares(miss, LAWS[make]))
    counts = tile_counts(row.nnz, tiles, law)
    return law, counts, np.sum(misses(row, counts)**2)


def fits():
    """Fit by name: one form of law for all tensors of a source, the one with less misfit."""
    chosen = {}
    for source in dict.fromkeys(row.source for row in TABLES):
        rows = [row for row in TABLES if row.source == source]
        forms = [[fit(row, make) for row in rows] for make in LAWS]
        best = min(forms, key=lambda found: sum(misfit for _, _, misfit in found))
        chosen.update({row.name: found[:2] for row, found in zip(rows, best)})
    return chosen


def print_columns():
    """Columns that dims and nonzeros decide, under each reading, beside what is printed."""
    print("MB computed (printed): HLS-S with an index in whole bytes rounded down, in bits, in "
          "whole\nbytes rounded up; COO of 16 bytes a nonzero; Dense of 4 bytes a cell")
    for row in TABLES:
        down, bits, up = (all_sparse(row, r) / MB for r in (np.floor, float, np.ceil))
        coo, whole = 16 * row.nnz / MB, 4 * np.prod(row.dims) / MB
        print(f"{row.name:7} {index_bits(row.dims)} bit {down:.2f} {bits:.2f} {up:.2f} "
              f"({row.sparse:.2f}), {coo:.2f} ({row.coo:.2f}), {whole:.2f} ({row.whole:.2f})")


def print_tiles():
    """Non-empty tiles, and what the thresholds say about the nonzeros in dense ones."""
    print("non-empty tiles by HLS-D; % of the nonzeros that the sizes allow in tiles of at least T")
    for row in TABLES:
        tiles, error = tiles_of(row)
        shares = ", ".join(f"{t}: {100 * max(0, 1 - most / row.nnz):.0f} to "
                           f"{100 * (1 - least / row.nnz):.0f}"
                           for t, least, most in sparse_ranges(row))
        print(f"{row.name:7} {tiles:.0f} +- {error:.0f}; {shares}")


def print_fit(row, law, counts):
    """Parameters of a stand-in, its share in dense tiles and its sizes beside the printed ones."""
    print(f"{row.name:7} tiles {len(counts)}, " + ", ".join(f"{k} {v}" for k, v in law.items()))
    for threshold, size in zip(THRESHOLDS, row.hls):
        made = hls_bytes(row, counts, threshold) / MB
        share = counts[counts >= threshold].sum() / row.nnz
        print(f"    {threshold}: {made:.3f} ({size:.2f}), {made / size - 1:+.4f}, "
              f"{100 * share:.1f}% in {np.sum(counts >= threshold)} dense tiles")


def main():
    """Print the reading of Table IV and the fits."""
    print_columns()
    print("thresholds that", ", ".join(COLUMNS), "can have:")
    print(*threshold_orders())
    print_tiles()
    found = fits()
    print("stand-ins: at each threshold MB (printed), residual, nonzeros in dense tiles")
    for row in TABLES:
        print_fit(row, *found[row.name])


if __name__ == "__main__":
    main()
