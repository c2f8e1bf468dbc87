// bcb_sptc.cuda.coo beside a dense einsum by every path, and the path that it chooses.
#include <doctest/doctest.h>

#include <string>

#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"
#include "papers/bcb_sptc/tests/unit/addend_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

Runs runs_by(const std::string& path, const std::string& choice = "sample") {
  return {make_bcb_cuda_coo,
          [](const Problem& problem, const Params& params, const Addend&) {
            return prepare_coo_cuda(problem, params);
          },
          {{"path", path}, {"choice", choice}}};
}

Executed facts_of(const Case& c, const std::string& path, const std::string& choice) {
  const Problem problem = problem_of(c);
  return prepare_coo_cuda(problem, runs_by(path, choice).params({}))->executed();
}
std::string chosen(const Case& c, const std::string& path, const std::string& choice) {
  return facts_of(c, path, choice).at("path");
}

/// A matrix with full blocks of 8 x 8 on its diagonal.
std::shared_ptr<const Coo> diagonal_blocks(Index blocks) {
  Coo tensor({8 * Count{blocks}, 8 * Count{blocks}}, DType::f32, 64 * Count{blocks});
  for (Count p = 0; p < tensor.nnz(); ++p) {
    tensor.indices[0][p] = static_cast<Index>(p / 8);
    tensor.indices[1][p] = static_cast<Index>(p / 64 * 8 + p % 8);
    tensor.values.set(p, 1 + static_cast<double>(p % 3));
  }
  return shared(tensor);
}

}  // namespace

TEST_CASE("contractions of orders 1 to 5 by every path") {
  for (const char* path : {"auto", "paper", "blocks", "elements", "rows"})
    check_products(runs_by(path), 5);
}

TEST_CASE("runs after the first give the same, and a planted difference is found") {
  Draws draws(12);
  const Case c{"ak,kb->ab", shared(random_tensor({300, 20}, 0.1, draws)),
               shared(random_tensor({20, 50}, 0.2, draws))};
  for (const char* path : {"dense", "rows", "blocks", "elements"}) {
    const Problem problem = problem_of(c);
    check_runs(*prepare_coo_cuda(problem, runs_by(path).params({})), einsum_of(c, 1));
    CHECK(difference(sum_of(c, 1, {}, runs_by(path)), einsum_of(c, 1.01), 0x1p-11) != "");
  }
}

TEST_CASE("few cells, full blocks and scattered nonzeros take different paths") {
  Draws draws(13);
  const Case few{"ak,kb->ab", full({20, 30}), full({30, 20})};
  const auto diagonal = diagonal_blocks(1100),
             thin = shared(random_tensor({2000, 9000}, 1e-4, draws));
  const Case blocks{"ka,kb->ab", diagonal, diagonal}, scattered{"ka,kb->ab", thin, thin};
  for (const char* choice : {"sample", "sorts"}) {
    CHECK(chosen(few, "auto", choice) == "dense");
    CHECK(chosen(few, "paper", choice) == "blocks");
    for (const char* path : {"auto", "paper"}) CHECK(chosen(blocks, path, choice) == "blocks");
    CHECK(chosen(scattered, "auto", choice) == "rows");
    CHECK(chosen(scattered, "paper", choice) == "elements");
  }
}

TEST_CASE("a sample counts whole contracted blocks") {
  const auto diagonal = diagonal_blocks(5000);
  const Case c{"ka,kb->ab", diagonal, diagonal};
  const Executed some = facts_of(c, "paper", "sample"), all = facts_of(c, "paper", "sorts");
  const auto number = [](const Executed& facts, const char* name) {
    return std::stod(facts.at(name));
  };
  CHECK(number(all, "nonzeros_looked_at") == 640'000);
  CHECK(number(some, "nonzeros_looked_at") < 320'000);
  CHECK(number(some, "nonzeros_looked_at") > 80'000);
  CHECK(number(some, "products_of_pair") == number(all, "products_of_pair"));
}
