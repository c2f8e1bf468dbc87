// Facts about the device and sorting permutations, against the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/core/rng.hpp"
#include "common/device/device.hpp"
#include "common/machine/machine.hpp"

using namespace retensor;

namespace {

template <class Key>
std::vector<Count> expected(const std::vector<Key>& keys) {
  std::vector<Count> order(keys.size());
  std::iota(order.begin(), order.end(), Count{0});
  std::stable_sort(order.begin(), order.end(),
                   [&keys](Count a, Count b) { return keys[a] < keys[b]; });
  return order;
}

/// n keys; `distinct` limits how many differ, `spread` is what one step is worth.
template <class Key>
std::vector<Key> drawn(Count n, std::uint64_t distinct, Key spread) {
  const CounterRng rng(n);
  std::vector<Key> keys(n);
  for (Count i = 0; i < n; ++i) keys[i] = static_cast<Key>(rng.below(i, distinct)) * spread;
  return keys;
}

}  // namespace

TEST_CASE("permutations by keys of 64 bits equal the host's stable ones") {
  for (const Count n : {0, 1, 2, 1000, 300001}) {
    CAPTURE(n);
    CHECK(device::sort_permutation(drawn<std::uint64_t>(n, ~0ULL, 1)) ==
          expected(drawn<std::uint64_t>(n, ~0ULL, 1)));
    CHECK(device::sort_permutation(drawn<std::uint64_t>(n, 7, 1)) ==
          expected(drawn<std::uint64_t>(n, 7, 1)));
    CHECK(device::sort_permutation(drawn<std::uint64_t>(n, 1, 1)) ==
          expected(drawn<std::uint64_t>(n, 1, 1)));
  }
}

TEST_CASE("permutations by keys of 128 bits use both halves") {
  for (const Uint128 spread : {Uint128{1}, Uint128{1} << 63, Uint128{1} << 64, Uint128{1} << 100})
    for (const Count n : {0, 1, 1000, 300001}) {
      CAPTURE(n);
      const auto keys = drawn<Uint128>(n, 1 << 20, spread + 1);
      CHECK(device::sort_permutation(keys) == expected(keys));
    }
}

TEST_CASE("facts are those of a real device") {
  const auto f = device::facts();
  CHECK_FALSE(f.name.empty());
  CHECK_FALSE(f.driver.empty());
  CHECK_FALSE(f.runtime.empty());
  CHECK(f.major >= 8);
  CHECK(f.sms > 0);
  CHECK(f.memory_bytes > (Count{1} << 30));
  CHECK(f.l2_bytes > (Count{1} << 20));
  CHECK(f.shared_per_sm >= f.shared_per_block + f.shared_reserved);
  CHECK(f.registers_per_sm >= 65536);
  CHECK(f.threads_per_sm >= 1024);
  CHECK(f.memory_bus_bits > 0);
  CHECK(f.sm_clock_mhz > 500);
  const double now = device::sm_clock_mhz();
  CHECK(now > 100);
  CHECK(now < 1.1 * f.sm_clock_mhz);
  const auto facts = machine_facts();
  CHECK(facts["gpu"]["name"] == f.name);
  CHECK(facts["driver"] == f.driver);
}
