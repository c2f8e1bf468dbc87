// Algorithms 2 to 4 and equations (12) to (14) as the paper prints them, in a form that follows
// them line by line, beside the forms of this module: where the printed ones go wrong.
// paper/findings.yaml names these cases.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "common/numeric/error_metrics.hpp"
#include "papers/bcb_sptc/format/bcb.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"
#include "tests/support/error_metrics.hpp"
#include "tests/support/run_once.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::test;

namespace {

constexpr int kEdge = 8;
constexpr int kFragment = 16;
using Matrix16 = std::array<std::array<double, kFragment>, kFragment>;
using Slice = std::array<std::array<double, kEdge>, kEdge>;
using Block = std::array<Slice, kEdge>;  // by the first index

/// `1 << n` with an int of 32 bits, which a 64-bit operand widens with its sign; a GPU shifts out
/// all bits where n passes 31.
std::uint64_t int_shift(int n) {
  if (n > 31) return 0;
  return static_cast<std::uint64_t>(
      static_cast<std::int64_t>(static_cast<std::int32_t>(std::uint32_t{1} << n)));
}

std::uint64_t word_shift(int n) {
  return std::uint64_t{1} << n;
}

/// A block with small whole numbers, none zero.
Block numbered(int first) {
  Block block;
  for (auto& slice : block)
    for (auto& row : slice)
      for (auto& cell : row) cell = 1 + (first++ * 7) % 5;
  return block;
}

/// Algorithm 3: two slices on the diagonal of a fragment. `values` is a copy, as the listing
/// returns the fragment alone.
template <class Shift>
Matrix16 load2frag(int s, std::span<const std::uint64_t> bmp, const double* values, Shift shift) {
  Matrix16 frag{};
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < kEdge; ++i)
      for (int j = 0; j < kEdge; ++j)
        if ((bmp[static_cast<std::size_t>(s + half)] & shift(i * kEdge + j)) != 0)
          frag[static_cast<std::size_t>(half * kEdge + i)]
              [static_cast<std::size_t>(half * kEdge + j)] = *values++;
  return frag;
}

/// c += a b.
void mma(Matrix16& c, const Matrix16& a, const Matrix16& b) {
  for (std::size_t i = 0; i < kFragment; ++i)
    for (std::size_t j = 0; j < kFragment; ++j)
      for (std::size_t k = 0; k < kFragment; ++k) c[i][j] += a[i][k] * b[k][j];
}

Matrix16 diagonal(const Slice& upper, const Slice& lower) {
  Matrix16 frag{};
  for (std::size_t i = 0; i < kEdge; ++i)
    for (std::size_t j = 0; j < kEdge; ++j) {
      frag[i][j] = upper[i][j];
      frag[kEdge + i][kEdge + j] = lower[i][j];
    }
  return frag;
}

/// Line 9 to 15 of Algorithm 2 without its step, s = 0, 2, 4, 6: products of slices of the same
/// number, with C_frag cleared for each pair of slices or not at all.
Block products(const Block& x, const Block& y, bool clear) {
  Block result;
  Matrix16 c{};
  for (std::size_t s = 0; s < kEdge; s += 2) {
    if (clear) c = {};
    mma(c, diagonal(x[s], x[s + 1]), diagonal(y[s], y[s + 1]));
    for (std::size_t i = 0; i < kEdge; ++i)
      for (std::size_t j = 0; j < kEdge; ++j) {
        result[s][i][j] = c[i][j];
        result[s + 1][i][j] = c[kEdge + i][kEdge + j];
      }
  }
  return result;
}

/// Entries of sum over k of x(a, i, k) y(b, k, j) by the module, keyed a, i, b, j.
std::map<std::array<Index, 4>, double> of_the_module(const Block& x, const Block& y) {
  const auto coo = [](const Block& block) {
    Coo tensor({kEdge, kEdge, kEdge}, DType::f32, kEdge * kEdge * kEdge);
    for (Count p = 0; p < tensor.nnz(); ++p) {
      const auto cell = static_cast<Index>(p);
      const std::array<Index, 3> at = {cell / 64, cell / 8 % 8, cell % 8};
      for (std::size_t m = 0; m < 3; ++m) tensor.indices[m][p] = at[m];
      tensor.values.set(p, block[at[0]][at[1]][at[2]]);
    }
    return std::make_shared<const Coo>(std::move(tensor));
  };
  ProblemSpec spec;
  spec.operation = Operation::contraction;
  spec.variant = "aik,bkj->aibj";
  const Problem problem(spec, coo(x), coo(y));
  const auto result = std::get<Coo>(run_once(make_bcb_cpu(), problem).result);
  std::map<std::array<Index, 4>, double> entries;
  for (Count p = 0; p < result.nnz(); ++p)
    entries[{result.indices[0][p], result.indices[1][p], result.indices[2][p],
             result.indices[3][p]}] = result.values.at(p);
  return entries;
}

}  // namespace

