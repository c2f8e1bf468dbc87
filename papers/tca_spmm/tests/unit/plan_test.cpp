// Plans of TCA-SpMM: the paper's examples, equations 1 and 2, and what check() must refuse.
#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "papers/tca_spmm/format/plan.hpp"

using namespace retensor;
using namespace retensor::tca_spmm;

namespace {

std::vector<Count> row_start_of(const std::vector<Count>& lengths) {
  std::vector<Count> start = {0};
  for (const Count n : lengths) start.push_back(start.back() + n);
  return start;
}

const std::vector<Count> kFig4 = {8, 12, 5, 0, 32, 64};

/// The options that the methods offer.
std::vector<PlanOptions> all_options() {
  std::vector<PlanOptions> all;
  for (const int depth : {8, 16})
    for (const bool one_class : {false, true})
      for (const auto packing : {Packing::in_order, Packing::by_class}) {
        PlanOptions o{.depth = depth, .one_class = one_class, .packing = packing};
        all.push_back(o);
        o.one_warp = true;
        all.push_back(o);
        o.one_warp = false;
        o.long_rows = LongRows::nonzeros;
        all.push_back(o);
      }
  return all;
}

std::vector<Count> random_lengths(std::uint64_t seed) {
  const CounterRng rng(seed);
  std::vector<Count> lengths;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const double most = i % 10 == 0 ? 700 : 70;
    lengths.push_back(static_cast<Count>(rng.uniform(i) * most));
  }
  return lengths;
}

}  // namespace

TEST_CASE("outputs, warps and MMAs of a row by its class, for N = 64") {
  struct Line {
    Count nonzeros;
    int outputs;
    Count warps, mma;
  };
  const std::vector<Line> paper = {
      {0, 0, 0, 0},   {1, 16, 1, 4},   {7, 16, 1, 4},    {8, 16, 1, 4},   {9, 8, 2, 8},
      {16, 8, 2, 8},  {17, 4, 4, 16},  {32, 4, 4, 16},   {33, 2, 8, 32},  {63, 2, 8, 32},
      {64, 2, 8, 32}, {65, 2, 16, 64}, {128, 2, 16, 64}, {129, 2, 24, 96}};
  for (const auto& line : paper) {
    const RowShape shape = row_shape(line.nonzeros, 64, {});
    CAPTURE(line.nonzeros);
    CHECK(shape.outputs == line.outputs);
    CHECK(shape.warps == line.warps);
    CHECK(shape.mma() == line.mma);
  }
  // m16n8k16 holds twice the nonzeros.
  const RowShape deep = row_shape(17, 64, {.depth = 16});
  CHECK(deep.outputs == 8);
  CHECK(deep.mma() == 8);
  CHECK(row_shape(128, 64, {.depth = 16}).chunks == 1);
}

TEST_CASE("Fig. 4: six rows on two blocks, outputs of each fragment") {
  const auto start = row_start_of(kFig4);
  const Plan plan = make_plan(start, 64, {});
  CHECK(layout_text(plan, start) ==
        "block 0: 0 1 1 2 4 4 4 4; block 1: 5 5 5 5 5 5 5 5; "
        "row 0: 8 nonzeros, 1 warps, 0123456789abcdef; "
        "row 1: 12 nonzeros, 2 warps, 0011223344556677; "
        "row 2: 5 nonzeros, 1 warps, 0123456789abcdef; "
        "row 3: 0 nonzeros, 0 warps; "
        "row 4: 32 nonzeros, 4 warps, 0000111122223333; "
        "row 5: 64 nonzeros, 8 warps, 0000000011111111");
  CHECK(count(plan, start).idle() == 0);
}

TEST_CASE("Fig. 3: a row of 128 nonzeros has two blocks and the warps 0 to 15") {
  const Plan plan = make_plan(row_start_of({0, 128}), 64, {});
  REQUIRE(plan.warps() == 16);
  for (Index w = 0; w < 16; ++w) {
    CHECK(plan.row_id_for_each_warp[w] == 1);
    CHECK(plan.warpid_within_row[w] == w);
  }
  CHECK(plan.num_warps_per_row == std::vector<Index>{0, 16});
}

TEST_CASE("section 4.2.2: every warp issues N / 16 MMAs, and without balancing as the row needs") {
  for (const Count nonzeros : {1, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129}) {
    const auto start = row_start_of({nonzeros});
    CAPTURE(nonzeros);
    CHECK(count(make_plan(start, 768, {}), start).most_mma == 768 / 16);
  }
  // 128 tiles on 24 warps leave some with a tile more.
  const auto uneven = row_start_of({129});
  CHECK(count(make_plan(uneven, 256, {}), uneven).most_mma == 3 * 6);
  const auto most_of_one_warp = [](Count nonzeros) {
    const auto start = row_start_of({nonzeros});
    return count(make_plan(start, 256, {.one_warp = true}), start).most_mma;
  };
  CHECK(most_of_one_warp(8) == 256 / 16);
  CHECK(most_of_one_warp(32) == 256 / 4);
}

TEST_CASE("a row has no more blocks than its outputs fill, unless its nonzeros are divided") {
  const auto start = row_start_of({1000});
  const Plan outputs = make_plan(start, 64, {});
  CHECK(outputs.blocks() == 4);  // 32 tiles of two outputs
  CHECK(count(outputs, start).most_mma == 16);
  const Plan nonzeros = make_plan(start, 64, {.long_rows = LongRows::nonzeros});
  CHECK(nonzeros.blocks() == 16);
  CHECK(count(nonzeros, start).most_mma == 4);
  CHECK(count(nonzeros, start).mma == count(outputs, start).mma);
}

