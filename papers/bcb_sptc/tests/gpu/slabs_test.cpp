// bcb_sptc.cuda.slabs beside a dense einsum.
#include "common/device/device.hpp"
#include "papers/bcb_sptc/kernels/bcb_sptc_cuda.hpp"
#include "papers/bcb_sptc/tests/unit/slabs_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

const Runs kPaths[] = {
    {make_bcb_cuda_slabs, prepare_bcb_cuda, {{"path", std::string("blocks")}}},
    {make_bcb_cuda_slabs, prepare_bcb_cuda, {{"path", std::string("elements")}}}};

}  // namespace

TEST_CASE("results of one slab are those of the method") {
  for (const Runs& runs : kPaths) check_one_slab(runs);
}

TEST_CASE("results of several slabs, cut along a mode of either operand") {
  for (const Runs& runs : kPaths) check_some_slabs(runs);
}

TEST_CASE("a slab of one index that has no room is refused") {
  for (const Runs& runs : kPaths) check_least_slab(runs);
}

TEST_CASE("zeros are dropped slab by slab") {
  for (const Runs& runs : kPaths) check_dropped_zeros(runs);
}