TEST_CASE("Equation (12) leaves out pairs of different slices") {
  const auto x = numbered(0), y = numbered(3);
  const auto printed = products(x, y, true);
  const auto whole = of_the_module(x, y);
  CHECK(whole.size() == 4096);
  std::size_t same = 0;
  for (const auto& [at, value] : whole)
    if (at[0] == at[2]) same += printed[at[0]][at[1]][at[3]] == value;
  CHECK(same == 512);  // all that the printed form has
}

TEST_CASE("Summing a whole diagonal block adds products of different contracted cells") {
  // A slice of 8 x 8 as 4 x 16 on the left, the same slice as 16 x 4 on the right.
  const auto slice = numbered(0)[0];
  const auto cell = [&](std::size_t row, std::size_t column) {
    return slice[(row * 16 + column) / 8][column % 8];
  };
  double all = 0, trace = 0, contraction = 0;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 16; ++k) {
        all += cell(i, k) * cell(j, k);
        if (i == j) trace += cell(i, k) * cell(j, k);
      }
  for (const auto& row : slice)
    for (const double value : row) contraction += value * value;
  CHECK(all != contraction);
  CHECK(trace == contraction);
}

TEST_CASE("Algorithm 2 gives every thread block the same tasks") {
  constexpr int kBlocks = 3, kWarps = 2;
  std::set<int> printed, numbered_over_blocks;
  for (int block = 0; block < kBlocks; ++block)
    for (int warp = 0; warp < kWarps; ++warp) {
      printed.insert(warp);
      numbered_over_blocks.insert(block * kWarps + warp);
    }
  CHECK(printed.size() == kWarps);
  CHECK(numbered_over_blocks.size() == kBlocks * kWarps);
}

TEST_CASE("Algorithm 2 passes over slices") {
  constexpr int kSliceNum = 2;
  std::set<int> printed, stepped;
  for (int s = 0; s < kEdge; ++s) {  // line 9
    printed.insert({s, s + 1});      // Load2Frag takes two slices from s on
    s += kSliceNum;                  // line 14
  }
  for (int s = 0; s < kEdge; s += kSliceNum) stepped.insert({s, s + 1});
  CHECK(printed == std::set<int>{0, 1, 3, 4, 6, 7});
  CHECK(stepped.size() == kEdge);
}

TEST_CASE("Ranges of Algorithm 2 that include their ends pass a block and a warp's pairs") {
  int rows = 0;
  for (int i = 0; i <= 7; ++i) ++rows;  // Algorithm 3, line 2
  CHECK(rows == kEdge);
  int last = 0;
  for (int s = 0; s <= 8; ++s) last = s;  // Algorithm 2, line 9
  CHECK(last == kEdge);                   // slices end with kEdge - 1
  const std::vector<int> task_list_ptr = {0, 2, 3};
  std::multiset<int> pairs;
  for (std::size_t warp = 0; warp < 2; ++warp)
    for (int i = task_list_ptr[warp]; i <= task_list_ptr[warp + 1]; ++i) pairs.insert(i);  // line 6
  CHECK(pairs == std::multiset<int>{0, 1, 2, 2, 3});  // pair 2 twice, and one after the last
}

TEST_CASE("Algorithm 4 appends the result of each pair of blocks to that of the one before") {
  constexpr int kPairs = 2, kSliceNum = 2;
  std::vector<std::uint64_t> bmp;
  std::vector<double> values;
  for (int pair = 0; pair < kPairs; ++pair)
    for (int s = 0; s < kEdge; s += kSliceNum)
      for (int half = 0; half < kSliceNum; ++half) {
        bmp.push_back(1);       // line 23: a slice with the entry (0, 0) alone
        values.push_back(2.5);  // line 9
      }
  CHECK(bmp.size() == kPairs * kEdge);  // a result block in this form has a word a slice
  CHECK(values.size() ==
        kPairs * kEdge);  // equation (1) adds both pairs up: one entry of 5 a slice
}

TEST_CASE("Algorithm 2 adds the product of a slice to the next") {
  const auto x = numbered(0), y = numbered(3);
  const auto printed = products(x, y, false), cleared = products(x, y, true);
  CHECK(printed[0] == cleared[0]);
  CHECK(printed[1] == cleared[1]);
  for (std::size_t s = 2; s < kEdge; ++s) CHECK(printed[s] != cleared[s]);
  const auto whole = of_the_module(x, y);
  CHECK(whole.at({2, 5, 2, 6}) == cleared[2][5][6]);
  CHECK(whole.at({2, 5, 2, 6}) != printed[2][5][6]);
}

