// bcb_sptc.cpu beside a dense einsum of this test, entry by entry and pattern by pattern; the task
// list and the counts of products by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/measure/timing.hpp"
#include "common/tensor/einsum.hpp"
#include "papers/bcb_sptc/kernels_cpu.hpp"
#include "papers/bcb_sptc/methods.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;

namespace {

using Given = std::map<std::string, ParamValue>;

/// Random draws in turn.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : rng_(seed) {}
  double real() { return rng_.uniform(draw_++); }
  std::uint64_t below(std::uint64_t n) {
    return std::min(n - 1, static_cast<std::uint64_t>(real() * static_cast<double>(n)));
  }

 private:
  CounterRng rng_;
  std::uint64_t draw_ = 0;
};

/// Einsum, operands.
struct Case {
  std::string einsum;
  std::shared_ptr<const Coo> x, y;
};

Coo random_tensor(const Dims& dims, double density, Draws& draws) {
  Coo tensor(dims, DType::f32);
  std::vector<float> values;
  std::vector<Index> at(dims.size(), 0);
  for (std::uint64_t cell = checked_volume(dims); cell-- > 0;) {
    if (draws.real() < density) {
      for (std::size_t m = 0; m < dims.size(); ++m) tensor.indices[m].push_back(at[m]);
      values.push_back(static_cast<float>(draws.real()) - 0.5f);
    }
    for (std::size_t m = dims.size(); m-- > 0 && ++at[m] == dims[m];) at[m] = 0;
  }
  tensor.values = Values(values);
  return tensor;
}

void shuffle(std::string& letters, Draws& draws) {
  for (std::size_t left = letters.size(); left > 1; --left)
    std::swap(letters[left - 1], letters[draws.below(left)]);
}

/// Operands of orders 1 to 5 that share `contracted` letters, all modes in random order.
Case random_case(std::size_t order_x, std::size_t order_y, std::size_t contracted, Draws& draws) {
  const std::string shared = std::string("klmno").substr(0, contracted);
  std::string x = shared + std::string("abcde").substr(0, order_x - contracted);
  std::string y = shared + std::string("vwxyz").substr(0, order_y - contracted);
  std::string result = x.substr(contracted) + y.substr(contracted);
  for (auto* letters : {&x, &y, &result}) shuffle(*letters, draws);
  const std::size_t highest = std::max(order_x, order_y);
  const std::uint64_t longest = highest < 3 ? 40 : highest == 3 ? 18 : highest == 4 ? 11 : 5;
  std::map<char, std::uint64_t> length;
  for (const char letter : x + y)
    if (length.count(letter) == 0) length[letter] = 1 + draws.below(longest);
  const auto dims = [&](const std::string& letters) {
    Dims lengths;
    for (const char letter : letters) lengths.push_back(length[letter]);
    return lengths;
  };
  const double densities[] = {1, 0.3, 0.05, 0.01};
  return {x + "," + y + "->" + result,
          std::make_shared<const Coo>(random_tensor(dims(x), densities[draws.below(4)], draws)),
          std::make_shared<const Coo>(random_tensor(dims(y), densities[draws.below(4)], draws))};
}

struct Sum {
  double value = 0, magnitude = 0;
  int terms = 0;
};
using Answer = std::map<std::vector<Index>, Sum>;

/// Every pair of nonzeros whose letters agree, straight from the notation.
Answer einsum_of(const Case& c, double alpha) {
  const auto comma = c.einsum.find(','), arrow = c.einsum.find("->");
  const std::string x = c.einsum.substr(0, comma),
                    y = c.einsum.substr(comma + 1, arrow - comma - 1);
  const std::string result = c.einsum.substr(arrow + 2);
  Answer answer;
  for (Count p = 0; p < c.x->nnz(); ++p)
    for (Count q = 0; q < c.y->nnz(); ++q) {
      std::map<char, Index> at;
      for (std::size_t m = 0; m < x.size(); ++m) at[x[m]] = c.x->indices[m][p];
      bool agree = true;
      for (std::size_t m = 0; m < y.size(); ++m)
        agree = at.emplace(y[m], c.y->indices[m][q]).first->second == c.y->indices[m][q] && agree;
      if (!agree) continue;
      std::vector<Index> to;
      for (const char letter : result) to.push_back(at[letter]);
      const double product = alpha * c.x->values.at(p) * c.y->values.at(q);
      Sum& sum = answer[to];
      sum.value += product;
      sum.magnitude += std::abs(product);
      ++sum.terms;
    }
  return answer;
}

