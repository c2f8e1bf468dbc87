// Checks of results that are formed in slabs, for the methods of the host and of a device.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "papers/bcb_sptc/methods/update.hpp"
#include "papers/bcb_sptc/tests/unit/addend_checks.hpp"

namespace retensor::bcb_sptc::test {

/// The second of two runs with room for `gib` a list or result.
struct SlabsResult {
  Coo result;
  std::string slabs;
};
inline SlabsResult slabs_of(const Case& c, double gib, const Runs& runs, Given given = {}) {
  given["memory"] = gib;
  const Params params = runs.params(given);
  const Problem problem = problem_of(c);
  const auto prepared = prepare_slabs(problem, [&](const Problem& slab, const Addend& addend) {
    return runs.prepare(slab, params, addend);
  });
  const bool on_host = DescribedMethod(runs.method()).backend() == Backend::cpu;
  const auto timer = on_host ? make_host_timer() : device::make_event_timer();
  for (int run = 0; run < 2; ++run) {
    timer->start();
    prepared->run(*timer);
    CHECK(timer->stop().size() == 1);
  }
  return {std::get<Coo>(prepared->result()), prepared->executed().at("slabs")};
}

/// Of so many entries of order 4.
inline double room_for(Count entries) {
  return 0x1p-30 * 20 * static_cast<double>(entries);
}

inline Case order_four_case() {
  Draws draws(31);
  return {"kab,kcd->cabd", shared(random_tensor({40, 9, 30}, 0.05, draws)),
          shared(random_tensor({40, 23, 12}, 0.05, draws))};
}

inline void check_one_slab(const Runs& runs) {
  const Case c = order_four_case();
  const auto [result, slabs] = slabs_of(c, 0, runs);
  CHECK(slabs == "1");
  CHECK(difference(result, einsum_of(c, 1), 0x1p-11) == "");
  const Case none{"ak,kb->ab", shared(Coo({9, 8}, DType::f32)), full({8, 7})};
  CHECK(slabs_of(none, 0, runs).result.nnz() == 0);
}

/// Whichever operand the first mode of the result comes from.
inline void check_some_slabs(const Runs& runs) {
  Case c = order_four_case();
  for (const char* einsum : {"kab,kcd->cabd", "kab,kcd->bcda", "kab,kcd->dcba"}) {
    INFO(einsum);
    c.einsum = einsum;
    const Answer expected = einsum_of(c, 1);
    const double room = room_for(expected.size() / 3);
    const auto [result, slabs] = slabs_of(c, room, runs);
    CHECK(std::stoi(slabs) >= 3);
    CHECK(difference(result, expected, 0x1p-11) == "");
    Coo less = result;
    less.values.set(result.nnz() - 1, 1e3);
    CHECK(difference(less, expected, 0x1p-11) != "");
    CHECK(std::ranges::is_sorted(
        slabs_of(c, room, runs, {{"output", std::string("sorted")}}).result.indices[0]));
  }
}

/// Each index of the first mode has 100 entries of 8 + 4 bytes.
inline void check_least_slab(const Runs& runs) {
  const Case c{"a,b->ab", full({12}), full({100})};
  const auto [result, slabs] = slabs_of(c, 0x1p-30 * 100 * 12, runs);
  CHECK(slabs == "12");
  CHECK(difference(result, einsum_of(c, 1), 0x1p-11) == "");
  CHECK_THROWS_AS(slabs_of(c, 0x1p-30 * 99 * 12, runs), OutOfMemory);
}

inline void check_dropped_zeros(const Runs& runs) {
  const auto x = cells({4, 2}, {{0, 0}, {0, 1}, {1, 0}, {2, 1}, {3, 0}, {3, 1}});
  Coo y({2, 30}, DType::f32, 60);
  for (Count p = 0; p < y.nnz(); ++p) {
    y.indices[0][p] = static_cast<Index>(p / 30), y.indices[1][p] = static_cast<Index>(p % 30);
    y.values.set(p, p < 30 ? 1 : p % 30 < 20 ? -1 : 1);
  }
  const Case c{"ak,kb->ab", shared(x), shared(y)};
  const auto all = slabs_of(c, 0x1p-30 * 400, runs);
  const auto kept = slabs_of(c, 0x1p-30 * 400, runs, {{"zeros", std::string("drop")}});
  CHECK(all.result.nnz() == 120);
  const auto values = all.result.values.as<float>();
  CHECK(kept.result.nnz() == 120 - static_cast<Count>(std::ranges::count(values, 0.0f)));
  CHECK(std::ranges::count(kept.result.values.as<float>(), 0.0f) == 0);
}

/// Apart, for a sanitiser that has the time for one of them.
inline void check_slabs(const Runs& runs) {
  SUBCASE("one slab") {
    check_one_slab(runs);
  }
  SUBCASE("several, cut along a mode of either operand") {
    check_some_slabs(runs);
  }
  SUBCASE("one index that has no room") {
    check_least_slab(runs);
  }
  SUBCASE("zeros that are dropped") {
    check_dropped_zeros(runs);
  }
}

}  // namespace retensor::bcb_sptc::test
