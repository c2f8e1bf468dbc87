// Structured generators: exact counts, where nonzeros may lie, refusals, independence of threads.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "common/tensor/operations.hpp"
#include "tests/support/values.hpp"

using namespace retensor;
using retensor::test::doubles;

namespace {

void check_tensor(const Coo& t, const Target& target) {
  t.check();
  CHECK(t.dims == target.dims);
  CHECK(t.nnz() == target.nnz);
  CHECK(t.dtype() == target.dtype);
  CHECK(is_sorted(t, natural_order(t.order())));
  Coo copy = t;
  dedupe(copy, Duplicates::error);
}

// Nonzeros of each tile, keyed by the tile's coordinate.
std::map<std::vector<Index>, Count> tiles_of(const Coo& t, std::uint64_t edge) {
  std::map<std::vector<Index>, Count> tiles;
  for (Count x = 0; x < t.nnz(); ++x) {
    std::vector<Index> tile;
    for (std::size_t m = 0; m < t.dims.size(); ++m)
      tile.push_back(static_cast<Index>(t.indices[m][x] / std::min(edge, t.dims[m])));
    ++tiles[tile];
  }
  return tiles;
}

bool in_band(const Coo& t, const BandedLaw& law) {
  for (Count x = 0; x < t.nnz(); ++x) {
    const std::int64_t offset = std::int64_t{t.indices[1][x]} - std::int64_t{t.indices[0][x]};
    if (offset < -static_cast<std::int64_t>(law.lower) ||
        offset > static_cast<std::int64_t>(law.upper))
      return false;
  }
  return true;
}

Count band_positions(const Dims& dims, const BandedLaw& law) {
  Count count = 0;
  for (std::uint64_t i = 0; i < dims[0]; ++i)
    for (std::uint64_t j = 0; j < dims[1]; ++j)
      count += (j <= i + law.upper && i <= j + law.lower) ? 1 : 0;
  for (std::size_t m = 2; m < dims.size(); ++m) count *= dims[m];
  return count;
}

}  // namespace

TEST_CASE("every generator gives the same tensor for any number of threads") {
  const Target target{{200, 300, 40}, 20000, 5, DType::f64, ValueModel::normal};
  const std::vector<std::function<Coo()>> makers{
      [&] { return kronecker(target, binary_initiator(3, 0.7, 0.1)); },
      [&] {
        return power_law(target, {{1.0}, {2}, 8, 4});
      },
      [&] { return tiled(target, {.edge = 10, .tiles = 300, .dense_share = 0.5}); },
      [&] {
        return banded(target, {20, 30});
      },
      [&] { return block_diagonal(target, {8}); },
      [&] {
        return low_rank(target, {4, 0.1});
      },
  };
  for (const auto& make : makers) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    const Coo one = make();
    omp_set_num_threads(3);
    const Coo three = make();
    omp_set_num_threads(before);
    check_tensor(one, target);
    CHECK(one.indices == three.indices);
    CHECK(doubles(one.values) == doubles(three.values));
  }
}

TEST_CASE("Kronecker tensors of orders 1 to 8, of one nonzero, of none, and of wide keys") {
  for (const int order : {1, 2, 4, 8}) {
    const Target target{Dims(static_cast<std::size_t>(order), 19), order == 1 ? 19u : 100u};
    check_tensor(kronecker(target, binary_initiator(order, 0.55)), target);
  }
  const Target wide{Dims(4, 8300000), 1000, 3, DType::f64};
  check_tensor(kronecker(wide, binary_initiator(4, 0.6)), wide);
  for (const Count n : {0, 1}) {
    const Target few{{5, 9, 1}, n};
    check_tensor(kronecker(few, binary_initiator(3, 0.6)), few);
  }
}

TEST_CASE("Kronecker refuses initiators that do not fit the tensor") {
  const Target target{{8, 8}, 10};
  CHECK_THROWS_AS(kronecker(target, binary_initiator(3, 0.6)), InputError);
  CHECK_THROWS_AS(kronecker(target, {{2, 2}, {1, 2, 3}}), InputError);
  CHECK_THROWS_AS(kronecker(target, {{2, 1}, {1, 2}}), InputError);
  CHECK_THROWS_AS(kronecker(target, {{2, 2}, {1, -2, 3, 1}}), InputError);
  CHECK_THROWS_AS(kronecker(target, {{2, 2}, {1, 0, 0, 1}}),
                  InputError);  // only 8 cells are reached
  check_tensor(kronecker({{8, 8}, 8}, {{2, 2}, {1, 0, 0, 1}}), {{8, 8}, 8});
  CHECK_THROWS_AS(binary_initiator(3, 1), InputError);
  CHECK_THROWS_AS(binary_initiator(3, 0.5, 1.5), InputError);
}

