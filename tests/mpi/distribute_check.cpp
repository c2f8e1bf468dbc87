// Run by mpirun: collectives, MTTKRP and CP-ALS over all processes, against the oracle, the closed
// form of what is sent, and the model of one process. Prints each failure and ends with exit code 1
// after any; with the argument nccl over NCCL, on the host and in device memory.
#include <cmath>
#include <iostream>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/communicate/mpi.hpp"
#include "common/communicate/nccl.hpp"
#include "common/core/error.hpp"
#include "common/decompose/als.hpp"
#include "common/device/copy.hpp"
#include "common/device/device.hpp"
#include "common/distribute/als.hpp"
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

  std::vector<T> out;
  Parts to;
  for (Count r = 0; r < p; ++r) {
    to.push_back(r + me);
    out.insert(out.end(), to.back(), static_cast<T>(100 * me + r));
  }
  const auto come = processes.all_to_all(std::span<const T>(out), to);
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

/// The collectives on device memory, in parts of equal and of unequal length.
void check_device_memory(Communicator& processes, bool equal) {
  const auto p = static_cast<Count>(processes.size()), me = static_cast<Count>(processes.rank());
  Parts parts;
  for (Count r = 0; r < p; ++r) parts.push_back(equal ? 3 : r + 1);
  const auto all = communicate::sum_of(parts);
  const auto first = std::accumulate(parts.begin(), parts.begin() + processes.rank(), Count{0});
  std::vector<double> host(all);
  auto* const device = static_cast<double*>(device::allocate_bytes(2 * all * sizeof(double)));
  const auto upload = [&] { device::copy_to_device(device, host.data(), all * sizeof(double)); };
  const auto download = [&](double* from, Count n) {
    device::copy_to_host(host.data(), from, n * sizeof(double));
  };
  for (Count k = 0; k < all; ++k) host[k] = static_cast<double>(k * (me + 1));
  upload();
  const std::span<double> there(device, all), mine(device + all, parts[me]);
  processes.reduce_scatter(std::span<const double>(there), mine, parts);
  download(mine.data(), mine.size());
  const auto sum = static_cast<double>(p * (p + 1) / 2);
  for (Count k = 0; k < mine.size(); ++k)
    expect(host[k] == static_cast<double>(first + k) * sum, processes, "reduce-scatter on devices");
  processes.all_reduce(there);
  download(device, all);
  for (Count k = 0; k < all; ++k)
    expect(host[k] == static_cast<double>(k) * sum, processes, "all-reduce on devices");
  for (Count k = 0; k < parts[me]; ++k) host[first + k] = -1.0 - static_cast<double>(me);
  upload();
  processes.all_gather(there, parts);
  download(device, all);
  Count at = 0;
  for (Count r = 0; r < p; ++r)
    for (Count k = 0; k < parts[r]; ++k)
      expect(host[at++] == -1.0 - static_cast<double>(r), processes, "all-gather on devices");
  device::release_bytes(device);
}

/// Every row has a nonzero, the first a thousand: where rows cost nothing the first process gets
/// that row alone, and others follow it as rows cost more.
void check_costs() {
  communicate::Parts slices(1000, 1);
  slices[0] = 1000;
  const auto with_rows = [&](Count nonzero, Count row) {
    auto costs = slices;
    for (auto& slice : costs) slice = slice * nonzero + row;
    return distribute::cuts_of(costs, 2)[1];
  };
  if (with_rows(1, 0) != 1 || with_rows(1, 1) != 251) {
    ++failures;
    std::cout << fmt::format("cuts after {} and {} slices, expected 1 and 251\n", with_rows(1, 0),
                             with_rows(1, 1));
  }
}

/// A tensor of which process 0 has everything.
Coo all_of_first(const Communicator& processes, const Coo& tensor) {
  return processes.rank() == 0 ? tensor : Coo(tensor.dims, tensor.dtype());
}

