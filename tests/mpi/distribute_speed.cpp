// Run by mpirun with NONZEROS LENGTH RANK METHOD[:RULE]...: MTTKRP over all modes and CP-ALS of a
// tensor with three modes of LENGTH whose nonzeros the processes draw, by the rule or by each.
// Prints a JSON object a line and ends with exit code 1 where sampled rows or sent bytes are wrong.
// CUDA methods run over NCCL.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/communicate/mpi.hpp"
#include "common/communicate/nccl.hpp"
#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/device/device.hpp"
#include "common/distribute/als.hpp"
#include "common/distribute/passes.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"

namespace {

using namespace retensor;
using communicate::Communicator;
using distribute::Rule;
using nlohmann::json;

constexpr int kWarmup = 2, kRuns = 7, kSampledRows = 5, kSweeps = 5;

/// Nonzeros x of all with x % processes == rank.
Coo drawn(const Communicator& processes, Count nonzeros, Count length) {
  const auto p = static_cast<Count>(processes.size()), me = static_cast<Count>(processes.rank());
  Coo mine(Dims(3, length), DType::f32, nonzeros / p + (me < nonzeros % p ? 1 : 0));
  const CounterRng rng(1);
  const auto values = mine.values.as<float>();
#pragma omp parallel for
  for (Count x = 0; x < mine.nnz(); ++x) {
    const Count at = 4 * (x * p + me);
    for (std::size_t m = 0; m < 3; ++m)
      mine.indices[m][x] = static_cast<Index>(rng.below(at + m, length));
    values[x] = static_cast<float>(rng.uniform(at + 3));
  }
  return mine;
}

std::shared_ptr<std::vector<Matrix>> drawn_factors(Count length, std::uint64_t rank) {
  auto factors = std::make_shared<std::vector<Matrix>>();
  for (std::uint64_t m = 0; m < 3; ++m) {
    auto view = factors->emplace_back(length, rank, DType::f32).view<float>();
    const CounterRng rng(2, m);
    for (Count i = 0; i < length * rank; ++i) view.data[i] = static_cast<float>(rng.uniform(i));
  }
  return factors;
}

/// A row of the result in fp64.
std::vector<double> right_row(Communicator& world, const Coo& mine,
                              const std::vector<Matrix>& factors, std::size_t mode, Index row) {
  const auto rank = factors[0].cols();
  std::vector<double> sum(rank, 0);
  const auto values = mine.values.as<float>();
  const auto a = factors[(mode + 1) % 3].view<float>(), b = factors[(mode + 2) % 3].view<float>();
#pragma omp parallel for schedule(static)
  for (Count x = 0; x < mine.nnz(); ++x) {
    if (mine.indices[mode][x] != row) continue;
#pragma omp critical
    for (std::uint64_t r = 0; r < rank; ++r)
      sum[r] += static_cast<double>(values[x]) *
                static_cast<double>(a(mine.indices[(mode + 1) % 3][x], r)) *
                static_cast<double>(b(mine.indices[(mode + 2) % 3][x], r));
  }
  world.all_reduce(std::span(sum));
  return sum;
}

struct Sampled {
  std::size_t mode;
  Index row;
  std::vector<double> right;
};

std::vector<Sampled> sampled_rows(Communicator& world, const Coo& mine,
                                  const std::vector<Matrix>& factors) {
  std::vector<Sampled> rows;
  for (std::size_t mode = 0; mode < 3; ++mode)
    for (int k = 0; k < kSampledRows; ++k) {
      const auto row = static_cast<Index>(mine.dims[mode] * static_cast<Count>(k) / kSampledRows);
      rows.push_back({mode, row, right_row(world, mine, factors, mode, row)});
    }
  return rows;
}

double largest_error(Prepared& passes, const std::vector<Sampled>& rows) {
  double largest = 0;
  for (std::size_t mode = 0; mode < 3; ++mode) {
    const auto result = passes.passes()->mode_result(static_cast<int>(mode));
    for (const auto& sampled : rows)
      for (std::uint64_t r = 0; sampled.mode == mode && r < sampled.right.size(); ++r)
        largest = std::max(largest, std::abs(result.at(sampled.row, r) - sampled.right[r]) /
                                        std::max(1e-30, std::abs(sampled.right[r])));
  }
  return largest;
}

double most_of_all(Communicator& world, double own) {
  communicate::Parts parts(static_cast<std::size_t>(world.size()), 1);
  std::vector<double> all(parts.size());
  all[static_cast<std::size_t>(world.rank())] = own;
  world.all_gather(std::span(all), parts);
  return *std::max_element(all.begin(), all.end());
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

template <class Work>
double seconds_of(Communicator& world, Work&& work) {
  world.barrier();
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return most_of_all(world, spent.count());
}

struct Job {
  Communicator& world;
  Communicator* devices;  // null on the host
  const Coo& mine;
  const std::shared_ptr<std::vector<Matrix>> factors;
  const std::vector<Sampled> sampled;
  ProblemSpec spec;
};

json measured_passes(const Job& job, Rule rule, const Method& method) {
  const auto share = distribute::share_out(
      job.world, job.mine, rule,
      distribute::cost_of_mttkrp(job.mine.order(), job.spec.rank, job.spec.dtype));
  auto& exchanging = job.devices != nullptr ? *job.devices : job.world;
  const auto passes = distribute::passes_over(exchanging, share, job.spec, job.factors, method);
  const auto timer = job.devices != nullptr ? device::make_event_timer() : make_host_timer();
  std::vector<double> seconds, exchange;
  Count sent = 0, expected = 0;
  for (int k = 0; k < kWarmup + kRuns; ++k) {
    StageTimes stages;
    const double took = seconds_of(job.world, [&] {
      exchanging.traffic() = {};
      timer->start();
      passes->run(*timer);
      stages = timer->stop();
      sent = exchanging.traffic().total();
    });
    double exchanged = 0;
    for (const auto& [stage, spent] : stages)
      if (stage == "exchange") exchanged = spent;
    exchanged = most_of_all(job.world, exchanged);
    if (k >= kWarmup) seconds.push_back(took), exchange.push_back(exchanged);
  }
  job.world.all_reduce(std::span(&sent, 1));
  const bool on_device = passes->executed().at("rows exchanged") == "on the device";
  const Count row = on_device ? (job.spec.rank * 4 + 15) / 16 * 16 : job.spec.rank * 4;
  for (std::size_t m = 0; m < 3; ++m)
    expected +=
        distribute::bytes_of_pass(rule, job.world.size(), share.grid[m], job.mine.dims[m], row);
  const double error = largest_error(*passes, job.sampled);
  const bool right = sent == expected && error < 1e-3;
  return {{"right", right},
          {"error", error},
          {"sent", sent},
          {"expected", expected},
          {"seconds", median(seconds)},
          {"samples", seconds},
          {"exchange", median(exchange)},
          {"rows exchanged", passes->executed().at("rows exchanged")},
          {"device_bytes", passes->footprint().device_bytes},
          {"loads", distribute::loads(job.world, share)}};
}

json measured_sweeps(const Job& job, Rule rule, const Method& method) {
  auto spec = job.spec;
  spec.operation = Operation::cpd;
  spec.max_sweeps = 2 * kSweeps;
  spec.tolerance = -1;
  distribute::Als als(job.world, job.mine, rule, spec, method, {}, job.devices);
  als.begin({std::vector<double>(spec.rank), *job.factors, {}});
  const auto timer = make_host_timer();
  std::vector<double> seconds;
  for (int k = 0; k < 2 * kSweeps; ++k)
    seconds.push_back(seconds_of(job.world, [&] { als.sweep(*timer); }));
  return {{"seconds of a sweep", median(seconds)}, {"fit", als.fit().back()}};
}

int measure(Communicator& world, Count nonzeros, Count length, std::uint64_t rank,
            const std::vector<std::string>& methods) {
  const auto registry = all_methods();
  const auto mine = drawn(world, nonzeros, length);
  const auto factors = drawn_factors(length, rank);
  bool right = true;
  for (const auto& asked : methods) {
    const auto colon = std::min(asked.find(':'), asked.size());
    const auto id = asked.substr(0, colon), only = asked.substr(colon);
    const auto& method = registry.find(id);
    const auto nccl = method.backend() == Backend::cuda ? communicate::over_nccl(world) : nullptr;
    ProblemSpec spec;
    spec.operation = Operation::mttkrp_all;
    spec.rank = rank;
    spec.dtype = DType::f32;
    const Job job{world, nccl.get(), mine, factors, sampled_rows(world, mine, *factors), spec};
    for (const auto rule : {Rule::allreduce, Rule::medium, Rule::owner}) {
      if (!only.empty() && only != ':' + std::string(name(rule))) continue;
      if (rule == Rule::owner && id.starts_with("flycoo")) continue;  // takes all modes alone
      if (rule != Rule::allreduce && world.size() == 1) continue;     // the same there
      auto said = measured_passes(job, rule, method);
      right = right && said["right"] == true;
      said.update(measured_sweeps(job, rule, method));
      said.update({{"processes", world.size()},
                   {"dist", name(rule)},
                   {"method", id},
                   {"nonzeros", nonzeros},
                   {"length", length},
                   {"rank", rank}});
      if (world.rank() == 0) std::cout << said.dump() << std::endl;
    }
  }
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const communicate::MpiSession session(argc, argv);
  const auto world = session.world();
  try {
    if (argc < 5) throw InputError("expected NONZEROS LENGTH RANK METHOD[:RULE]...");
    return measure(*world, std::stoull(argv[1]), std::stoull(argv[2]), std::stoull(argv[3]),
                   {argv + 4, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "process " << world->rank() << ": " << e.what() << '\n';
    communicate::MpiSession::end_all(3);
    return 3;
  }
}
