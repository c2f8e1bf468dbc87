// bcb_sptc.cuda.dense beside a dense einsum: few cells and ranges of rows, entries whose sums are
// zero, subnormal products, nonzeros that stand twice, refusals.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"
#include "papers/bcb_sptc/tests/unit/addend_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

std::unique_ptr<Prepared> prepare(const Problem& problem, const Params&, const Addend&) {
  return prepare_dense_cuda(problem);
}
const Runs kRuns{make_bcb_cuda_dense, prepare, {}};

Coo product_of(const Case& c, double alpha = 1) {
  return sum_of(c, alpha, {}, kRuns);
}

std::string fact(const Case& c, const char* name) {
  const Problem problem = problem_of(c);
  return prepare_dense_cuda(problem)->executed().at(name);
}

/// A matrix of nonzeros (row, column, value).
struct Nonzero {
  Index row, column;
  float value;
};
std::shared_ptr<const Coo> matrix(const Dims& dims, const std::vector<Nonzero>& nonzeros) {
  Coo tensor(dims, DType::f32, nonzeros.size());
  for (Count p = 0; p < tensor.nnz(); ++p) {
    tensor.indices[0][p] = nonzeros[p].row, tensor.indices[1][p] = nonzeros[p].column;
    tensor.values.set(p, nonzeros[p].value);
  }
  return shared(tensor);
}

}  // namespace

TEST_CASE("contractions of orders 1 to 5 meet a dense einsum") {
  check_products(kRuns, 5);
}

TEST_CASE("a planted difference is found") {
  const Case c{"ak,kb->ab", full({9, 8}), full({8, 7})};
  CHECK(difference(product_of(c), einsum_of(c, 1), 0x1p-11) == "");
  CHECK(difference(product_of(c), einsum_of(c, 1.01), 0x1p-11) != "");
  const Case other{"ak,kb->ab", matrix({9, 8}, {{0, 0, 1}}), c.y};
  CHECK(difference(product_of(other), einsum_of(c, 1), 0x1p-11) != "");
}

TEST_CASE("few cells with sums in shared and in global memory, and ranges of rows") {
  const Case small{"ak,kb->ab", full({128, 3}), full({3, 128})};
  const Case large{"ak,kb->ba", full({129, 3}), full({3, 128})};
  Draws draws(11);
  const Case ranges{"ak,kb->ba", shared(random_tensor({300, 60}, 0.05, draws)),
                    shared(random_tensor({60, 4000}, 0.01, draws))};
  CHECK(fact(small, "sums") == "shared memory");
  CHECK(fact(large, "sums") == "global memory");
  CHECK(fact(ranges, "ranges") == "75");
  for (const Case& c : {small, large, ranges})
    CHECK(difference(product_of(c, -2), einsum_of(c, -2), 0x1p-11) == "");
}

TEST_CASE("runs after the first give the same, of few cells and of ranges") {
  Draws draws(12);
  for (const std::uint64_t columns : {50, 4000}) {
    const Case c{"ak,kb->ab", shared(random_tensor({300, 20}, 0.1, draws)),
                 shared(random_tensor({20, columns}, 0.02, draws))};
    const Problem problem = problem_of(c);
    check_runs(*prepare_dense_cuda(problem), einsum_of(c, 1));
  }
}

TEST_CASE("sums of zero are entries, also of products that are -0 or subnormal") {
  for (const Index rows : {Index{2}, Index{200'000}, Index{3'000'000}}) {
    const float tiny = std::numeric_limits<float>::min();
    const Case c{"ak,kb->ab",
                 matrix({rows, 3}, {{0, 0, 1}, {0, 1, -1}, {1, 2, -tiny}, {rows - 1, 0, 0}}),
                 matrix({3, 2}, {{0, 0, 1}, {1, 0, 1}, {2, 1, 0.5f}, {0, 1, -1}})};
    const Coo result = product_of(c);
    CHECK(difference(result, einsum_of(c, 1), 0x1p-11) == "");
  }
}

TEST_CASE("nonzeros that stand twice count twice") {
  const Case c{"ak,kb->ab", matrix({2, 3}, {{0, 1, 1}, {1, 0, 3}, {0, 1, 2}}),
               matrix({3, 2}, {{1, 0, 5}, {0, 1, 2}, {1, 0, 7}})};
  CHECK(difference(product_of(c), einsum_of(c, 1), 0x1p-11) == "");
}

TEST_CASE("a tensor with itself over the same and over other modes, and without nonzeros") {
  Draws draws(7);
  const auto x = shared(random_tensor({30, 30, 11}, 0.05, draws));
  for (const char* einsum : {"kla,klb->ba", "kla,lkb->ab", "akl,klb->ab"}) {
    const auto first =
        std::string(einsum) == "akl,klb->ab" ? shared(random_tensor({11, 30, 30}, 0.05, draws)) : x;
    const Case c{einsum, first, x};
    CHECK(difference(product_of(c), einsum_of(c, 1), 0x1p-11) == "");
  }
  const Case none{"ak,kb->ab", shared(Coo({9, 8}, DType::f32)), full({8, 7})};
  CHECK(product_of(none).nnz() == 0);
  const Case neither{"ak,kb->ab", none.x, shared(Coo({8, 7}, DType::f32))};
  CHECK(product_of(neither).nnz() == 0);
}

TEST_CASE("results of too many cells and columns, and keys of too many bits, are refused") {
  const DescribedMethod method(make_bcb_cuda_dense());
  const auto reason = [&](const Case& c) {
    return method.supports(problem_of(c), kRuns.params({})).reason;
  };
  const auto none = [](const Dims& dims) { return shared(Coo(dims, DType::f32)); };
  CHECK(reason({"a,b->ab", none({128}), none({8192})}) == "");
  CHECK(reason({"a,b->ab", none({129}), none({8192})}) == "");
  CHECK(reason({"a,b->ab", none({129}), none({8193})}).find("8193") != std::string::npos);
  CHECK(reason({"a,b->ab", none({1'073'741'825}), none({2})}).find("1073741825") !=
        std::string::npos);
  CHECK(reason({"klma,klm->a", none({1 << 24, 1 << 24, 1 << 24, 5}),
                none({1 << 24, 1 << 24, 1 << 24})})
            .find("bits") != std::string::npos);
}
