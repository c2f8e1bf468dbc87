// bcb_sptc.cuda.rows and hash_spgemm.cuda beside a dense einsum: rows of every size, ranges of
// columns.
#include <doctest/doctest.h>

#include <string>

#include "common/device/device.hpp"
#include "papers/bcb_sptc/baselines/hash_spgemm/hash_spgemm_cuda.hpp"
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"
#include "papers/bcb_sptc/tests/gpu/rows_case.hpp"
#include "papers/bcb_sptc/tests/unit/addend_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

using PrepareRows = std::unique_ptr<Prepared> (*)(const Problem&);
constexpr PrepareRows kMethods[] = {prepare_rows_cuda, hash_spgemm::prepare_cuda};

template <PrepareRows kPrepare>
std::unique_ptr<Prepared> prepare(const Problem& problem, const Params&, const Addend&) {
  return kPrepare(problem);
}
const Runs kRuns[] = {{make_bcb_cuda_rows, prepare<prepare_rows_cuda>, {}},
                      {make_bcb_cuda_rows, prepare<hash_spgemm::prepare_cuda>, {}}};

void check_all(const Case& c, double alpha) {
  const Answer expected = einsum_of(c, alpha);
  for (const Runs& runs : kRuns)
    CHECK(difference(sum_of(c, alpha, {}, runs), expected, 0x1p-11) == "");
}

std::string fact(PrepareRows prepare, const Case& c, const char* name) {
  const Problem problem = problem_of(c);
  return prepare(problem)->executed().at(name);
}

}  // namespace

TEST_CASE("contractions of orders 1 to 5 meet a dense einsum") {
  for (const Runs& runs : kRuns) check_products(runs, 5);
}

TEST_CASE("rows of every size, of which the largest has a range of columns") {
  const Case c = rows_of({3, 90, 400, 700, 1500, 3000, 7000, 8193});
  CHECK(fact(hash_spgemm::prepare_cuda, c, "rows_counted") == "1 1 1 1 1 1 1 2");
  CHECK(fact(hash_spgemm::prepare_cuda, c, "rows_filled") == "1 1 1 1 1 1 1 2");
  CHECK(fact(prepare_rows_cuda, c, "rows") == "1 1 1 1 1 1 1 2");
  check_all(c, -2);
}

TEST_CASE("rows of several ranges of columns in both passes") {
  check_all(rows_of({5, 25'000, 530'000}), 1);
}

TEST_CASE("many rows of one list, and a planted difference") {
  Draws draws(41);
  const Case c{"ak,kb->ab", shared(random_tensor({700, 60}, 0.05, draws)),
               shared(random_tensor({60, 300}, 0.02, draws))};
  check_all(c, 1);
  for (const Runs& runs : kRuns)
    CHECK(difference(sum_of(c, 1, {}, runs), einsum_of(c, 1.01), 0x1p-11) != "");
}

TEST_CASE("runs after the first give the same, also without nonzeros") {
  const Case none{"ak,kb->ab", shared(Coo({9, 8}, DType::f32)), full({8, 7})};
  for (const Case& c : {rows_of({3, 90, 9000}), none})
    for (const PrepareRows prepare : kMethods) {
      const Problem problem = problem_of(c);
      check_runs(*prepare(problem), einsum_of(c, 1));
    }
}
