// Thread blocks of flycoo.cuda.tuned and flycoo.cuda.copies with the limits of several chips.
#include <doctest/doctest.h>

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

namespace {

using Given = std::map<std::string, ParamValue>;

/// `rows` of the factors of each mode, 4 bytes each; below 2^18 in all they are few.
Problem problem_of(Count rows) {
  Coo x({rows, rows}, DType::f32, 1);
  ProblemSpec spec;
  spec.operation = Operation::mttkrp_all;
  spec.rank = 1;
  return {spec, std::make_shared<const Coo>(std::move(x))};
}

Block block_of(bool remap, bool few, const Given& given = {}) {
  static const Registry registry = all_methods();
  const Method& method = registry.find(remap ? "flycoo.cuda.tuned" : "flycoo.cuda.copies");
  const auto params = method.params().resolve(given);
  return tuned::block_of(problem_of(few ? 100 : 1 << 18), params, remap);
}

void check(const Block& block, Count tile, unsigned walkers, unsigned senders) {
  CHECK(block.tile == tile * kKibi);
  CHECK(block.walkers == walkers);
  CHECK(block.senders == senders);
}

}  // namespace

TEST_CASE("an H200 has the blocks that were measured there") {
  check(block_of(true, false), 132, 896, 128);
  check(block_of(true, true), 96, 416, 96);
  check(block_of(false, false), 48, 128, 0);
  CHECK(block_of(true, false).blocks(true) == 1);
  CHECK(block_of(true, true).blocks(true) == 2);
  CHECK(block_of(false, true).blocks(false) == 8);
  for (const bool few : {true, false})
    for (const bool remap : {true, false})
      CHECK(supports_block(block_of(remap, few), remap, kH200).ok);
}

TEST_CASE("a block that a chip has no room for is declined with the chip's limit") {
  const Given wide{{"tile", std::int64_t{150}}};
  for (const auto& [name, limits] : kChips) {
    CAPTURE(name);
    const auto support = supports_block(block_of(true, false, wide), true, limits);
    CHECK(support.ok == (limits.shared_per_block >= 180 * kKibi));
    if (!support.ok)
      CHECK(support.reason.find(std::to_string(limits.shared_per_block / kKibi) + " KiB") !=
            std::string::npos);
  }
}

TEST_CASE("walkers and senders are whole warps of one block") {
  for (const auto& [name, limits] : kChips)
    for (const std::int64_t walkers : {33, 928}) {
      CAPTURE(name);
      const auto block = block_of(true, false, {{"walkers", walkers}});
      CHECK(supports_block(block, true, limits).reason.find("expected multiples of 32") !=
            std::string::npos);
    }
}
