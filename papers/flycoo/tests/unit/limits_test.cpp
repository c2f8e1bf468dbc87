// Thread blocks of flycoo.cuda.tuned and flycoo.cuda.copies with the limits of several chips.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "common/method/registry.hpp"
#include "papers/flycoo/kernels/tuned_cuda.hpp"
#include "papers/flycoo/methods/methods.hpp"
#include "tests/support/chips.hpp"

using namespace retensor;
using namespace retensor::flycoo;
using test::kChips;
using test::kH200;
using test::kKibi;
using tuned::Block;
using tuned::Variant;

namespace {

using Given = std::map<std::string, ParamValue>;

/// MTTKRP of a tensor of this shape with one nonzero, which is nowhere.
Problem problem_of(const Dims& dims, DType dtype = DType::f32) {
  ProblemSpec spec;
  spec.operation = Operation::mttkrp_all;
  spec.rank = 1, spec.dtype = dtype;
  return Problem::outline(spec, std::make_shared<const Coo>(dims, dtype), 1);
}

/// Why a method declines the shape wherever it runs.
std::string declined(const char* variant, const Dims& dims, DType dtype = DType::f32) {
  static const Registry registry = all_methods();
  const Method& method = registry.find(std::string("flycoo.cuda.") + variant);
  return method.solves(problem_of(dims, dtype), method.params().resolve({})).reason;
}

/// `rows` of the factors of each mode, 4 bytes each; below 2^18 in all they are few.
Problem problem_of(Count rows) {
  return problem_of(Dims{rows, rows});
}

Block block_of(const device::Limits& limits, bool remap, bool few, const Given& given = {}) {
  static const Registry registry = all_methods();
  const Method& method = registry.find(remap ? "flycoo.cuda.tuned" : "flycoo.cuda.copies");
  const auto params = method.params().resolve(given);
  return tuned::block_of(problem_of(few ? 100 : 1 << 18), params,
                         remap ? Variant::remapped : Variant::copies, limits);
}

void check(const Block& block, Count tile, unsigned walkers, unsigned senders) {
  CHECK(block.tile == tile * kKibi);
  CHECK(block.walkers == walkers);
  CHECK(block.senders == senders);
}

}  // namespace

TEST_CASE("an H200 has the blocks that were measured there") {
  check(block_of(kH200, true, false), 132, 896, 128);
  check(block_of(kH200, true, true), 96, 416, 96);
  check(block_of(kH200, false, false), 48, 128, 0);
  CHECK(block_of(kH200, true, false).blocks(true, kH200) == 1);
  CHECK(block_of(kH200, true, true).blocks(true, kH200) == 2);
  CHECK(block_of(kH200, false, true).blocks(false, kH200) == 8);
  CHECK(tuned::kWide.blocks(false, kH200) == 8);
  // Stated sizes leave the others as they were chosen.
  for (const std::int64_t walkers : {32, 384, 768, 928}) {
    const auto mine = static_cast<unsigned>(walkers);
    check(block_of(kH200, true, false, {{"walkers", walkers}}), 132, mine, 128);
    check(block_of(kH200, true, true, {{"walkers", walkers}}), 96, mine, 96);
  }
  check(block_of(kH200, true, true, {{"tile", std::int64_t{48}}, {"senders", std::int64_t{64}}}),
        48, 416, 64);
}

TEST_CASE("an H200 shares its memory as it did with constants in place of limits") {
  for (const Count tile : {24, 48, 96, 132, 190})
    for (const unsigned walkers : {64u, 416u, 896u}) {
      const Block block{tile * kKibi, walkers, 96};
      const Count taken = block.shared(true) + kKibi, in_all = 228 * kKibi;
      const auto blocks = std::max<Count>(std::min(in_all / taken, 1024 / Count{walkers + 96}), 1);
      CHECK(block.blocks(true, kH200) == blocks);
      CHECK(tuned::shared_percent(block.blocks(true, kH200), block.shared(true), kH200) ==
            static_cast<int>(std::min<Count>((100 * blocks * taken + in_all - 1) / in_all, 100)));
    }
}

