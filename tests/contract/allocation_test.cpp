// A run allocates nothing: operator new and posix_memalign, which arrays of values use, are counted
// over the second run of every CPU method. What the OpenMP runtime takes by malloc for its threads
// is not counted. CP-ALS copies results of passes but where their method keeps them.
#include <omp.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "common/decompose/als.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "common/run/all_modes.hpp"
#include "tests/contract/battery.hpp"
#include "tests/contract/scenarios.hpp"
#include "tests/support/planted_method.hpp"

namespace {

std::atomic<long> allocations{0};

void* counted(void* memory) {
  ++allocations;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  ++allocations;
  *memory = std::aligned_alloc(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
// The other forms of new and delete call these.
void* operator new(std::size_t bytes) {
  return counted(std::malloc(bytes == 0 ? 1 : bytes));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (bytes + unit) / unit * unit));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

using namespace retensor;

namespace {

Problem problem_of(Operation op, int mode) {
  ProblemSpec spec;
  spec.operation = op;
  spec.mode = mode;
  if (op == Operation::contraction) spec.variant = mode == 0 ? "abk,cdk->abcd" : "akl,bkl->ab";
  for (const auto& scenario : contract::scenarios(op == Operation::spmm ? 2 : 3))
    if (scenario.name == "unsorted") return {spec, scenario.x};
  throw LogicError("no such scenario");
}

/// Calls of operator new in the second run; -1 where the method declines.
long allocated(const Method& method, const Problem& problem, const Params& params) {
  if (!supports(method, problem, params).ok) return -1;
  const auto prepared = prepare(method, problem, params);
  const auto timer = make_host_timer();
  long count = 0;
  for (int run = 0; run < 2; ++run) {
    timer->start();
    const long before = allocations;
    prepared->run(*timer);
    count = allocations - before;
    timer->stop();
  }
  return count;
}

constexpr Operation kOperations[] = {
    Operation::tew,       Operation::ts,     Operation::ttv,
    Operation::ttm,       Operation::mttkrp, Operation::mttkrp_all,
    Operation::ttm_chain, Operation::spmm,   Operation::contraction};

}  // namespace

TEST_CASE("no CPU method allocates in a run") {
  const Registry registry = all_methods();
  int runs = 0;
  for (const auto op : kOperations)
    for (const int mode : {0, 1}) {
      const Problem problem = problem_of(op, mode);
      for (const auto& method : registry.methods()) {
        if (method->backend() != Backend::cpu) continue;
        for (const Params& params : contract::settings(*method)) {
          const long count = allocated(*method, problem, params);
          runs += count >= 0 ? 1 : 0;
          std::string told;
          for (const auto& [name, value] : params.all()) told += name + "=" + text(value) + " ";
          // Its threads each make the row in which they form products, and its rows were measured
          // so.
          const int rows = problem.x().order() * std::max(3, omp_get_max_threads());
          const long allowed = method->id() == "pasta.cpu.plain" ? rows : 0;
          CHECK_MESSAGE(count <= allowed, method->id() << " " << told << "on " << name(op) << ": "
                                                       << count << " allocations");
        }
      }
    }
  CHECK(runs > 100);
}

TEST_CASE("a sweep of CP-ALS allocates nothing where results of passes are kept") {
  const Registry registry = all_methods();
  ProblemSpec spec;
  spec.operation = Operation::cpd;
  spec.rank = 16;
  spec.max_sweeps = 3;
  const Problem other = problem_of(Operation::mttkrp, 0);
  const Problem problem(spec, {std::shared_ptr<void>(), &other.x()});
  const auto in_second_sweep = [&](const char* mttkrp) {
    cpd::Als als(problem, registry.find(mttkrp));
    const auto timer = make_host_timer();
    als.sweep(*timer);
    const long before = allocations;
    als.sweep(*timer);
    return allocations - before;
  };
  CHECK(in_second_sweep("pasta.cpu.copies") == 0);
  CHECK(in_second_sweep("pasta.cpu.fibers") == 0);
  CHECK(in_second_sweep("pasta.cpu.coo") > 0);
}

TEST_CASE("a method that allocates is found, by new or as an array") {
  const Problem problem = problem_of(Operation::mttkrp, 0);
  using test::Fault;
  CHECK(allocated(test::PlantedMethod(Fault::none), problem, {}) == 0);
  CHECK(allocated(test::PlantedMethod(Fault::allocates), problem, {}) > 0);
  CHECK(allocated(test::PlantedMethod(Fault::unsupported), problem, {}) == -1);
  const long before = allocations;
  const auto one = std::make_unique<int>(1);
  CHECK(allocations == before + 1);
}
