#include <doctest/doctest.h>

#include <memory>

#include "common/core/error.hpp"
#include "common/method/problem.hpp"

using namespace retensor;

namespace {

std::shared_ptr<const Coo> tensor(const Dims& dims = {3, 4, 5}, DType type = DType::f32) {
  auto x = std::make_shared<Coo>(dims, type, 2);
  for (std::size_t m = 0; m < dims.size(); ++m) {
    x->indices[m][0] = 1;
    x->indices[m][1] = static_cast<Index>(dims[m] - 1);
  }
  x->values.set(0, 2);
  x->values.set(1, -3);
  return x;
}

ProblemSpec spec(Operation op, int mode = 0) {
  ProblemSpec s;
  s.operation = op;
  s.mode = mode;
  s.rank = 6;
  return s;
}

}  // namespace

TEST_CASE("names of operations go both ways") {
  for (const auto op : {Operation::tew, Operation::ts, Operation::ttv, Operation::ttm,
                        Operation::mttkrp, Operation::mttkrp_all, Operation::ttm_chain,
                        Operation::contraction, Operation::spmm, Operation::cpd})
    CHECK(operation_from_name(name(op)) == op);
  CHECK_THROWS_WITH_AS(operation_from_name("mtkrp"), doctest::Contains("did you mean 'mttkrp'?"),
                       InputError);
}

TEST_CASE("operands have the shapes of the operation") {
  const auto x = tensor();
  CHECK(Problem(spec(Operation::ttv, 1), x).dense().at(0).rows() == 4);
  CHECK(Problem(spec(Operation::ttv, 1), x).dense().at(0).cols() == 1);
  CHECK(Problem(spec(Operation::ttm, 2), x).dense().at(0).rows() == 5);
  CHECK(Problem(spec(Operation::ttm, 2), x).dense().at(0).cols() == 6);
  CHECK(Problem(spec(Operation::spmm), tensor({3, 4})).dense().at(0).rows() == 4);
  const Problem mttkrp(spec(Operation::mttkrp), x);
  REQUIRE(mttkrp.dense().size() == 3);
  CHECK(mttkrp.dense()[2].rows() == 5);
  CHECK(mttkrp.dense()[2].cols() == 6);
  CHECK_THROWS_AS(mttkrp.y(), LogicError);
}

TEST_CASE("a problem over all modes holds one of each mode with the same operands") {
  const Problem all(spec(Operation::mttkrp_all), tensor());
  const Problem one = all.of_mode(2);
  CHECK(one.operation() == Operation::mttkrp);
  CHECK(one.mode() == 2);
  CHECK(&one.dense() == &all.dense());
  CHECK(&one.x() == &all.x());
  CHECK(&one.oracle() != &all.oracle());
  CHECK_THROWS_WITH_AS(all.of_mode(3), "mttkrp: found mode 3, expected 0 to 2", InputError);
  CHECK_THROWS_AS(one.of_mode(0), LogicError);
}

TEST_CASE("a problem takes the caller's factors and sees their values change") {
  const auto x = tensor();
  const auto factors = std::make_shared<std::vector<Matrix>>();
  for (const auto length : x->dims) factors->emplace_back(length, 6, DType::f32);
  const Problem p = Problem::with_factors(spec(Operation::mttkrp_all), x, factors);
  (*factors)[1].set(2, 3, 7);
  CHECK(p.of_mode(0).dense()[1].at(2, 3) == 7);
  CHECK_THROWS_AS(Problem::with_factors(spec(Operation::ttv), x, factors), LogicError);
  (*factors)[2] = Matrix(5, 5, DType::f32);
  CHECK_THROWS_WITH_AS(Problem::with_factors(spec(Operation::mttkrp_all), x, factors),
                       "mttkrp_all: found a factor of mode 2 of 5 x 5 f32, expected 5 x 6 f32",
                       InputError);
  factors->pop_back();
  CHECK_THROWS_WITH_AS(Problem::with_factors(spec(Operation::mttkrp_all), x, factors),
                       "mttkrp_all: found 2 factors, expected one for each of 3 modes", InputError);
}

