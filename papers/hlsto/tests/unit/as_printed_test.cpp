// Algorithms 1 and 2 as the paper prints them, in a form that follows the listings line by line,
// beside the forms of this module: where the printed ones go wrong. paper/findings.yaml names these
// cases.
#include <doctest/doctest.h>

#include <array>
#include <memory>

#include "common/generate/generators.hpp"
#include "common/tensor/linear_index.hpp"
#include "papers/hlsto/methods/methods.hpp"
#include "tests/support/run_once.hpp"

using namespace retensor;
using namespace retensor::hlsto;
using namespace retensor::test;

namespace {

constexpr int kEdge = 16;
using Fragment = std::array<double, kEdge * kEdge>;  // row by row

/// d += a b; a is transposed first where `transposed`.
void mma(Fragment& d, const Fragment& a, const Fragment& b, bool transposed = false) {
  for (int i = 0; i < kEdge; ++i)
    for (int j = 0; j < kEdge; ++j)
      for (int k = 0; k < kEdge; ++k)
        d[i * kEdge + j] += a[transposed ? k * kEdge + i : i * kEdge + k] * b[k * kEdge + j];
}

/// What Algorithm 1 leaves out, true where it is put in.
struct Repairs {
  bool clear_y = true;          ///< y_frag begins with zero for each slice
  bool slice_argument = true;   ///< Fill2Frag is told the slice
  bool place_of_tile = true;    ///< slice i of a tile is slice 16 b_COO[0] + i of the result
  bool atomic_addition = true;  ///< thread blocks add to a slice of the result one after the other
};

/// Lines 19 to 25 on the tile at (ti, tj, 0), mode 1, R1 = R2 = 16: what line 26 adds for each
/// slice. y_frag has no first value in the listing; zero is the mildest.
std::array<Fragment, kEdge> products_of_tile(const Problem& problem, Index ti, Index tj, int warps,
                                             Repairs repairs) {
  std::array<Fragment, kEdge> slices{}, products{};
  const auto& x = problem.x();
  for (Count p = 0; p < x.nnz(); ++p) {
    const Index i = x.indices[0][p], j = x.indices[1][p], k = x.indices[2][p];
    if (i / kEdge == ti && j / kEdge == tj)
      slices[i % kEdge][j % kEdge * kEdge + k] = x.values.at(p);
  }
  Fragment b{}, c{};
  for (std::size_t k = 0; k < b.size(); ++k) {
    b[k] = problem.dense()[1].at(tj * kEdge + k / kEdge, k % kEdge);
    c[k] = problem.dense()[2].at(k / kEdge, k % kEdge);
  }
  for (int warp = 0; warp < warps; ++warp) {
    Fragment y_frag{};
    for (int i = warp * kEdge / warps; i < (warp + 1) * kEdge / warps; ++i) {  // line 19
      if (repairs.clear_y) y_frag = {};
      Fragment xc{};                                       // line 20
      mma(xc, slices[repairs.slice_argument ? i : 0], c);  // lines 21 and 22
      mma(y_frag, b, xc, true);                            // lines 23 to 25
      products[i] = y_frag;
    }
  }
  return products;
}

/// Algorithm 1 on a tensor whose third mode is a tile long, a thread block a tile. Where additions
/// are not atomic all blocks read the result before any writes it.
Matrix algorithm_1(const Problem& problem, int warps, Repairs repairs) {
  const auto& dims = problem.x().dims;
  Matrix y(dims[0], kEdge * kEdge, DType::f32);
  for (Index ti = 0; ti < dims[0] / kEdge; ++ti)
    for (Index tj = 0; tj < dims[1] / kEdge; ++tj) {
      const auto products = products_of_tile(problem, ti, tj, warps, repairs);
      for (Index i = 0; i < kEdge; ++i)
        for (std::size_t k = 0; k < products[i].size(); ++k) {
          const Index row = repairs.place_of_tile ? ti * kEdge + i : i;
          const double read = repairs.atomic_addition ? y.at(row, k) : 0;
          y.set(row, k, read + products[i][k]);  // line 26
        }
    }
  return y;
}

Problem problem_of(const Dims& dims) {
  ProblemSpec spec;
  spec.operation = Operation::ttm_chain;
  spec.rank = spec.rank2 = kEdge;
  return Problem(spec, std::make_shared<const Coo>(uniform(dims, 600, 1, DType::f32)));
}

Problem one_tile() {
  return problem_of({kEdge, kEdge, kEdge});
}

bool is_right(const Problem& problem, const Result& result) {
  return test::is_right(make_hlsto_cpu(), problem, result);
}

Result of_the_module(const Problem& problem) {
  return run_once(make_hlsto_cpu(), problem, {{"format", std::string("hls_d")}}).result;
}

/// Algorithm 2, line 5.
std::array<std::uint64_t, 3> binary2coo(std::uint64_t index, std::array<int, 3> bits) {
  const std::uint64_t mask = 0xFFFFFFFFFFFFFFFF;
  const int b1 = bits[1], b2 = bits[2];
  return {index >> (b1 + b2), (index >> b1) & ~(mask << b1), index & ~(mask << b2)};
}

/// The coordinates that the printed and the module's form give for the index of (i, j, k).
struct Decoded {
  std::array<std::uint64_t, 3> printed, module;
};

Decoded decoded(const Dims& dims, const std::array<Index, 3>& at) {
  const std::array<int, 3> modes = {0, 1, 2};
  const LinearIndex linear(dims, modes);
  const auto index = linear.encode<std::uint64_t>(at);
  return {binary2coo(index, {linear.width(0), linear.width(1), linear.width(2)}),
          {linear.decode(index, 0), linear.decode(index, 1), linear.decode(index, 2)}};
}

}  // namespace