TEST_CASE("idle warps: those without a row and those without outputs") {
  const auto start = row_start_of({64, 32, 64, 8});
  const auto counts = count(make_plan(start, 64, {}), start);
  CHECK(counts.without_row == 4 + 7);
  CHECK(counts.without_outputs == 0);
  CHECK(count(make_plan(start, 64, {.packing = Packing::by_class}), start).without_row == 3);
  const auto narrow = count(make_plan(row_start_of({64}), 7, {}), row_start_of({64}));
  CHECK(narrow.without_outputs == 4);  // four tiles of two outputs
}

TEST_CASE("the shares of a row's warps are all its tiles and chunks, once") {
  std::uint64_t seed = 1;
  for (const auto& options : all_options())
    for (const std::uint64_t width : {1, 7, 8, 64, 100}) {
      const auto start = row_start_of(random_lengths(seed++));
      const Plan plan = make_plan(start, width, options);
      plan.check(start);
      std::vector<std::vector<int>> covered(start.size() - 1);
      for (Count row = 0; row + 1 < start.size(); ++row)
        covered[row].resize(row_shape(start[row + 1] - start[row], width, options).mma());
      for (Count w = 0; w < plan.warps(); ++w) {
        const Index row = plan.row_id_for_each_warp[w];
        if (row == kNoRow) continue;
        const Count nonzeros = start[row + std::size_t{1}] - start[row];
        const Share share = plan.share(w, nonzeros);
        const Count chunks = row_shape(nonzeros, width, options).chunks;
        for (Count t = share.first_tile; t < share.end_tile; ++t)
          for (Count c = share.first_chunk; c < share.end_chunk; ++c)
            ++covered[row][t * chunks + c];
      }
      for (const auto& row : covered)
        for (const int times : row) REQUIRE(times == 1);
    }
}

TEST_CASE("equations 1 and 2") {
  const auto lengths = random_lengths(5);
  const auto start = row_start_of(lengths);
  const Count width = 64;
  Count first = 0, second = 0;
  for (const Count n : lengths) {
    const Count general = (n + 63) / 64 * (width / 2);
    first += general;
    second += n == 0    ? 0
              : n <= 8  ? width / 16
              : n <= 16 ? width / 8
              : n <= 32 ? width / 4
                        : general;
  }
  const auto counts = count(make_plan(start, width, {}), start);
  CHECK(counts.mma_one_class == first);
  CHECK(counts.mma == second);
  CHECK(count(make_plan(start, width, {.one_class = true}), start).mma == first);
  CHECK(second < first);
  // Without remainders eq. 1 is M N K (1 - sparsity) / (m k): here 10 rows of 640 nonzeros.
  const auto full = row_start_of(std::vector<Count>(10, 640));
  CHECK(count(make_plan(full, width, {}), full).mma == 10 * 640 * width / (16 * 8));
}

TEST_CASE("check() refuses each planted error") {
  const auto start = row_start_of({8, 12, 5, 0, 32, 64, 200});
  const Plan good = make_plan(start, 64, {});
  CHECK_NOTHROW(good.check(start));
  const auto refused = [&](const std::function<void(Plan&)>& damage) {
    Plan plan = good;
    damage(plan);
    CHECK_THROWS_AS(plan.check(start), InputError);
  };
  refused([](Plan& p) { p.row_id_for_each_warp[0] = 7; });
  refused([](Plan& p) { std::swap(p.row_id_for_each_warp[0], p.row_id_for_each_warp[1]); });
  refused([](Plan& p) { p.warpid_within_row[2] = 0; });
  refused([](Plan& p) { p.num_warps_per_row[4] = 8; });
  refused([](Plan& p) { p.num_warps_per_row[3] = 1; });
  // Row 1 begins a block earlier than it ends.
  Plan split = make_plan(row_start_of({32, 12}), 64, {});
  split.row_id_for_each_warp = {0, 0,      0,      0,      kNoRow, kNoRow, kNoRow, 1,
                                1, kNoRow, kNoRow, kNoRow, kNoRow, kNoRow, kNoRow, kNoRow};
  split.warpid_within_row = {0, 1, 2, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
  CHECK_THROWS_WITH_AS(split.check(row_start_of({32, 12})), "warp 7: row 1 lies in two blocks",
                       InputError);
  Plan late = make_plan(row_start_of({64}), 64, {});
  late.row_id_for_each_warp.insert(late.row_id_for_each_warp.begin(), 4, kNoRow);
  late.row_id_for_each_warp.insert(late.row_id_for_each_warp.end(), 4, kNoRow);
  late.warpid_within_row = {0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0};
  CHECK_THROWS_WITH_AS(late.check(row_start_of({64})),
                       "warp 4: row 0 does not begin with its block", InputError);
}

TEST_CASE("options that no kernel has are refused") {
  CHECK_THROWS_AS(make_plan(row_start_of({3}), 8, {.depth = 4}), InputError);
  CHECK_THROWS_AS(
      make_plan(row_start_of({3}), 8, {.one_warp = true, .long_rows = LongRows::nonzeros}),
      InputError);
}
