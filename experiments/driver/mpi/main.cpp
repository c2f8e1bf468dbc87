// The program `retensor-mpi`: a CP decomposition by several processes, started by mpirun or srun;
// with `serve` MTTKRP for a spec, for which it starts mpirun itself.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "common/communicate/mpi.hpp"
#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/core/text.hpp"
#include "common/decompose/checkpoint.hpp"
#include "common/decompose/starts.hpp"
#include "common/distribute/als.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/mpi/job.hpp"
#include "experiments/driver/mpi/serve.hpp"

namespace {

using namespace retensor;
using driver::Given;
using nlohmann::json;

/// After which the next process speaks of an error that it meets too, and how often at most one
/// waits.
constexpr std::chrono::milliseconds kTurn{300};
constexpr int kMostTurns = 10;

const driver::Usage& usage() {
  static const driver::Usage text{
      "TENSOR", "Computes a CP decomposition of a tensor file by all processes of an MPI job.",
      "mpirun -np 4 retensor-mpi mine.tns --method METHOD --dist medium", 1};
  return text;
}

driver::Options options() {
  driver::Options add;
  add("rank", driver::number("R", std::uint64_t{16}), "components");
  add("dist", driver::word("RULE", "allreduce"),
      "how nonzeros lie: allreduce (even shares), owner (by slices, for each mode) or medium (in a "
      "grid)");
  add("method", driver::word("METHOD"),
      "MTTKRP of each process; with owner one that takes a mode at a time as a problem");
  add("max-sweeps", driver::number("N", 20), "most sweeps");
  add("tolerance", driver::number("X", 1e-5), "smallest gain of the fit that continues");
  add("seed", driver::number("N", std::uint64_t{1}), "of the first factors");
  add("dtype", driver::word("f32|f64", "f64"), "type of values and factors");
  add("checkpoint", driver::word("FILE"), "the model so far; a run that finds it goes on from it");
  add("every", driver::number("N", 10), "sweeps from one checkpoint to the next");
  return add;
}

ProblemSpec spec_of(const Given& given) {
  ProblemSpec spec;
  spec.operation = Operation::cpd;
  spec.rank = given.get<std::uint64_t>("rank");
  spec.dtype = dtype_from_name(given.text("dtype"));
  spec.max_sweeps = given.get<int>("max-sweeps");
  spec.tolerance = given.get<double>("tolerance");
  spec.seed = given.get<std::uint64_t>("seed");
  return spec;
}

cpd::Identity identity_of(const std::string& path, const ProblemSpec& spec) {
  return {{"file", sha256_file(path)},
          {"rank", std::to_string(spec.rank)},
          {"seed", std::to_string(spec.seed)},
          {"type", std::string(name(spec.dtype))}};
}

json to_json(const communicate::Traffic& sent) {
  return {{"all_reduce", sent.all_reduce},
          {"all_gather", sent.all_gather},
          {"reduce_scatter", sent.reduce_scatter},
          {"all_to_all", sent.all_to_all}};
}

/// The factors of the seed, or what a checkpoint holds.
KruskalModel first_model(const Coo& mine, const ProblemSpec& spec, const std::string& checkpoint,
                         const cpd::Identity& identity) {
  if (!checkpoint.empty()) {
    const Problem shapes(spec, std::make_shared<const Coo>(mine));
    if (auto found = cpd::load_checkpoint(checkpoint, identity, shapes)) return std::move(*found);
  }
  return {std::vector<double>(spec.rank),
          cpd::first_factors(cpd::Start::signs, mine, spec.rank, spec.seed),
          {}};
}

/// The sweeps that are left; the first process keeps the model every so many.
void sweep_to_end(const communicate::Communicator& processes, distribute::Als& als,
                  const std::string& checkpoint, const cpd::Identity& identity, int every) {
  const auto timer = make_host_timer();
  while (!als.finished()) {
    als.sweep(*timer);
    if (!checkpoint.empty() && als.fit().size() % static_cast<std::size_t>(every) == 0 &&
        !als.finished() && processes.rank() == 0)
      cpd::save_checkpoint(checkpoint, identity, als.model());
  }
}

int decompose(communicate::Communicator& processes, const Given& given) {
  const auto path = given.positional("a tensor file");
  const auto spec = spec_of(given);
  const auto rule = distribute::rule_from_name(given.text("dist"));
  const auto registry = all_methods();
  const auto mine = mpi::read_part(path, spec.dtype, processes);
  const auto& method = registry.find(given.text("method"));
  const auto devices = mpi::devices_for(method, processes);
  auto& exchanging = devices ? *devices : processes;
  distribute::Als als(processes, mine, rule, spec, method, {}, devices.get());
  const auto checkpoint = given.text("checkpoint");
  const auto identity = checkpoint.empty() ? cpd::Identity() : identity_of(path, spec);
  const auto model = first_model(mine, spec, checkpoint, identity);
  const auto resumed_after = model.fit.size();
  als.begin(model);
  const auto moved = mpi::sent_by_all(processes, processes);
  processes.barrier();
  const auto begin = std::chrono::steady_clock::now();
  sweep_to_end(processes, als, checkpoint, identity, given.at_least_one("every"));
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  const auto sent = mpi::sent_by_all(processes, exchanging);
  const auto imbalance = distribute::imbalance(processes, als.share());
  const auto loads = distribute::loads(processes, als.share());
  if (processes.rank() != 0) return 0;
  std::error_code ignored;
  if (!checkpoint.empty()) std::filesystem::remove(checkpoint, ignored);
  std::cout << json{{"processes", processes.size()},
                    {"dist", name(rule)},
                    {"grid", als.share().grid},
                    {"method", method.id()},
                    {"resumed_after", resumed_after},
                    {"sweeps", als.fit().size() - resumed_after},
                    {"fit_curve", als.fit()},
                    {"weights", als.model().weights},
                    {"sent_to_distribute", to_json(moved)},
                    {"sent_by_sweeps", to_json(sent)},
                    {"seconds", spent.count()},
                    {"executed", als.mttkrp().executed()},
                    {"imbalance", imbalance},
                    {"loads", loads}}
                   .dump(2)
            << std::endl;
  return 0;
}

/// Whether this process is one of an MPI job: by what the launchers of OpenMPI, of MPICH and its
/// kin, and Slurm hand to each.
bool is_of_mpi_job() {
  const auto names = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  return std::ranges::any_of(names, [](const char* name) { return std::getenv(name) != nullptr; });
}

/// In a spec's process, which is none of an MPI job yet, becomes mpirun.
int launched() {
  try {
    return mpi::launch_ranks();
  } catch (const std::exception& e) {
    std::cerr << "retensor-mpi: " << printable(e.what()) << '\n';
    return 2;
  }
}

/// All processes end with one that fails: they would wait for it. Where several meet the same
/// error, as of a wrong file, the first one says so and ends the others, which wait for that: an
/// mpirun that many processes ask to abort at once may crash.
[[noreturn]] void end_all(const communicate::Communicator& processes, const std::exception& error,
                          int code) {
  std::this_thread::sleep_for(kTurn * std::min(processes.rank(), kMostTurns));
  std::cerr << fmt::format("retensor-mpi: process {} of {}: {}\n", processes.rank(),
                           processes.size(), printable(error.what()));
  communicate::MpiSession::end_all(code);
  std::_Exit(code);
}

template <class Work>
int guarded(communicate::Communicator& processes, Work work) {
  try {
    return work();
  } catch (const InputError& e) {
    end_all(processes, e, 2);
  } catch (const std::exception& e) {
    end_all(processes, e, 3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool serves = argc == 2 && std::string_view(argv[1]) == "serve";
  if (serves && !is_of_mpi_job()) return launched();
  std::optional<mpi::Answers> answers;
  if (serves) answers.emplace();
  const communicate::MpiSession session(argc, argv);
  const auto processes = session.world();
  if (serves) return guarded(*processes, [&] { return mpi::serve(*processes, *answers); });
  try {
    const auto described = options();
    const auto given = parse_options(usage(), described, {argv + 1, argv + argc});
    if (given) return guarded(*processes, [&] { return decompose(*processes, *given); });
    if (processes->rank() == 0) std::cout << help_text(usage(), described);
    return 0;
  } catch (const InputError& e) {
    if (processes->rank() == 0) std::cerr << "retensor-mpi: " << printable(e.what()) << '\n';
    return 2;
  }
}
