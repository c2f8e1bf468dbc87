// HLS keeps the contract of all formats.
#include <doctest/doctest.h>

#include "papers/hlsto/format/hls.hpp"
#include "tests/contract/format_battery.hpp"

namespace retensor::contract {

void arrays(hlsto::Hls& h, Arrays& each) {
  each(h.tile_index, h.bitmap, h.value_start, h.dense_values, h.nonzero_index, h.sparse_values);
}

}  // namespace retensor::contract

TEST_CASE("HLS keeps the contract of formats") {
  using namespace retensor;
  using namespace retensor::contract;
  const hlsto::Options dense{.threshold = 1}, mixed{.edge_bits = 3, .threshold = 5},
      sparse{.threshold = hlsto::kNoTileIsDense, .values = ValueType::f32};
  const FormatTraits orders{.lowest_order = 3, .highest_order = 5, .doubles = false, .sums = true};
  check_formats({
      format("HLS, dense", orders, [=](const Coo& x) { return hlsto::to_hls(x, dense); }),
      format("HLS", orders, [=](const Coo& x) { return hlsto::to_hls(x, mixed); }),
      format("HLS, sparse", orders, [=](const Coo& x) { return hlsto::to_hls(x, sparse); }),
  });
}
