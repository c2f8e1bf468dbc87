// The program `retensor-mpi`: a CP decomposition by several processes, started by mpirun or srun;
// with `serve` MTTKRP for a spec, for which it starts mpirun itself.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/communicate/mpi.hpp"
#include "common/core/hash.hpp"
#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/decompose/checkpoint.hpp"
#include "common/decompose/finite.hpp"
#include "common/decompose/starts.hpp"
#include "common/distribute/als.hpp"
#include "common/machine/room.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/commands/decomposition.hpp"
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
      "retensor-mpi TENSOR",
      "Computes a CP decomposition of a tensor file by all processes of an MPI job. Prints fits "
      "and weights as JSON. --output writes the model as 'retensor cp' does.",
      "mpirun -np 4 retensor-mpi mine.tns --method METHOD --dist medium --output out/cp",
      1,
      "it prints JSON in any case",
      ""};
  return text;
}

driver::Options options() {
  const ProblemSpec standard;
  driver::Options add;
  add("rank", driver::number("R", std::uint64_t{16}), "number of components");
  add("dist", driver::word("RULE", "allreduce"),
      "how nonzeros lie: allreduce (even shares), owner (by slices, for each mode) or medium (in a "
      "grid)");
  add("method", driver::word("METHOD"),
      "the method whose MTTKRP each process uses; with owner one that takes a mode at a time as a "
      "problem");
  add("max-sweeps", driver::number("N", standard.max_sweeps), "largest number of sweeps");
  add("tolerance",
      driver::po::value<double>()->value_name("X")->default_value(
          standard.tolerance, fmt::format("{}", standard.tolerance)),
      "also stop after a sweep that improves the fit by less than this");
  add("seed", driver::number("N", standard.seed), "seed of the initial factors");
  add("type", driver::word("f32|f64", "f64"), "type of the values and factors");
  add("checkpoint", driver::word("FILE"),
      "file from which an interrupted run continues when you start it again; removed when the run "
      "ends");
  add("checkpoint-every", driver::number("N", 10), "sweeps between checkpoints");
  add("output", driver::word("DIR"), "folder for the model: model.npz and text files");
  return add;
}

ProblemSpec spec_of(const Given& given) {
  ProblemSpec spec;
  spec.operation = Operation::cpd;
  spec.rank = given.get<std::uint64_t>("rank");
  if (spec.rank < 1) throw input_error("--rank: found 0, expected 1 or more");
  spec.dtype = dtype_from_name(given.text("type"));
  spec.max_sweeps = given.at_least_one("max-sweeps");
  spec.tolerance = given.get<double>("tolerance");
  if (!std::isfinite(spec.tolerance))
    throw input_error("--tolerance: found {}, expected a finite number", spec.tolerance);
  spec.seed = given.get<std::uint64_t>("seed");
  return spec;
}

const Method& method_of(const Given& given, const Registry& registry) {
  const auto id = given.text("method");
  if (id.empty())
    throw input_error(
        "expected --method, one that 'retensor list methods' prints with the operation mttkrp");
  return registry.find(id);
}

/// What would lose the model at the end of a long run.
void expect_places(const communicate::Communicator& processes, const Given& given) {
  if (processes.rank() != 0) return;
  driver::make_output(given);
  if (const auto path = given.text("checkpoint"); !path.empty())
    driver::expect_writable("checkpoint", path);
}

/// Throws InputError where the processes together have no nonzero or values whose squares no
/// number holds.
void check_values(communicate::Communicator& processes, const std::string& path, const Coo& mine) {
  double largest = mine.nnz() == 0 ? -1 : 0;
  mine.values.visit([&](const auto& values) {
    for (const double value : values) largest = std::max(largest, std::abs(value));
  });
  const communicate::Parts parts(static_cast<std::size_t>(processes.size()), 1);
  std::vector<double> all(parts.size());
  all[static_cast<std::size_t>(processes.rank())] = largest;
  processes.all_gather(std::span(all), parts);
  processes.traffic() = {};  // none of the decomposition's
  largest = *std::ranges::max_element(all);
  if (largest < 0) throw input_error("{}: the tensor has no nonzeros", path);
  cpd::check_norm(Values(std::vector{largest}));
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
  const auto& method = method_of(given, registry);
  const int every = given.at_least_one("checkpoint-every");
  expect_places(processes, given);
  const auto mine = mpi::read_share(path, spec.dtype, processes);
  check_values(processes, path, mine);
  expect_room_for_factors(mine.dims, Dims(mine.dims.size(), spec.rank), spec.dtype);
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
  sweep_to_end(processes, als, checkpoint, identity, every);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  const auto sent = mpi::sent_by_all(processes, exchanging);
  const auto imbalance = distribute::imbalance(processes, als.share());
  const auto loads = distribute::loads(processes, als.share());
  const auto found = driver::by_weight(als.model());
  if (!cpd::is_finite(found))
    throw input_error("found a model of numbers that are not finite, expected finite ones");
  if (processes.rank() != 0) return 0;
  if (const auto output = given.text("output"); !output.empty()) driver::write_model(output, found);
  std::error_code ignored;
  if (!checkpoint.empty()) std::filesystem::remove(checkpoint, ignored);
  std::cout << json{{"processes", processes.size()},
                    {"dist", name(rule)},
                    {"grid", als.share().grid},
                    {"method", method.id()},
                    {"resumed_after", resumed_after},
                    {"sweeps", als.fit().size() - resumed_after},
                    {"fit_curve", als.fit()},
                    {"weights", found.weights},
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
  } catch (const std::bad_alloc&) {
    end_all(processes, OutOfMemory("host memory does not suffice"), 3);
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