TEST_CASE("Algorithm 1 adds each slice of a warp to the next") {
  const auto problem = one_tile();
  CHECK_FALSE(is_right(problem, algorithm_1(problem, 4, {.clear_y = false})));
  // A warp of one slice has nothing to clear.
  CHECK(is_right(problem, algorithm_1(problem, 16, {.clear_y = false})));
  CHECK(is_right(problem, algorithm_1(problem, 4, {})));
  CHECK(is_right(problem, of_the_module(problem)));
}

TEST_CASE("Algorithm 1 fills the fragment of every slice from the same arguments") {
  const auto problem = one_tile();
  CHECK_FALSE(is_right(problem, algorithm_1(problem, 4, {.slice_argument = false})));
  CHECK(is_right(problem, algorithm_1(problem, 4, {})));
}

TEST_CASE("Algorithm 1 writes all tiles to the first slices of the result") {
  const auto two = problem_of({2 * kEdge, kEdge, kEdge});
  CHECK_FALSE(is_right(two, algorithm_1(two, 4, {.place_of_tile = false})));
  CHECK(is_right(two, algorithm_1(two, 4, {})));
  CHECK(is_right(two, of_the_module(two)));
  // A tensor of one tile in mode 1 hides it.
  const auto one = one_tile();
  CHECK(is_right(one, algorithm_1(one, 4, {.place_of_tile = false})));
}

TEST_CASE("Algorithm 1 loses updates of tiles that share slices") {
  const auto two = problem_of({kEdge, 2 * kEdge, kEdge});
  CHECK_FALSE(is_right(two, algorithm_1(two, 4, {.atomic_addition = false})));
  CHECK(is_right(two, algorithm_1(two, 4, {})));
  CHECK(is_right(two, of_the_module(two)));
}

TEST_CASE("Algorithm 2 takes the second coordinate from the wrong bits") {
  // Fig. 4(a): 3, 2 and 2 bits, where the two shifts are one.
  const auto example = decoded({6, 4, 4}, {1, 3, 3});
  CHECK(example.printed == std::array<std::uint64_t, 3>{1, 3, 3});
  CHECK(example.module == example.printed);
  // Movies: 11, 13 and 11 bits.
  const auto movies = decoded({1238, 5665, 1078}, {1, 4000, 3});
  CHECK(movies.module == std::array<std::uint64_t, 3>{1, 4000, 3});
  CHECK(movies.printed[0] == 1);
  CHECK(movies.printed[1] != 4000);
  CHECK(movies.printed[2] == 3);
  // Its tiles of 16 x 16 x 16: 78, 355 and 68 in 7, 9 and 7 bits.
  CHECK(decoded({78, 355, 68}, {1, 300, 3}).printed[1] != 300);
}