TEST_CASE("power-law tensors with one, two and no slice modes") {
  const std::vector<std::vector<int>> slices{{}, {2}, {2, 3}, {0, 1, 2, 3}};
  for (const auto& modes : slices) {
    const Target target{{50, 60, 7, 5}, 3000};
    check_tensor(power_law(target, {{0.9}, modes}), target);
  }
  const Target unscattered{{1000, 1000}, 3000};
  const PowerLaw ordered{{1.2}, {}, 1000};
  const Coo t = power_law(unscattered, ordered);
  CHECK(std::count(t.indices[0].begin(), t.indices[0].end(), 0u) > 200);
  CHECK(std::count(t.indices[0].begin(), t.indices[0].end(), 999u) < 10);
  CHECK(power_law_index(unscattered, ordered, 1, 17) == 17);
  CHECK(power_law({{50, 60}, 0}, {}).nnz() == 0);
  CHECK_THROWS_AS(power_law(unscattered, {{1}, {2}}), InputError);
  CHECK_THROWS_AS(power_law(unscattered, {{1}, {0, 0}}), InputError);
  CHECK_THROWS_AS(power_law(unscattered, {{-1}, {}}), InputError);
  CHECK_THROWS_AS(power_law(unscattered, {{1, 1, 1}, {}}), InputError);
  CHECK_THROWS_AS(power_law(unscattered, {{1}, {}, 0}), InputError);
  CHECK_THROWS_AS(power_law(unscattered, {{1}, {}, 1, 0}), InputError);
}

TEST_CASE("tiled tensors have the tiles and the dense share asked for") {
  const Target target{{100, 90, 5}, 20000, 2, DType::f64};
  for (const TileSpread spread :
       {TileSpread::equal, TileSpread::exponential, TileSpread::power_law}) {
    const TiledLaw law{
        .edge = 8, .tiles = 120, .dense_share = 0.75, .dense_fill = 0.8, .spread = spread};
    const Coo t = tiled(target, law);
    check_tensor(t, target);
    std::vector<Count> found, stated = tile_counts(target, law);
    for (const auto& [tile, count] : tiles_of(t, 8)) found.push_back(count);
    std::sort(found.begin(), found.end());
    std::sort(stated.begin(), stated.end());
    CHECK(found == stated);
    CHECK(found.size() == 120);
    CHECK(found.back() <= 256);  // 0.8 of 8 x 8 x 5 cells
  }
  const std::vector<Count> counts =
      tile_counts(target, {.edge = 8, .tiles = 120, .dense_share = 0.75, .dense_fill = 0.8});
  Count dense = 0;
  for (std::size_t t = 0; t < 59; ++t) dense += counts[t];  // ceil(15000 / 256) dense tiles
  CHECK(dense == 15000);
}

TEST_CASE("tiled refuses what contradicts itself and fills everything when asked to") {
  const Target target{{64, 64}, 1000};
  CHECK_THROWS_AS(tiled(target, {.edge = 8, .tiles = 65}), InputError);
  CHECK_THROWS_AS(tiled(target, {.edge = 8, .tiles = 20}), InputError);  // 640 at half fill
  CHECK_THROWS_AS(tiled(target, {.edge = 8, .tiles = 20, .dense_share = 1}), InputError);
  CHECK_THROWS_AS(tiled(target, {.edge = 2, .tiles = 1001}), InputError);
  CHECK_THROWS_AS(tiled(target, {.edge = 0, .tiles = 40}), InputError);
  CHECK_THROWS_AS(tiled(target, {.edge = 8, .tiles = 40, .dense_share = 1.5}), InputError);
  CHECK_THROWS_AS(tiled(target, {.edge = 8, .tiles = 40, .dense_fill = 0}), InputError);
  const Target full{{64, 64}, 4096};
  check_tensor(tiled(full, {.edge = 8, .tiles = 64, .dense_share = 1, .dense_fill = 1}), full);
  check_tensor(tiled({{64, 64}, 0}, {.tiles = 0}), {{64, 64}, 0});
}