TEST_CASE("a chain has R columns in the lowest other mode and R2 in the rest") {
  auto s = spec(Operation::ttm_chain, 0);
  s.rank2 = 2;
  const Problem first(s, tensor({3, 4, 5, 6}));
  CHECK(first.dense()[1].cols() == 6);
  CHECK(first.dense()[2].cols() == 2);
  CHECK(first.dense()[3].cols() == 2);
  s.mode = 1;
  const Problem second(s, tensor({3, 4, 5, 6}));
  CHECK(second.dense()[0].cols() == 6);
  CHECK(second.dense()[2].cols() == 2);
  s.rank2 = 0;
  CHECK(Problem(s, tensor()).dense()[2].cols() == 6);
}

TEST_CASE("values are kept, cast or drawn as the spec says, and follow from the seed") {
  const auto x = tensor();
  CHECK(&Problem(spec(Operation::ts), x).x() == x.get());
  auto s = spec(Operation::ts);
  s.dtype = DType::f64;
  const Problem wide(s, x);
  CHECK(wide.x().dtype() == DType::f64);
  CHECK(wide.x().values.at(1) == -3);
  s.values = ValueModel::ratings;
  const Problem drawn(s, x), again(s, x);
  CHECK(drawn.x().values.at(0) == again.x().values.at(0));
  CHECK(drawn.x().values.at(0) >= 1);
  s = spec(Operation::mttkrp);
  const Problem a(s, x);
  s.seed = 2;
  const Problem b(s, x);
  CHECK(a.dense()[0].at(0, 0) != b.dense()[0].at(0, 0));
  CHECK(a.dense()[0].at(0, 0) != a.dense()[1].at(0, 0));
}

TEST_CASE("the second tensor is made where one is needed") {
  const auto x = tensor();
  const Problem tew(spec(Operation::tew), x);
  CHECK(tew.spec().variant == "add");
  CHECK(tew.y().indices == x->indices);
  CHECK(tew.y().values.at(0) != x->values.at(0));
  auto s = spec(Operation::contraction);
  s.variant = "abk,cdk->abcd";
  const Problem self(s, x);
  CHECK(&self.y() == &self.x());
  CHECK_THROWS_AS(Problem(spec(Operation::ts), x, x), InputError);
  CHECK_THROWS_AS(Problem(spec(Operation::tew), x, tensor({3, 4})), InputError);
}

TEST_CASE("what does not fit the operation is refused") {
  const auto x = tensor();
  for (const auto op : {Operation::ttv, Operation::ttm, Operation::mttkrp, Operation::ttm_chain}) {
    CHECK_THROWS_AS(Problem(spec(op, 3), x), InputError);
    CHECK_THROWS_AS(Problem(spec(op, -1), x), InputError);
  }
  auto s = spec(Operation::mttkrp);
  s.rank = 0;
  CHECK_THROWS_AS(Problem(s, x), InputError);
  s = spec(Operation::tew);
  s.variant = "ad";
  CHECK_THROWS_WITH_AS(Problem(s, x),
                       "tew: found variant 'ad', expected one of add, sub, mul, div; did you "
                       "mean 'add'?",
                       InputError);
  s = spec(Operation::contraction);
  CHECK_THROWS_AS(Problem(s, x), InputError);
  s.variant = "abk,kcd->abcd";  // mode k has length 5 in x and 3 in y
  CHECK_THROWS_AS(Problem(s, x), InputError);
  CHECK_THROWS_AS(Problem(spec(Operation::spmm), x), InputError);
  CHECK_THROWS_AS(Problem(spec(Operation::ttv), tensor({3})), InputError);
  s = spec(Operation::cpd);
  s.max_sweeps = 0;
  CHECK_THROWS_AS(Problem(s, x), InputError);
  CHECK_THROWS_AS(Problem(spec(Operation::ts), nullptr), LogicError);
}

TEST_CASE("the oracle is built once, or installed, but not replaced") {
  const Problem p(spec(Operation::mttkrp), tensor());
  const auto& oracle = p.oracle();
  CHECK(&oracle == &p.oracle());
  CHECK_THROWS_AS(p.set_oracle(reference::Expected()), LogicError);
  const Problem q(spec(Operation::mttkrp), tensor());
  q.set_oracle(reference::mttkrp(q.x(), q.dense(), 0));
  const Matrix zeros(3, 6, DType::f32);
  CHECK_FALSE(q.oracle().check(zeros, reference::Precision::of(DType::f32)).ok);
}
