// bcb_sptc.cpu beside a dense einsum of this test, entry by entry and pattern by pattern; the task
// list and the counts of products by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "common/core/error.hpp"
#include "common/measure/timing.hpp"
#include "common/tensor/einsum.hpp"
#include "papers/bcb_sptc/kernels/bcb_sptc_cpu.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"
#include "papers/bcb_sptc/tests/unit/dense.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

using Given = std::map<std::string, ParamValue>;

struct Run {
  Coo result;
  Executed executed;
};

/// The second of two runs.
Run run_of(const Problem& problem, const Given& given) {
  const DescribedMethod method(make_bcb_cpu());
  const Params params = method.params().resolve(given);
  REQUIRE(method.supports(problem, params).ok);
  const auto prepared = method.prepare(problem, params);
  const auto timer = make_host_timer();
  for (int run = 0; run < 2; ++run) {
    timer->start();
    prepared->run(*timer);
    timer->stop();
  }
  return {std::get<Coo>(prepared->result()), prepared->executed()};
}

std::int64_t number(const Executed& facts, const std::string& name) {
  return std::stoll(facts.at(name));
}

}  // namespace

TEST_CASE("contractions of orders 1 to 5, any number of modes, meet a dense einsum") {
  Draws draws(11);
  const char* precisions[] = {"fp16", "bf16", "tf32", "split_fp16"};
  const double eps[] = {0x1p-11, 0x1p-8, 0x1p-11, 0x1p-21};
  int cases = 0, entries = 0;
  for (std::size_t order_x = 1; order_x <= 5; ++order_x)
    for (std::size_t order_y = 1; order_y <= 5; ++order_y)
      for (std::size_t contracted = 0; contracted <= std::min(order_x, order_y); ++contracted) {
        const auto free = order_x + order_y - 2 * contracted;
        if (free == 0 || free > 8) continue;
        for (int turn = 0; turn < 4; ++turn) {
          const Case c = random_case(order_x, order_y, contracted, draws);
          if (static_cast<double>(c.x->nnz()) * static_cast<double>(c.y->nnz()) > 1e6) continue;
          const auto p = draws.below(4);
          const Given given = {{"precision", std::string(precisions[p])},
                               {"edge", std::int64_t{2} << draws.below(4)},
                               {"block_bits", static_cast<std::int64_t>(6 + draws.below(8))},
                               {"intersect", draws.below(2) == 0}};
          const double alpha = turn == 0 ? 1 : -0.75;
          const auto expected = einsum_of(c, alpha);
          const auto run = run_of(problem_of(c, alpha), given);
          INFO(c.einsum << " " << precisions[p] << " edge " << run.executed.at("x_edges"));
          CHECK(difference(run.result, expected, eps[p]) == "");
          CHECK(number(run.executed, "mma") <= number(run.executed, "mma_dense"));
          ++cases;
          entries += static_cast<int>(expected.size());
        }
      }
  MESSAGE(cases << " contractions with " << entries << " entries");
  CHECK(cases > 200);
}

TEST_CASE("a wrong entry, a missing one and one too many are differences") {
  const Answer expected = {{{0, 1}, {2, 2, 1}}, {{1, 1}, {3, 3, 1}}};
  Coo result = cells({2, 2}, {{0, 1}, {1, 1}}, 2);
  CHECK(difference(result, expected, 0x1p-11) != "");
  result.values.set(1, 3);
  CHECK(difference(result, expected, 0x1p-11) == "");
  result.indices[0][1] = 0;
  CHECK(difference(result, expected, 0x1p-11) != "");
  CHECK(difference(cells({2, 2}, {{0, 1}}, 2), expected, 0x1p-11) != "");
  CHECK(difference(cells({2, 2}, {{0, 1}, {0, 1}}, 2), expected, 0x1p-11) ==
        "an entry stands twice");
}

TEST_CASE("half precision does not meet the bound of split halves") {
  const Case c{"abk,kcd->abcd", full({10, 9, 8}), full({8, 7, 6})};
  const DescribedMethod method(make_bcb_cpu());
  const Problem problem = problem_of(c);
  const auto split = method.precision(
      problem, method.params().resolve({{"precision", std::string("split_fp16")}}));
  CHECK(problem.oracle()
            .check(run_of(problem, {{"precision", std::string("split_fp16")}}).result, split)
            .ok);
  CHECK_FALSE(problem.oracle().check(run_of(problem, {}).result, split).ok);
}

