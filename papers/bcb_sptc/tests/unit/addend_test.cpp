// Equation (1) with beta and Z beside a dense einsum, and refusals of what does not fit into
// memory.
#include <doctest/doctest.h>

#include "common/core/error.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"
#include "papers/bcb_sptc/tests/unit/addend_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

const Runs kRuns{make_bcb_cpu, prepare_bcb_cpu, {}};

}  // namespace

TEST_CASE("alpha X Y + beta Z meets a dense einsum, Z in any order and with duplicates") {
  check_sums(kRuns, 4);
}

TEST_CASE("another beta, and an entry of Z that is left out, are differences") {
  check_planted_differences(kRuns);
}

TEST_CASE("beta 0 does not read Z") {
  check_beta_zero(kRuns);
}

TEST_CASE("the parameter beta makes an update whose sum is the contraction") {
  check_updates(kRuns);
}

TEST_CASE("sorted output ascends by coordinate, with Z and without") {
  check_sorted_output(kRuns);
}

TEST_CASE("lists and results beyond the memory are refused with their size") {
  check_refusals(kRuns);
}

TEST_CASE("a Z that does not fit is an input error") {
  const Coo x = cells({3, 3}, {{0, 0}});
  const auto sum = [&](Addend addend) {
    return sum_of({"ak,kb->ab", shared(x), shared(x)}, 1, addend, kRuns);
  };
  CHECK(sum({1, cells({3, 3}, {{2, 2}})}).nnz() == 2);
  CHECK_THROWS_WITH_AS(sum({1, cells({3, 4}, {{0, 0}})}),
                       "Z: found dims 3 x 4, expected those of the result, 3 x 3", InputError);
  CHECK_THROWS_AS(sum({1, Coo({3, 3}, DType::f64, 1)}), InputError);
  CHECK_THROWS_AS(sum({1, cells({3, 3}, {{0, 3}})}), InputError);
  CHECK_THROWS_AS(sum_index(Dims(4, 4'000'000'000)), InputError);
  CHECK(sum_index(Dims(3, 4'000'000'000)).bits() == 96);
}