Problem problem_of(const Case& c, double alpha = 1) {
  ProblemSpec spec;
  spec.operation = Operation::contraction;
  spec.variant = c.einsum;
  spec.alpha = alpha;
  return Problem(spec, c.x, c.y);
}

struct Run {
  Coo result;
  Executed executed;
};

/// The second of two runs.
Run run_of(const Problem& problem, const Given& given) {
  const auto method = make_bcb_cpu();
  const Params params = method->params().resolve(given);
  REQUIRE(method->supports(problem, params).ok);
  const auto prepared = method->prepare(problem, params);
  const auto timer = make_host_timer();
  for (int run = 0; run < 2; ++run) {
    timer->start();
    prepared->run(*timer);
    timer->stop();
  }
  return {std::get<Coo>(prepared->result()), prepared->executed()};
}

/// The first difference between a result and the dense answer, pattern included; empty if none.
std::string difference(const Coo& result, const Answer& expected, double operand_eps) {
  if (result.nnz() != expected.size())
    return std::to_string(result.nnz()) + " entries, expected " + std::to_string(expected.size());
  std::map<std::vector<Index>, double> found;
  std::vector<Index> at(result.dims.size());
  for (Count p = 0; p < result.nnz(); ++p) {
    for (std::size_t m = 0; m < at.size(); ++m) at[m] = result.indices[m][p];
    found[at] = result.values.at(p);
  }
  for (const auto& [coordinate, sum] : expected) {
    const auto entry = found.find(coordinate);
    if (entry == found.end()) return "an entry of the pattern is missing";
    // Halves below 2^-14 are off by 2^-25 at most, and operands are below 1/2.
    const double bound =
        (2.1 * operand_eps + (sum.terms + 4) * 0x1p-21) * sum.magnitude + sum.terms * 0x1p-25;
    if (!(std::abs(entry->second - sum.value) <= bound))
      return std::to_string(entry->second) + " where " + std::to_string(sum.value) + " is expected";
  }
  return "";
}

std::int64_t number(const Executed& facts, const std::string& name) {
  return std::stoll(facts.at(name));
}

Coo cells(const Dims& dims, const std::vector<std::vector<Index>>& coordinates, float value = 1) {
  Coo tensor(dims, DType::f32, coordinates.size());
  for (Count p = 0; p < tensor.nnz(); ++p) {
    for (std::size_t m = 0; m < dims.size(); ++m) tensor.indices[m][p] = coordinates[p][m];
    tensor.values.set(p, value);
  }
  return tensor;
}

std::shared_ptr<const Coo> shared(Coo tensor) {
  return std::make_shared<const Coo>(std::move(tensor));
}

std::shared_ptr<const Coo> full(const Dims& dims) {
  Draws draws(3);
  return shared(random_tensor(dims, 1.1, draws));
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
}

TEST_CASE("half precision does not meet the bound of split halves") {
  const Case c{"abk,kcd->abcd", full({10, 9, 8}), full({8, 7, 6})};
  const auto method = make_bcb_cpu();
  const Problem problem = problem_of(c);
  const auto split = method->precision(
      problem, method->params().resolve({{"precision", std::string("split_fp16")}}));
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
    const auto method = make_bcb_cpu();
    spec.variant = c.einsum;
    return method->supports(Problem(spec, c.x, c.y), method->params().resolve(given)).reason;
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