TEST_CASE("every chip has room for the block that is chosen for it") {
  for (const auto& chip : kChips)
    for (const bool remap : {true, false})
      for (const bool few : {true, false}) {
        CAPTURE(chip.name);
        CAPTURE(remap);
        CAPTURE(few);
        const Block block = block_of(chip.limits, remap, few);
        CHECK(supports_block(block, remap, chip.limits).ok);
        const Count blocks = block.blocks(remap, chip.limits);
        CHECK(blocks == (!remap ? 8 : few ? 2 : 1));
        CHECK(blocks * (block.shared(remap) + chip.limits.shared_reserved) <=
              chip.limits.shared_per_sm);
        CHECK(blocks * block.threads() * tuned::kRegisters <= chip.limits.registers_per_sm);
        CHECK(blocks * block.threads() <= chip.limits.threads_per_sm);
        CHECK(block.tile >= 32 * kKibi);
        const int percent = tuned::shared_percent(block.blocks(remap, chip.limits),
                                                  block.shared(remap), chip.limits);
        CHECK(percent <= 100);
        CHECK(Count(percent) * chip.limits.shared_per_sm >=
              100 * blocks * (block.shared(remap) + chip.limits.shared_reserved));
      }
}

TEST_CASE("a block that a chip has no room for is declined with the chip's limit") {
  const Given wide{{"tile", std::int64_t{150}}};
  for (const auto& chip : kChips) {
    CAPTURE(chip.name);
    const auto support =
        supports_block(block_of(chip.limits, true, false, wide), true, chip.limits);
    CHECK(support.ok == (chip.limits.shared_per_block >= 180 * kKibi));
    if (!support.ok)
      CHECK(support.reason.find(std::to_string(chip.limits.shared_per_block / kKibi) + " KiB") !=
            std::string::npos);
  }
  // Not even the walkers' ends: no tile is left, and the block is declined.
  device::Limits none = kH200;
  none.shared_per_block = 16 * kKibi;
  CHECK(block_of(none, true, false).tile == 0);
  CHECK_FALSE(supports_block(block_of(none, true, false), true, none).ok);
}

TEST_CASE("walkers and senders are whole warps of one block") {
  for (const auto& chip : kChips)
    for (const std::int64_t walkers : {33, 928}) {
      CAPTURE(chip.name);
      const Block block = block_of(chip.limits, true, false, {{"walkers", walkers}});
      CHECK(supports_block(block, true, chip.limits).reason.find("expected multiples of 32") !=
            std::string::npos);
    }
}

TEST_CASE("records without a word of indices are declined") {
  for (const auto variant : {"tuned", "copies"})
    for (const auto dtype : {DType::f32, DType::f64}) {
      CAPTURE(variant);
      CHECK(declined(variant, {1, 1, 1}, dtype).find("longer than 1") != std::string::npos);
      CHECK(declined(variant, {1, 2, 1}, dtype).empty());
      CHECK(declined(variant, {2, 1}, dtype).empty());
    }
  CHECK(declined("wide", {1, 1}).find("longer than 1") != std::string::npos);
  CHECK(declined("wide", {1, 2}).empty());
}

TEST_CASE("partial products of a half without a word of indices are declined") {
  CHECK(declined("memoised", {2, 3, 4}).find("orders from 4") != std::string::npos);
  for (const Dims& dims : {Dims{1, 1, 1, 1}, Dims{1, 1, 30, 20}, Dims{30, 20, 1, 1}}) {
    CAPTURE(dims.back());
    CHECK(declined("memoised", dims).find("longer than 1") != std::string::npos);
  }
  // Two of length 1 stand in different halves, since one nonzero has one tuple in any.
  CHECK(declined("memoised", {1, 20, 1, 30}).empty());
  CHECK(declined("memoised", {10, 20, 1, 30}).empty());
}

TEST_CASE("a field behind the last word of a record in shared memory is declined") {
  const Count k16 = Count{1} << 16, k32 = Count{1} << 32;
  const Dims whole{k16, k16, k16, k16, k16, k16, k16, k16};
  CHECK(declined("tuned", whole).empty());
  const Dims behind{k32 - 1, k32 - 1, k32 - 1, k32 - 1, 1};
  CHECK(declined("tuned", behind).find("mode 5") != std::string::npos);
  // Without remapping records lie in global memory, which is padded; values of two words hold the
  // field; four words are held by registers; and before other indices the field is one of theirs.
  CHECK(declined("copies", behind).empty());
  CHECK(declined("tuned", behind, DType::f64).empty());
  CHECK(declined("tuned", {k32 - 1, k32 - 1, k32 - 1, 1}).empty());
  CHECK(declined("tuned", {k32 - 1, k32 - 1, 1, k32 - 1, k32 - 1}).empty());
  CHECK(declined("tuned", {k32 - 1, k32 - 1, k32 - 1, k32 / 2, 1}).empty());
}