TEST_CASE("Algorithms 3 and 4 shift an int by up to 63") {
  const std::vector<std::uint64_t> bmp(2, ~std::uint64_t{0});
  std::vector<double> values(128);
  for (std::size_t v = 0; v < values.size(); ++v) values[v] = static_cast<double>(v + 1);
  const auto printed = load2frag(0, bmp, values.data(), int_shift);
  const auto words = load2frag(0, bmp, values.data(), word_shift);
  CHECK(printed[3][7] == 32);
  CHECK(printed[4][0] == 0);   // cell 32 of the first slice
  CHECK(printed[8][8] == 33);  // which becomes the first of the second slice
  CHECK(words[4][0] == 33);
  CHECK(words[8][8] == 65);
  CHECK(words[15][15] == 128);
  // Bit 31 is the sign, which fills the upper half of the mask: cell 40 is taken for cell 31.
  const std::vector<std::uint64_t> one = {word_shift(40), 0};
  CHECK(load2frag(0, one, values.data(), int_shift)[3][7] == 1);
  CHECK(load2frag(0, one, values.data(), word_shift)[5][0] == 1);
  // Algorithm 4 sets no bit for cells 33 and 63, 33 bits for cell 31.
  CHECK(std::popcount(int_shift(0) | int_shift(33) | int_shift(63)) == 1);
  CHECK(std::popcount(word_shift(0) | word_shift(33) | word_shift(63)) == 3);
  CHECK(std::popcount(int_shift(31)) == 33);
}

TEST_CASE("Algorithm 3 begins the values anew at each call") {
  std::vector<std::uint64_t> bmp(kEdge, 0);
  bmp[0] = bmp[2] = 1;
  const std::vector<double> values = {10, 20};
  CHECK(load2frag(0, bmp, values.data(), word_shift)[0][0] == 10);
  CHECK(load2frag(2, bmp, values.data(), word_shift)[0][0] == 10);
  // What lies before slice 2 are as many values as slices 0 and 1 have bits.
  const auto before = std::popcount(bmp[0]) + std::popcount(bmp[1]);
  CHECK(load2frag(2, bmp, values.data() + before, word_shift)[0][0] == 20);
}

TEST_CASE("Algorithm 2 reads the values of every block from those of the first") {
  // Two blocks with one nonzero each, in their first cell. A task is a pair of bitmaps (line 7).
  std::vector<std::uint64_t> first(kEdge, 0), second(kEdge, 0);
  first[0] = second[0] = 1;
  const std::vector<double> x_ele = {10, 20};
  CHECK(load2frag(0, first, x_ele.data(), word_shift)[0][0] == 10);
  CHECK(load2frag(0, second, x_ele.data(), word_shift)[0][0] == 10);  // line 10
  int before = 0;
  for (const auto word : first) before += std::popcount(word);
  CHECK(load2frag(0, second, x_ele.data() + before, word_shift)[0][0] == 20);
}

TEST_CASE("Algorithm 3 takes slices of the first mode of both factors") {
  const auto block = numbered(0);
  const std::vector<std::uint64_t> full(kEdge, ~std::uint64_t{0});
  std::vector<double> values, exchanged;
  for (std::size_t i = 0; i < kEdge; ++i)
    for (std::size_t j = 0; j < kEdge; ++j)
      for (std::size_t k = 0; k < kEdge; ++k) {
        values.push_back(block[i][j][k]);
        exchanged.push_back(block[j][k][i]);  // the last mode first
      }
  const auto left = load2frag(0, full, values.data(), word_shift);
  const auto right = load2frag(0, full, exchanged.data(), word_shift);
  bool all_left = true, all_right = true, same = true;
  for (std::size_t i = 0; i < kEdge; ++i)
    for (std::size_t j = 0; j < kEdge; ++j) {
      all_left = all_left && left[i][j] == block[0][i][j];     // B(h1, :, :)
      all_right = all_right && right[i][j] == block[i][j][0];  // B(:, :, h1)
      same = same && left[i][j] == block[i][j][0];
    }
  CHECK(all_left);
  CHECK_FALSE(same);  // what line 11 loads for the second factor
  CHECK(all_right);   // what equation (12) asks for, of a block with its modes exchanged
}

TEST_CASE("A bit only for values above zero loses negative ones") {
  Coo tensor({8, 8, 8}, DType::f32, 2);
  for (std::size_t m = 0; m < 3; ++m) tensor.indices[m][1] = 5;
  tensor.values.set(0, 1.5);
  tensor.values.set(1, -2.5);
  Count printed = 0;
  for (Count p = 0; p < tensor.nnz(); ++p) printed += tensor.values.at(p) > 0;
  CHECK(printed == 1);
  const Bcb bcb = to_bcb(tensor, {});
  int bits = 0;
  for (const auto word : bcb.bitmap) bits += std::popcount(word);
  CHECK(bits == 2);
  CHECK(bcb.to_coo().values.at(1) == -2.5);
}

TEST_CASE("The error of equation (14) grows with the values") {
  const std::vector<double> exact = {1, 2, 3}, half = {1.001, 2.002, 2.997};
  auto scaled_exact = exact, scaled_half = half;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    scaled_exact[k] *= 1024;
    scaled_half[k] *= 1024;
  }
  const auto error = retensor::test::error_metrics(exact, half, 3),
             scaled = retensor::test::error_metrics(scaled_exact, scaled_half, 3);
  CHECK(scaled.rmse_full == doctest::Approx(1024 * error.rmse_full));
  CHECK(scaled.relative_frobenius == doctest::Approx(error.relative_frobenius));
}