std::unique_ptr<StageTimer> timer_of(const Method& method) {
  return method.backend() == Backend::cuda ? device::make_event_timer() : make_host_timer();
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
  const auto share = distribute::share_out(processes, all_of_first(processes, *tensor), rule);
  const auto factors = std::make_shared<const std::vector<Matrix>>(problem.dense());
  const auto passes = distribute::passes_over(processes, share, spec, factors, method);
  const auto timer = timer_of(method);
  const bool on_device = passes->executed().at("rows exchanged") == "on the device";
  expect(on_device == (processes.takes_device_memory() && method.backend() == Backend::cuda),
         processes, std::string(method.id()) + " exchanges rows elsewhere");
  // On the device rows are padded to 16 bytes.
  const Count row_bytes = on_device ? (5 * size_of(type) + 15) / 16 * 16 : 5 * size_of(type);
  const auto what = fmt::format("{} of {} with {} nonzeros in {}", name(rule), method.id(),
                                whole.nnz(), name(type));
  for (int mode = 0; mode < whole.order(); ++mode) {
    const auto at = static_cast<std::size_t>(mode);
    processes.traffic() = {};
    timer->start();
    passes->passes()->run_mode(mode, *timer);
    timer->stop();
    if (planted) sum_over_all(processes, 0);
    const auto sent = sum_over_all(processes, processes.traffic().total());
    const auto expected = distribute::bytes_of_pass(rule, processes.size(), share.grid[at],
                                                    whole.dims[at], row_bytes);
    expect(sent == expected, processes,
           fmt::format("{}, mode {}: {} bytes sent, expected {}", what, mode, sent, expected));
    auto result = passes->passes()->mode_result(mode);
    if (planted) result.set(0, 0, result.at(0, 0) + 1);
    // A sum in another order has the oracle's bound.
    const auto report = problem.of_mode(mode).oracle().check(result, method.precision(problem, {}));
    expect(report.ok, processes,
           fmt::format("{}, mode {}: error {} of its bound", what, mode, report.error_over_bound));
  }
  for (const double most : distribute::imbalance(processes, share))
    expect(most >= 1 && most <= processes.size(), processes, what + ": imbalance out of range");
}

/// The fit after each sweep against that of one process.
void check_decomposition(Communicator& world, Communicator& processes, const Coo& whole, Rule rule,
                         const Method& method) {
  constexpr int kSweeps = 4;
  ProblemSpec spec;
  spec.operation = Operation::cpd;
  spec.rank = 5;
  spec.dtype = DType::f64;
  spec.max_sweeps = kSweeps;
  spec.tolerance = -1;
  const Problem problem(spec, std::make_shared<const Coo>(whole));
  const auto registry = all_methods();
  cpd::Als one(problem, registry.find("pasta.cpu.coo"));
  const auto timer = make_host_timer();
  for (int sweep = 0; sweep < kSweeps; ++sweep) one.sweep(*timer);
  distribute::Als many(world, all_of_first(world, whole), rule, spec, method, {}, &processes);
  many.begin({std::vector<double>(spec.rank), problem.dense(), {}});
  while (!many.finished()) many.sweep(*timer);
  expect(many.fit().size() == kSweeps, processes, "as many sweeps as asked for");
  for (std::size_t k = 0; k < many.fit().size(); ++k)
    expect(std::abs(many.fit()[k] - one.fit()[k]) < 1e-9, processes,
           fmt::format("{} of {}: fit {} after sweep {}, expected {}", name(rule), method.id(),
                       many.fit()[k], k + 1, one.fit()[k]));
}

/// Methods that a rule can use: with owner those of single modes.
std::vector<std::string> methods_of(const Communicator& processes, Rule rule) {
  std::vector<std::string> ids = {"pasta.cpu.coo", "pasta.cpu.hicoo"};
  if (!processes.takes_device_memory()) return ids;
  ids.insert(ids.end(), {"blco.cuda", "mm_csf.cuda"});
  if (rule != Rule::owner) ids.insert(ids.end(), {"flycoo.cuda.copies", "flycoo.cuda.tuned"});
  return ids;
}

void check_all(Communicator& world, Communicator& processes) {
  check_costs();
  check_collectives<float>(processes, "f32");
  check_collectives<double>(processes, "f64");
  check_collectives<Count>(processes, "u64");
  if (processes.takes_device_memory())
    for (const bool equal : {true, false}) check_device_memory(processes, equal);
  const auto registry = all_methods();
  const std::vector<Coo> tensors = {
      uniform({40, 23, 31}, 3000, 1, DType::f64), uniform({3, 50, 2, 9}, 400, 2, DType::f64),
      uniform({5, 2, 3}, 1, 3, DType::f64), Coo({6, 5, 4}, DType::f64)};
  // NCCL may take half a second to split a group off, and each check of the grid splits one off for
  // every mode: there a method has one tensor and one type, and the first on a device has all.
  const bool all = !processes.takes_device_memory();
  for (const auto rule : {Rule::allreduce, Rule::owner, Rule::medium})
    for (const auto& id : methods_of(processes, rule)) {
      const auto& method = registry.find(id);
      const std::size_t most = all || id == "blco.cuda" ? tensors.size() : 1;
      for (const auto& tensor : std::span(tensors).first(most))
        for (const auto type : {DType::f32, DType::f64})
          if (all || type == DType::f32) check_passes(processes, tensor, rule, type, method);
      if (all || most > 1 || id == "flycoo.cuda.copies")
        check_decomposition(world, processes, tensors.front(), rule, method);
    }
}

int check_over(Communicator& world, const std::string& how) {
  planted = how == "planted";
  const auto nccl = how == "nccl" ? communicate::over_nccl(world) : nullptr;
  if (how == "nccl" && !nccl) throw InputError("built without NCCL");
  auto& processes = nccl ? *nccl : world;
  check_all(world, processes);
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
