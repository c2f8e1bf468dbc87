// Run by mpirun: collectives and MTTKRP over all processes, against the oracle and the closed form
// of what is sent. Prints each failure and ends with exit code 1 after any; with the argument nccl
// over NCCL.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/communicate/mpi.hpp"
#ifdef RETENSOR_NCCL
#include "common/communicate/nccl.hpp"
#endif
#include "common/core/error.hpp"
#include "common/distribute/passes.hpp"
#include "common/generate/generators.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"

namespace {

using namespace retensor;
using communicate::Communicator;
using communicate::Parts;
using distribute::Rule;

int failures = 0;
bool planted = false;  // one wrong element and one message too many, which have to be found

void expect(bool holds, const Communicator& processes, const std::string& what) {
  if (holds) return;
  ++failures;
  std::cout << fmt::format("process {} of {}: {}\n", processes.rank(), processes.size(), what);
}

Count sum_over_all(Communicator& processes, Count own) {
  processes.all_reduce(std::span(&own, 1));
  return own;
}

/// Sums of small whole numbers are exact in every type.
template <class T>
void check_collectives(Communicator& processes, const std::string& type) {
  const auto p = static_cast<Count>(processes.size()), me = static_cast<Count>(processes.rank());
  const Count sum = p * (p + 1) / 2;
  std::vector<T> values(10);
  for (Count k = 0; k < values.size(); ++k) values[k] = static_cast<T>(k * (me + 1));
  processes.all_reduce(std::span(values));
  for (Count k = 0; k < values.size(); ++k)
    expect(values[k] == static_cast<T>(k * sum), processes, "all-reduce of " + type);

  Parts parts;  // of 0, 2, 4 ... elements
  for (Count r = 0; r < p; ++r) parts.push_back(2 * r);
  const auto first = me * (me > 0 ? me - 1 : 0);
  std::vector<T> all(p * (p - 1), T{0});
  std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(first), parts[me], static_cast<T>(me + 7));
  processes.all_gather(std::span(all), parts);
  Count at = 0;
  for (Count r = 0; r < p; ++r)
    for (Count k = 0; k < parts[r]; ++k)
      expect(all[at++] == static_cast<T>(r + 7), processes, "all-gather of " + type);

  for (Count k = 0; k < all.size(); ++k) all[k] = static_cast<T>(k * (me + 1));
  std::vector<T> mine(parts[me]);
  processes.reduce_scatter(std::span<const T>(all), std::span(mine), parts);
  for (Count k = 0; k < mine.size(); ++k)
    expect(mine[k] == static_cast<T>((first + k) * sum), processes, "reduce-scatter of " + type);

  std::vector<std::vector<T>> to;
  for (Count r = 0; r < p; ++r) to.emplace_back(r + me, static_cast<T>(100 * me + r));
  const auto come = processes.all_to_all(to);
  at = 0;
  for (Count r = 0; r < p; ++r)
    for (Count k = 0; k < r + me; ++k)
      expect(at < come.size() && come[at++] == static_cast<T>(100 * r + me), processes,
             "all-to-all of " + type);
  expect(at == come.size(), processes, "all-to-all of " + type + " brought more");

  const auto half = processes.split(processes.rank() % 2);
  std::vector<T> one = {T{1}};
  half->all_reduce(std::span(one));
  expect(one[0] == static_cast<T>(half->size()) &&
             half->size() == static_cast<int>((p + 1 - me % 2) / 2),
         processes, "all-reduce of " + type + " within a part");
}

/// All modes of a tensor against the oracle, and the bytes that they send.
void check_passes(Communicator& processes, const Coo& whole, Rule rule, DType type,
                  const Method& method) {
  auto tensor = std::make_shared<Coo>(whole);
  tensor->values = whole.values.cast(type);
  ProblemSpec spec;
  spec.operation = Operation::mttkrp_all;
  spec.rank = 5;
  spec.dtype = type;
  const Problem problem(spec, tensor);
  Coo mine(whole.dims, type);  // process 0 begins with everything
  if (processes.rank() == 0) mine = *tensor;
  const auto share = distribute::share_out(processes, mine, rule);
  const auto factors = std::make_shared<const std::vector<Matrix>>(problem.dense());
  const auto passes = distribute::passes_over(processes, share, spec, factors, method);
  const auto timer = make_host_timer();
  const auto what = fmt::format("{} of {} with {} nonzeros in {}", name(rule), method.id(),
                                whole.nnz(), name(type));
  for (int mode = 0; mode < whole.order(); ++mode) {
    const auto at = static_cast<std::size_t>(mode);
    processes.traffic() = {};
    passes->passes()->run_mode(mode, *timer);
    if (planted) sum_over_all(processes, 0);
    const auto sent = sum_over_all(processes, processes.traffic().total());
    const auto expected = distribute::bytes_of_pass(rule, processes.size(), share.grid[at],
                                                    whole.dims[at], 5 * size_of(type));
    expect(sent == expected, processes,
           fmt::format("{}, mode {}: {} bytes sent, expected {}", what, mode, sent, expected));
    auto result = passes->passes()->mode_result(mode);
    if (planted) result.set(0, 0, result.at(0, 0) + 1);
    // A sum in another order has the oracle's bound.
    const auto report = problem.of_mode(mode).oracle().check(result, method.precision(problem, {}));
    expect(report.ok, processes,
           fmt::format("{}, mode {}: error {} of its bound", what, mode, report.error_over_bound));
  }
  const auto loads = distribute::imbalance(processes, share);
  for (const double load : loads)
    expect(load >= 1 && load <= processes.size(), processes, what + ": imbalance out of range");
}

void check_all(Communicator& processes) {
  check_collectives<float>(processes, "f32");
  check_collectives<double>(processes, "f64");
  check_collectives<Count>(processes, "u64");
  const auto registry = all_methods();
  const std::vector<Coo> tensors = {
      uniform({40, 23, 31}, 3000, 1, DType::f64), uniform({3, 50, 2, 9}, 400, 2, DType::f64),
      uniform({5, 2, 3}, 1, 3, DType::f64), Coo({6, 5, 4}, DType::f64)};
  for (const auto& tensor : tensors)
    for (const auto rule : {Rule::allreduce, Rule::owner, Rule::medium})
      for (const auto type : {DType::f32, DType::f64})
        for (const auto* const id : {"pasta.cpu.coo", "pasta.cpu.hicoo"})
          check_passes(processes, tensor, rule, type, registry.find(id));
}

int check_over(Communicator& world, const std::string& how) {
  planted = how == "planted";
#ifdef RETENSOR_NCCL
  const auto nccl = how == "nccl" ? communicate::over_nccl(world) : nullptr;
  auto& processes = nccl ? *nccl : world;
#else
  if (how == "nccl") throw InputError("built without NCCL");
  auto& processes = world;
#endif
  check_all(processes);
  const auto all = sum_over_all(processes, static_cast<Count>(failures));
  if (processes.rank() == 0 && all == 0)
    std::cout << fmt::format("all checks of {} processes hold\n", processes.size());
  return all == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const communicate::MpiSession session(argc, argv);
  const auto world = session.world();
  try {
    return check_over(*world, argc > 1 ? argv[1] : "");
  } catch (const std::exception& e) {
    std::cerr << fmt::format("process {}: {}\n", world->rank(), e.what());
    communicate::MpiSession::end_all(3);
    return 3;
  }
}