TEST_CASE("nonzeros at block edges, far apart and at the last index") {
  const Dims dims = {4'000'000'000, 17, 4'000'000'000};
  const Index last = 3'999'999'999;
  const Case c{"abk,kcd->bcda",
               shared(cells(dims, {{0, 7, 7}, {7, 8, 8}, {8, 16, last}, {last, 0, last}}, 2)),
               shared(cells({dims[2], 9, 8}, {{7, 0, 0}, {8, 8, 7}, {last, 7, 7}, {9, 1, 1}}, 3))};
  const auto run = run_of(problem_of(c), {});
  CHECK(difference(run.result, einsum_of(c, 1), 0x1p-11) == "");
  CHECK(run.result.nnz() == 4);
}

TEST_CASE("empty operands and operands without a match have no result") {
  const Coo none({9, 9}, DType::f32);
  const auto diagonal = shared(cells({9, 9}, {{0, 0}, {8, 8}}));
  CHECK(run_of(problem_of({"ak,kb->ab", shared(none), diagonal}), {}).result.nnz() == 0);
  CHECK(run_of(problem_of({"ak,kb->ab", diagonal, shared(none)}), {}).result.nnz() == 0);
  // Contracted blocks 0 and 1 against 2.
  const auto wide = shared(cells({9, 20}, {{0, 0}, {8, 9}}));
  const auto tall = shared(cells({20, 9}, {{16, 0}, {19, 8}}));
  const auto run = run_of(problem_of({"ak,kb->ab", wide, tall}), {});
  CHECK(run.result.nnz() == 0);
  CHECK(number(run.executed, "pairs") == 0);
}

TEST_CASE("the task list by hand: pairs, those that share a cell, result blocks") {
  // x has blocks (0, 0), (0, 1) and (1, 1), y has (0, 0), (1, 0) and (1, 1) of 8 x 8.
  const Case c{"ak,kb->ab", shared(cells({16, 16}, {{0, 0}, {0, 8}, {9, 9}})),
               shared(cells({16, 16}, {{1, 1}, {8, 2}, {9, 9}}))};
  const auto facts = [&](bool intersect) {
    return run_of(problem_of(c), {{"intersect", intersect}}).executed;
  };
  // Pairs: (0,0)(0,0); (0,1)(1,0), (0,1)(1,1); (1,1)(1,0), (1,1)(1,1).
  CHECK(number(facts(false), "pairs") == 5);
  CHECK(number(facts(false), "tasks") == 5);
  CHECK(number(facts(false), "result_blocks") == 4);
  // Only column 8 of (0,1) meets row 8 of (1,0), and column 9 of (1,1) row 9 of (1,1).
  CHECK(number(facts(true), "pairs") == 5);
  CHECK(number(facts(true), "tasks") == 2);
  CHECK(number(facts(true), "result_blocks") == 2);
  CHECK(run_of(problem_of(c), {}).result.nnz() == 2);
}

TEST_CASE("tasks are sorted by result block, each block's by the first operand") {
  Draws draws(5);
  const Case c{"abk,kcd->abcd", shared(random_tensor({20, 20, 40}, 0.02, draws)),
               shared(random_tensor({40, 20, 20}, 0.02, draws))};
  const Operands operands(Contraction(c.einsum, c.x->dims, c.y->dims), {}, *c.x, *c.y);
  TaskList tasks(operands, true);
  tasks.build();
  const auto row = [&](Task t) {
    return operands.x.grid.leading_part(operands.x.block_index.at(t.x));
  };
  const auto column = [&](Task t) {
    return operands.y.grid.trailing_part(operands.y.block_index.at(t.y));
  };
  Count seen = 0;
  std::pair<Uint128, Uint128> before;
  for (Count r = 0; r < tasks.results(); ++r) {
    const auto list = tasks.tasks_of(r);
    const std::pair now(row(list.front()), column(list.front()));
    CHECK((r == 0 || before < now));
    before = now;
    for (std::size_t t = 0; t < list.size(); ++t) {
      CHECK((std::pair(row(list[t]), column(list[t])) == now));
      CHECK((t == 0 || list[t - 1].x < list[t].x));
      CHECK((operands.x.grid.trailing_part(operands.x.block_index.at(list[t].x)) ==
             operands.y.grid.leading_part(operands.y.block_index.at(list[t].y))));
    }
    seen += list.size();
  }
  CHECK(seen == tasks.tasks());
  CHECK(tasks.tasks() < tasks.pairs());
}

