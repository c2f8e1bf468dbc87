// Results in slabs, with the host's method where a device's memory would be too small.
#include "papers/bcb_sptc/tests/unit/slabs_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

TEST_CASE("results in slabs") {
  check_slabs({make_bcb_cpu, prepare_bcb_cpu, {}});
}