TEST_CASE("banded tensors fill their band exactly, for every shape of it") {
  const std::vector<Dims> shapes{{10, 10}, {4, 13}, {13, 4}, {1, 6}, {6, 1}, {9, 7, 3}};
  for (const Dims& dims : shapes)
    for (const BandedLaw law :
         {BandedLaw{0, 0}, BandedLaw{2, 0}, BandedLaw{0, 3}, BandedLaw{1, 2}, BandedLaw{20, 20}}) {
      const Target full{dims, band_positions(dims, law)};
      const Coo t = banded(full, law);
      check_tensor(t, full);
      CHECK(in_band(t, law));
      CHECK_THROWS_AS(banded({dims, full.nnz + 1}, law), InputError);
    }
  const Target some{{100000, 100000}, 50000};
  const Coo t = banded(some, {50, 100});
  check_tensor(t, some);
  CHECK(in_band(t, {50, 100}));
  CHECK_FALSE(in_band(t, {50, 98}));
  CHECK_THROWS_AS(banded({{9}, 3}, {1, 1}), InputError);
}

TEST_CASE("block-diagonal tensors keep to their blocks and fill them when asked to") {
  const Target full{{10, 9}, 3 * 3 + 3 * 3 + 4 * 3};
  const Coo t = block_diagonal(full, {3});
  check_tensor(t, full);
  for (Count x = 0; x < t.nnz(); ++x) {
    const Index row_block = t.indices[0][x] < 3 ? 0 : t.indices[0][x] < 6 ? 1 : 2;
    CHECK(row_block == t.indices[1][x] / 3);
  }
  CHECK_THROWS_AS(block_diagonal({{10, 9}, 31}, {3}), InputError);
  CHECK_THROWS_AS(block_diagonal({{10, 9}, 3}, {10}), InputError);
  CHECK_THROWS_AS(block_diagonal({{10, 9}, 3}, {0}), InputError);
  const Target cube{{64, 64, 64}, 3000};
  check_tensor(block_diagonal(cube, {8}), cube);
}

TEST_CASE("the Poisson matrix is symmetric, has its stated nonzeros and known eigenvectors") {
  const std::vector<Dims> grids{{1, 1}, {1, 5}, {4, 3}, {7, 7}};
  for (const Dims& g : grids) {
    const std::uint64_t nx = g[0], ny = g[1];
    const Coo a = poisson_2d(nx, ny, DType::f64);
    const Target stated{{nx * ny, nx * ny}, 5 * nx * ny - 2 * nx - 2 * ny, 1, DType::f64};
    check_tensor(a, stated);
    Coo transposed = permute_modes(a, std::vector<int>{1, 0});
    sort_nonzeros(transposed, natural_order(2));
    CHECK(transposed.indices == a.indices);
    CHECK(doubles(transposed.values) == doubles(a.values));

    const double sx = std::numbers::pi / static_cast<double>(nx + 1),
                 sy = std::numbers::pi / static_cast<double>(ny + 1);
    const auto v = [&](std::uint64_t p) {
      return std::sin(sx * static_cast<double>(p % nx + 1)) *
             std::sin(sy * static_cast<double>(p / nx + 1));
    };
    const double eigenvalue = 4 - 2 * std::cos(sx) - 2 * std::cos(sy);
    std::vector<double> av(nx * ny, 0);
    for (Count x = 0; x < a.nnz(); ++x) av[a.indices[0][x]] += a.values.at(x) * v(a.indices[1][x]);
    for (std::uint64_t p = 0; p < nx * ny; ++p) CHECK(std::abs(av[p] - eigenvalue * v(p)) < 1e-12);
  }
  CHECK_THROWS_AS(poisson_2d(0, 3), InputError);
}

TEST_CASE("planted tensors carry the values of their model, noise changes them by its deviation") {
  const Target target{{30, 40, 50}, 30 * 40 * 50, 4, DType::f64};
  const LowRankLaw clean{3, 0}, noisy{3, 0.5};
  const Coo t = low_rank(target, clean), n = low_rank(target, noisy);
  check_tensor(t, target);
  std::vector<Matrix> factors;
  for (int m = 0; m < 3; ++m) factors.push_back(low_rank_factor(target, clean, m));
  double energy = 0, error = 0, largest = 0;
  for (Count x = 0; x < t.nnz(); ++x) {
    double model = 0;
    for (std::uint64_t r = 0; r < 3; ++r)
      model += factors[0].at(t.indices[0][x], r) * factors[1].at(t.indices[1][x], r) *
               factors[2].at(t.indices[2][x], r);
    largest = std::max(largest, std::abs(t.values.at(x) - model));
    energy += model * model;
    error += std::pow(n.values.at(x) - model, 2);
  }
  CHECK(largest < 1e-12);
  CHECK(energy / static_cast<double>(t.nnz()) == doctest::Approx(3).epsilon(0.3));
  CHECK(error / static_cast<double>(t.nnz()) == doctest::Approx(0.25 * 3).epsilon(0.02));
  CHECK_THROWS_AS(low_rank(target, {0, 0}), InputError);
  CHECK_THROWS_AS(low_rank(target, {1, -1}), InputError);
}
