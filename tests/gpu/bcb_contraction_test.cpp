// bcb_sptc.cuda beside a dense einsum: equation (1) with beta and Z, indices of more than 64 bits,
// refusals of what does not fit into memory.
#include <doctest/doctest.h>

#include "papers/bcb_sptc/methods_cuda.hpp"
#include "papers/bcb_sptc/tests/addend_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

Runs on(const char* path) {
  return {make_bcb_cuda, prepare_bcb_cuda, {{"path", std::string(path)}}};
}

constexpr const char* kPaths[] = {"blocks", "elements"};

}  // namespace

TEST_CASE("alpha X Y + beta Z meets a dense einsum, Z in any order and with duplicates") {
  for (const char* path : kPaths) check_sums(on(path), 3);
}

TEST_CASE("another beta, and an entry of Z that is left out, are differences") {
  for (const char* path : kPaths) check_planted_differences(on(path));
}

TEST_CASE("beta 0 does not read Z") {
  for (const char* path : kPaths) check_beta_zero(on(path));
}

TEST_CASE("the parameter beta makes an update whose sum is the contraction") {
  for (const char* path : kPaths) check_updates(on(path));
}

TEST_CASE("lists and results beyond the memory are refused with their size") {
  for (const char* path : kPaths) check_refusals(on(path));
}

TEST_CASE("coordinates of more than 64 bits, of operands, result and sum") {
  const Dims dims = {4'000'000'000, 17, 4'000'000'000};
  const Index last = 3'999'999'999;
  const Case c{"abk,kcd->bcda",
               shared(cells(dims, {{0, 7, 7}, {7, 8, 8}, {8, 16, last}, {last, 0, last}}, 2)),
               shared(cells({dims[2], 4'000'000'000, 8},
                            {{7, 0, 0}, {8, last, 7}, {last, 7, 7}, {9, 1, 1}}, 3))};
  const Coo z = cells(result_dims(c), {{8, last, 7, 7}, {16, last, 7, last}, {0, 0, 0, 0}});
  for (const char* path : kPaths) {
    CHECK(difference(sum_of(c, 1, {}, on(path)), einsum_of(c, 1), 0x1p-11) == "");
    const Addend addend{2, z};
    const Coo sum = sum_of(c, 1, addend, on(path));
    CHECK(difference(sum, sum_of(c, 1, addend), 0x1p-11) == "");
    CHECK(sum.nnz() == 6);
  }
}