TEST_CASE("products of a full pair of 8 x 8 x 8: what is needed beside the paper's count") {
  const auto count = [](const std::string& einsum, const std::string& fact) {
    const Case c{einsum, full({8, 8, 8}), full({8, 8, 8})};
    return number(run_of(problem_of(c), {}).executed, fact);
  };
  // 64 x 8 by 8 x 64: 4 x 4 fragments, half of each operand empty; the paper says 4.
  CHECK(count("abk,kcd->abcd", "mma") == 16);
  CHECK(count("abk,kcd->abcd", "mma_dense") == 16);
  CHECK(count("abk,kcd->abcd", "mma_published") == 4);
  // 8 x 64 by 64 x 8: four steps of 16 contracted cells; the paper says 2.
  CHECK(count("akl,klb->ab", "mma") == 4);
  CHECK(count("akl,klb->ab", "mma_published") == 2);
  const Case c{"abk,kcd->abcd", full({8, 8, 8}), full({8, 8, 8})};
  CHECK(number(run_of(problem_of(c), {{"precision", std::string("split_fp16")}}).executed, "mma") ==
        48);
}

TEST_CASE("empty fragments are left out") {
  // One nonzero each: one of the 16 products of a pair.
  const Case c{"abk,kcd->abcd", shared(cells({8, 8, 8}, {{7, 7, 3}})),
               shared(cells({8, 8, 8}, {{3, 0, 0}}))};
  const auto facts = run_of(problem_of(c), {}).executed;
  CHECK(number(facts, "mma") == 1);
  CHECK(number(facts, "mma_dense") == 16);
}

TEST_CASE("a sum that cancels is an entry unless zeros are dropped") {
  Coo x = cells({1, 2}, {{0, 0}, {0, 1}});
  Coo y = cells({2, 3}, {{0, 0}, {1, 0}, {1, 2}});
  y.values.set(1, -1);
  const Case c{"ak,kb->ab", shared(x), shared(y)};
  const auto kept = run_of(problem_of(c), {}).result;
  CHECK(difference(kept, einsum_of(c, 1), 0x1p-11) == "");
  CHECK(kept.nnz() == 2);
  const auto dropped = run_of(problem_of(c), {{"zeros", std::string("drop")}}).result;
  REQUIRE(dropped.nnz() == 1);
  CHECK(dropped.indices[1][0] == 2);
  CHECK(dropped.values.at(0) == 1);
}

TEST_CASE("a contracted mode has the shorter edge of its operands, results a limited size") {
  const Contraction wide("abcdk,kvwx->abcdvwx", Dims(5, 9), Dims(4, 9));
  const OperandOptions options(wide, {});
  CHECK(options.x.edge_bits.back() == options.y.edge_bits.front());
  int result = 0;
  for (int m = 0; m < 4; ++m) result += options.x.edge_bits[static_cast<std::size_t>(m)];
  for (int m = 1; m < 4; ++m) result += options.y.edge_bits[static_cast<std::size_t>(m)];
  CHECK(result == kResultBits);
}

TEST_CASE("what the method does not take is declined with a reason") {
  const auto reason = [](ProblemSpec spec, const Case& c, const Given& given) {
    const DescribedMethod method(make_bcb_cpu());
    spec.variant = c.einsum;
    return method.supports(Problem(spec, c.x, c.y), method.params().resolve(given)).reason;
  };
  const Case c{"ak,kb->ab", full({3, 3}), full({3, 3})};
  ProblemSpec spec;
  spec.operation = Operation::contraction;
  CHECK(reason(spec, c, {}).empty());
  CHECK(reason(spec, c, {{"edge", std::int64_t{3}}}).find("power of two") != std::string::npos);
  spec.beta = 1;
  CHECK(reason(spec, c, {}).find("beta") != std::string::npos);
  spec.beta = 0;
  spec.dtype = DType::f64;
  CHECK(reason(spec, c, {}).find("single precision") != std::string::npos);
  spec.dtype = DType::f32;
  const Dims long_modes(5, 4'000'000'000);
  const Case wide{"abcde,ek->abcdk", shared(cells(long_modes, {{0, 0, 0, 0, 0}})), full({3, 3})};
  const Case fits{"abcde,ek->abcdk", shared(cells(long_modes, {{0, 0, 0, 0, 0}})),
                  shared(cells({long_modes[0], 3}, {{0, 0}}))};
  CHECK_THROWS_AS(reason(spec, wide, {}), InputError);
  CHECK(reason(spec, fits, {}).find("bits") != std::string::npos);
}
