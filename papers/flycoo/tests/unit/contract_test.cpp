// The formats of FLYCOO keep the contract of all formats.
#include <doctest/doctest.h>

#include "papers/flycoo/format/flycoo.hpp"
#include "papers/flycoo/format/tiles.hpp"
#include "tests/contract/format_battery.hpp"

namespace retensor::contract {

void arrays(flycoo::Flycoo& f, Arrays& each) {
  for (auto& mode : f.modes) each.beside(mode.part);
  for (auto& mode : f.modes) each(mode.start);
  each(f.records, f.streams);
}
void arrays(flycoo::Tiled& f, Arrays& each) {
  for (auto& mode : f.modes) each(mode.walk, mode.leave, mode.target, mode.joined, mode.cut);
  each(f.records);
}

}  // namespace retensor::contract

TEST_CASE("the formats of FLYCOO keep the contract") {
  using namespace retensor;
  using namespace retensor::contract;
  using namespace retensor::flycoo;
  const Options record{.kappa = 4},
      stream{.kappa = 3, .indices = Indices::packed, .ids = Ids::stream},
      row{.kappa = 50, .assignment = Assignment::contiguous, .arrangement = Arrangement::row},
      wide{.align = 4, .id_bits = 64};
  const FormatTraits several{.lowest_order = 2};
  check_formats({
      format("FLYCOO", several, [=](const Coo& x) { return to_flycoo(x, record); }),
      format("FLYCOO, stream", several, [=](const Coo& x) { return to_flycoo(x, stream); }),
      format("FLYCOO, row", several, [=](const Coo& x) { return to_flycoo(x, row); }),
      format("FLYCOO, wide", several, [=](const Coo& x) { return to_flycoo(x, wide); }),
      format("FLYCOO tiles", several,
             [](const Coo& x) {
               return to_tiled(x, {64, 1, 3});
             }),
      format("FLYCOO tiles of seven", several,
             [](const Coo& x) {
               return to_tiled(x, {7, 1, 3});
             }),
      format("FLYCOO tiles, one", several, [](const Coo& x) { return to_tiled(x, {}); }),
      format("FLYCOO tiles of one", several, [](const Coo& x) { return to_tiled(x, {1}); }),
      format("FLYCOO tiles, copies", several,
             [](const Coo& x) {
               return to_tiled(x, {7, 1, 3, false});
             }),
  });
}
