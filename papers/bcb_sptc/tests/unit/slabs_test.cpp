// Results in slabs, with the host's method where a device's memory would be too small.
#include "papers/bcb_sptc/tests/unit/slabs_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

const Runs kRuns{make_bcb_cpu, prepare_bcb_cpu, {}};

}  // namespace

TEST_CASE("results of one slab are those of the method") {
  check_one_slab(kRuns);
}

TEST_CASE("results of several slabs, cut along a mode of either operand") {
  check_some_slabs(kRuns);
}

TEST_CASE("a slab of one index that has no room is refused") {
  check_least_slab(kRuns);
}

TEST_CASE("zeros are dropped slab by slab") {
  check_dropped_zeros(kRuns);
}
