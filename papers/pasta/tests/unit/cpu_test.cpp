#include <doctest/doctest.h>

#include <map>
#include <memory>

#include "common/core/rng.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "papers/pasta/format/fibers.hpp"
#include "papers/pasta/format/patterns.hpp"
#include "papers/pasta/kernels/mttkrp_cpu.hpp"
#include "papers/pasta/kernels/shared_cpu.hpp"

using namespace retensor;

namespace {

std::shared_ptr<const Coo> random_tensor(int order, Count nnz) {
  Coo x(Dims(static_cast<std::size_t>(order), 7), DType::f64, nnz);
  x.dims.front() = 300;  // more than one block, and rows that several threads share
  for (std::size_t m = 0; m < x.dims.size(); ++m)
    for (Count p = 0; p < nnz; ++p)
      x.indices[m][p] = static_cast<Index>(CounterRng(3, m).below(p, x.dims[m]));
  for (Count p = 0; p < nnz; ++p) x.values.set(p, CounterRng(4).uniform(p) - 0.5);
  return std::make_shared<const Coo>(std::move(x));
}

void check(const Method& method, const Problem& problem,
           const std::map<std::string, ParamValue>& given) {
  const Trial trials[] = {{&method, &problem, method.params().resolve(given)}};
  const auto m = measure(trials, {.warmup = 0, .samples = 1}).front();
  CHECK_MESSAGE(m.status == "ok", method.id() << " mode " << problem.mode() << " rank "
                                              << problem.rank() << ": " << m.reason);
}

template <class T>
std::vector<T> numbers(std::size_t n) {
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<T>(static_cast<int>(i % 23) - 11);
  return v;
}

}  // namespace

TEST_CASE("orders and ranks with and without kernels of their own") {
  const Registry registry = all_methods();
  const std::map<std::string, std::vector<std::string>> updates = {
      {"pasta.cpu.coo", {"atomic", "private", "owner", "sequential"}},
      {"pasta.cpu.hicoo", {"atomic", "private", "owner", "scheduled"}}};
  for (const int order : {2, 4, 7, 8})
    for (const std::uint64_t rank : {3, 8, 64})
      for (const auto type : {DType::f32, DType::f64}) {
        ProblemSpec spec;
        spec.rank = rank;
        spec.dtype = type;
        for (const int mode : {0, order - 1}) {
          spec.mode = mode;
          const auto x = random_tensor(order, 900);
          spec.operation = Operation::mttkrp;
          const Problem mttkrp(spec, x);
          spec.operation = Operation::ttm;
          const Problem ttm(spec, x);
          for (const auto& [id, words] : updates) {
            const Method& method = registry.find(id);
            for (const auto& word : words)
              check(method, mttkrp, {{"update", word}, {"threads", std::int64_t{5}}});
            check(method, ttm, {{"threads", std::int64_t{5}}});
          }
        }
      }
}

TEST_CASE("MTTKRP in HiCOO moves the bytes of Table I, by whichever loops") {
  const Registry registry = all_methods();
  ProblemSpec spec;
  spec.operation = Operation::mttkrp, spec.rank = 16, spec.dtype = DType::f32;
  const Problem problem(spec, random_tensor(3, 900));
  const auto bytes = [&](const char* id, std::int64_t block) {
    const Method& method = registry.find(id);
    std::map<std::string, ParamValue> given{{"block", block}};
    if (method.id() == "pasta.cpu.plain") given["format"] = "hicoo";
    return method.prepare(problem, method.params().resolve(given))->work().bytes;
  };
  for (const char* id : {"pasta.cpu.hicoo", "pasta.cpu.plain"}) {
    // 300 x 7 x 7 has 3 blocks of edge 128, which hold 384 rows of a factor, fewer than nonzeros.
    CHECK(bytes(id, 128) == 3 * 4 * 16 * 384 + 7 * 900 + 20 * 3);
    CHECK(bytes(id, 2) > 3 * 4 * 16 * 900);
  }
}

TEST_CASE_TEMPLATE("results written past the caches are those written through them", T, float,
                   double) {
  using namespace pasta;
  constexpr std::size_t kNonzeros = 9000;  // several blocks of TEW and groups of TTM, and a rest
  const auto x = numbers<T>(kNonzeros), y = numbers<T>(kNonzeros);
  Array<T> past(kNonzeros), through(kNonzeros);
  tew<T>(Arithmetic::sub, x, y, past, Store::past_caches, 3);
  tew<T>(Arithmetic::sub, x, y, through, Store::cached, 2);
  CHECK(past == through);
  ts<T>(Arithmetic::mul, x, T{3}, past, Store::past_caches, 3);
  CHECK(past[kNonzeros - 1] == 3 * x[kNonzeros - 1]);
  ts<T>(Arithmetic::mul, x, T{3}, through, Store::cached, 2);
  CHECK(past == through);

  std::vector<Count> start{0};
  while (start.back() < kNonzeros)
    start.push_back(std::min<Count>(kNonzeros, start.back() + 1 + start.size() % 3));
  const auto last = fiber_ends(start);
  std::vector<Index> index(kNonzeros);
  for (std::size_t p = 0; p < kNonzeros; ++p) index[p] = static_cast<Index>(p % 10);
  const Fibers<T> fibers{start, index, last, x};
  for (const std::uint64_t rank : {5, 8, 64}) {
    const auto u = numbers<T>(10 * rank);
    const MatrixView<const T> factor{u.data(), 10, rank, rank};
    past.assign(fibers.count() * rank, T{1});
    through.assign(fibers.count() * rank, T{2});
    ttm<T>(fibers, factor, past, Store::past_caches, 3);
    ttm<T>(fibers, factor, through, Store::cached, 2);
    CHECK(past == through);
    T sum{0};
    for (Count p = start[1]; p < start[2]; ++p) sum += x[p] * u[index[p] * rank + 1];
    CHECK(past[rank + 1] == sum);
  }
}
