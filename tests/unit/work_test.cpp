#include <doctest/doctest.h>

#include <memory>

#include "common/method/problem.hpp"
#include "common/method/work.hpp"

using namespace retensor;

namespace {

// M = 6 nonzeros; fibers of mode 0, 1, 2: 5, 6, 3.
std::shared_ptr<const Coo> tensor() {
  auto x = std::make_shared<Coo>(Dims{3, 4, 5}, DType::f32, 6);
  x->indices = {{0, 0, 0, 1, 2, 2}, {0, 0, 0, 1, 1, 1}, {0, 1, 2, 2, 2, 4}};
  for (Count i = 0; i < 6; ++i) x->values.set(i, 1);
  return x;
}

Work work(Operation op, int mode = 0, std::uint64_t rank = 16, DType type = DType::f32,
          const char* variant = "") {
  ProblemSpec s;
  s.operation = op;
  s.mode = mode;
  s.rank = rank;
  s.dtype = type;
  s.variant = variant;
  return work_model(Problem(s, tensor()));
}

constexpr double M = 6, R = 16;

}  // namespace

TEST_CASE("Table I of PASTA at order 3 in single precision") {
  CHECK(work(Operation::tew).flops == M);
  CHECK(work(Operation::tew).bytes == 12 * M);
  CHECK(work(Operation::tew).intensity() == doctest::Approx(1.0 / 12));
  CHECK(work(Operation::ts).flops == M);
  CHECK(work(Operation::ts).bytes == 8 * M);
  const double fibers[] = {5, 6, 3};
  for (int mode = 0; mode < 3; ++mode) {
    const double mf = fibers[mode];
    CHECK(work(Operation::ttv, mode).flops == 2 * M);
    CHECK(work(Operation::ttv, mode).bytes == 12 * M + 12 * mf);
    CHECK(work(Operation::ttm, mode).flops == 2 * M * R);
    CHECK(work(Operation::ttm, mode).bytes == 4 * M * R + 4 * mf * R + 8 * M + 8 * mf);
    CHECK(work(Operation::mttkrp, mode).flops == 3 * M * R);
    CHECK(work(Operation::mttkrp, mode).bytes == 12 * M * R + 16 * M);
    CHECK(work(Operation::mttkrp, mode).atomics == M * R);
  }
}

TEST_CASE("values of 8 bytes double what is not an index") {
  CHECK(work(Operation::tew, 0, 16, DType::f64).bytes == 24 * M);
  CHECK(work(Operation::ttv, 2, 16, DType::f64).bytes == 20 * M + 16 * 3);
  CHECK(work(Operation::mttkrp, 0, 16, DType::f64).bytes == 24 * M * R + 20 * M);
}

TEST_CASE("compulsory bytes count operands once and rows that cannot occur not at all") {
  CHECK(work(Operation::mttkrp, 0).compulsory_bytes == 16 * M + 4 * R * (3 + 4 + 5));
  CHECK(work(Operation::ttv, 2).compulsory_bytes == 8 * M + 4 * 5 + 12 * 3);
  for (const auto op : {Operation::tew, Operation::ts, Operation::ttv, Operation::ttm,
                        Operation::mttkrp, Operation::ttm_chain})
    CHECK(work(op).compulsory_bytes <= work(op).bytes);
}

TEST_CASE("a chain of one multiplied mode is a product with one matrix") {
  auto x = std::make_shared<Coo>(Dims{3, 4}, DType::f32, 2);
  ProblemSpec s;
  s.operation = Operation::ttm_chain;
  CHECK(work_model(Problem(s, x)).flops == 2 * 2 * R);
  const Work three = work(Operation::ttm_chain);
  CHECK(three.flops == M * (R + 2 * R * R));
  CHECK(three.bytes == M * (16 + 4 * (2 * R + R * R)));
}

TEST_CASE("products of a contraction are counted by the contracted coordinates") {
  // Nonzeros by mode 2: 1, 1, 3, 0, 1; by modes 1 and 2: (0,0) (0,1) (0,2) (1,2)x2 (1,4).
  CHECK(work(Operation::contraction, 0, 16, DType::f32, "abk,cdk->abcd").flops == 2 * 12);
  CHECK(work(Operation::contraction, 0, 16, DType::f32, "akl,bkl->ab").flops == 2 * 8);
  const Work w = work(Operation::contraction, 0, 16, DType::f32, "abk,cdk->abcd");
  CHECK(w.bytes == 16 * M + (4 * 2 + 8) * 12);
  CHECK(w.compulsory_bytes == 2 * 16 * M);
}

TEST_CASE("spmm is mttkrp of order 2 and cpd its sweeps") {
  auto x = std::make_shared<Coo>(Dims{3, 4}, DType::f32, 2);
  ProblemSpec s;
  s.operation = Operation::spmm;
  const Work spmm = work_model(Problem(s, x));
  s.operation = Operation::mttkrp;
  const Work mttkrp = work_model(Problem(s, x));
  CHECK(spmm.flops == mttkrp.flops);
  CHECK(spmm.bytes == mttkrp.bytes);
  CHECK(spmm.compulsory_bytes == mttkrp.compulsory_bytes);
  CHECK(work(Operation::mttkrp_all).flops == 3 * 3 * M * R);
  CHECK(work(Operation::mttkrp_all).bytes == 3 * (12 * M * R + 16 * M));
  CHECK(work(Operation::cpd).flops == 20 * (3 * 3 * M * R + 4 * R * R * (3 + 4 + 5)));
}

TEST_CASE("an empty tensor has no work, whatever the operation") {
  const auto empty = std::make_shared<Coo>(Dims{3, 4, 5}, DType::f32);
  ProblemSpec s;
  for (const auto op : {Operation::tew, Operation::ts, Operation::ttv, Operation::ttm,
                        Operation::mttkrp, Operation::ttm_chain}) {
    s.operation = op;
    CHECK(work_model(Problem(s, empty)).flops == 0);
    CHECK(work_model(Problem(s, empty)).intensity() == 0);
  }
}
