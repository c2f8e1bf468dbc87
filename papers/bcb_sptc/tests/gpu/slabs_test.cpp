// bcb_sptc.cuda.slabs beside a dense einsum.
#include "common/device/device.hpp"
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"
#include "papers/bcb_sptc/tests/unit/slabs_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

const Runs kPaths[] = {
    {make_bcb_cuda_slabs, prepare_bcb_cuda, {{"path", std::string("blocks")}}},
    {make_bcb_cuda_slabs, prepare_bcb_cuda, {{"path", std::string("elements")}}}};

}  // namespace

TEST_CASE("results in slabs, by blocks") {
  check_slabs(kPaths[0]);
}

TEST_CASE("results in slabs, by single products") {
  check_slabs(kPaths[1]);
}

TEST_CASE("few slabs of a small result") {
  Draws draws(3);
  const Case c{"ak,kb->ab", shared(random_tensor({24, 6}, 0.3, draws)), full({6, 10})};
  const Answer expected = einsum_of(c, 1);
  for (const Runs& runs : kPaths) {
    const auto [result, slabs] = slabs_of(c, room_for(expected.size() / 3), runs);
    CHECK(std::stoi(slabs) >= 2);
    CHECK(difference(result, expected, 0x1p-11) == "");
  }
}
