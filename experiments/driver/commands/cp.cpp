// retensor cp: a CP decomposition by alternating least squares, from several starts.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/core/error.hpp"
#include "common/decompose/als.hpp"
#include "common/decompose/starts.hpp"
#include "common/decompose/text_params.hpp"
#include "common/device/device.hpp"
#include "common/io/npz.hpp"
#include "common/measure/timing.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/commands/decomposition.hpp"
#include "experiments/driver/run/progress.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

struct Start {
  std::uint64_t seed = 0;
  KruskalModel model;
  bool converged = false;
  double true_fit = 0;       ///< by a pass over the nonzeros in double precision
  double seconds = 0;        ///< to the end of the sweeps
  double sweep_seconds = 0;  ///< of a sweep, mean
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The default of the fastest backend that this machine has.
const Method& default_method(const Registry& registry) {
  const Method* best = nullptr;
  for (const auto& method : registry.methods())
    if (method->is_default_of_passes() && method->runs_here().ok &&
        (best == nullptr || method->backend() == Backend::cuda))
      best = method.get();
  if (best == nullptr) throw LogicError("no method is the default of passes");
  return *best;
}

/// What stands before the first dot of an id.
std::string_view module_of(const Method& method) {
  return method.id().substr(0, method.id().find('.'));
}

/// The method of MTTKRP; the default where the planner has none for the tensor.
TakenMethod method_of(const Given& given, const Registry& registry, ProblemSpec spec,
                      std::shared_ptr<const Coo> tensor) {
  spec.operation = Operation::mttkrp_all;
  const double calls = static_cast<double>(spec.max_sweeps) * given.get<int>("starts");
  // Sweeps stay on the device with the methods beside its default alone; with others factors cross
  // the bus for every mode, which takes longer than their MTTKRP.
  const auto stays = [&, standard = module_of(default_method(registry))](const Method& method) {
    return given.text("solve") == "host" || method.backend() == Backend::cpu ||
           module_of(method) == standard;
  };
  try {
    return taken_method(given, registry, spec, std::move(tensor), calls, stays);
  } catch (const InputError&) {
    if (!given.text("method").empty() || !given.text("params").empty()) throw;
    return {&default_method(registry), {}, "the planner has no rows for this tensor"};
  }
}

ProblemSpec spec_of(const Given& given) {
  const auto limits = limits_of(given);
  ProblemSpec spec;
  spec.operation = Operation::cpd;
  spec.rank = given.get<std::uint64_t>("rank");
  if (spec.rank < 1) throw InputError("expected --rank, the number of components, 1 or more");
  spec.dtype = dtype_from_name(given.text("type"));
  spec.max_sweeps = limits.max_sweeps;
  spec.tolerance = limits.tolerance;
  spec.seed = limits.seed;
  return spec;
}

cpd::Place place_of(const Given& given, const Method& method) {
  const auto name = given.text("solve");
  if (name != "host" && name != "device")
    throw InputError(fmt::format("--solve: found '{}', expected host or device", name));
  return name == "device" && method.backend() == Backend::cuda ? cpd::Place::device
                                                               : cpd::Place::host;
}

/// Sweeps from the factors that the seed draws.
Start run_start(cpd::Als& als, const Problem& problem, cpd::Start law, std::uint64_t seed,
                std::size_t at_once, StageTimer& timer) {
  const auto begin = std::chrono::steady_clock::now();
  als.restart(cpd::first_factors(law, problem.x().dims, problem.rank(), problem.dtype(), seed));
  if (law == cpd::Start::spread) als.spread(timer);
  const auto first = std::chrono::steady_clock::now();
  while (!als.finished()) {
    const auto left = static_cast<std::size_t>(problem.spec().max_sweeps) - als.fit().size();
    als.sweep(timer, std::min(at_once, left));
  }
  const double sweeps = seconds_since(first);
  Start start{seed, als.model(), als.converged()};
  start.seconds = seconds_since(begin);
  start.sweep_seconds = sweeps / static_cast<double>(als.fit().size());
  start.true_fit = als.true_fit();
  return start;
}

/// The components in the order of their weights, the largest first.
KruskalModel by_weight(const KruskalModel& model) {
  std::vector<std::size_t> order(model.weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return model.weights[a] > model.weights[b];
  });
  auto sorted = model;
  for (std::size_t r = 0; r < order.size(); ++r) {
    sorted.weights[r] = model.weights[order[r]];
    for (std::size_t m = 0; m < model.factors.size(); ++m)
      for (std::uint64_t i = 0; i < model.factors[m].rows(); ++i)
        sorted.factors[m].set(i, r, model.factors[m].at(i, order[r]));
  }
  return sorted;
}

void write_model(const fs::path& folder, const KruskalModel& model) {
  fs::create_directories(folder);
  NpzWriter npz((folder / "model.npz").string());
  npz.add("weights", model.weights);
  npz.add("fit", model.fit);
  write_text(folder / "weights.txt", model.weights);
  write_text(folder / "fit.txt", model.fit);
  for (std::size_t m = 0; m < model.factors.size(); ++m) {
    npz.add(fmt::format("factor_{}", m), model.factors[m]);
    write_text(folder / fmt::format("factor-{}.txt", m), model.factors[m]);
  }
  npz.commit();
}

json to_json(const Start& start) {
  return {{"seed", start.seed},
          {"sweeps", start.model.fit.size()},
          {"fit", start.true_fit},
          {"fit_curve", start.model.fit},
          {"weights", by_weight(start.model).weights},
          {"stopped_by", start.converged ? "tolerance" : "max-sweeps"},
          {"seconds", start.seconds},
          {"sweep_seconds", start.sweep_seconds}};
}

constexpr const char* kColumns = "{:>5}  {:>10}  {:>6}  {:>9}  {:<10}  {:<8}  {}\n";

std::string line_of(int number, const Start& start) {
  return fmt::format(kColumns, number, start.seed, start.model.fit.size(),
                     fmt::format("{:.6f}", start.true_fit),
                     start.converged ? "tolerance" : "max-sweeps", duration_text(start.seconds),
                     duration_text(start.sweep_seconds));
}

int cp_command(const Given& given) {
  const auto registry = all_methods();
  const auto spec = spec_of(given);
  auto seed = spec.seed;
  const auto starts = given.get<int>("starts");
  if (starts < 1) throw InputError(fmt::format("--starts: found {}, expected 1 or more", starts));
  const auto at_once = given.get<int>("check-every");
  if (at_once < 1)
    throw InputError(fmt::format("--check-every: found {}, expected 1 or more", at_once));
  const auto law = cpd::start_from_name(given.text("start"));
  const auto tensor = tensor_of(given);
  const auto taken = method_of(given, registry, spec, tensor);
  const auto& method = *taken.method;
  const Problem problem(spec, tensor);
  const auto begin = std::chrono::steady_clock::now();
  cpd::Als als(problem, method, taken.params, place_of(given, method));
  const double prepared = seconds_since(begin);
  const auto timer =
      method.backend() == Backend::cpu ? make_host_timer() : device::make_event_timer();
  const char* const place = als.place() == cpd::Place::device ? "device" : "host";
  const bool as_json = given.flag("json");
  if (!as_json)
    std::cout << fmt::format("MTTKRP by {}{}, factors on the {}, prepared in {}\n", method.id(),
                             taken.why.empty() ? "" : " (" + taken.why + ")", place,
                             duration_text(prepared))
              << fmt::format(kColumns, "start", "seed", "sweeps", "fit", "stopped by", "time",
                             "a sweep");
  json list = json::array();
  std::optional<Start> best;
  int best_number = 0;
  for (int number = 1; number <= starts; ++number, ++seed) {
    auto start = run_start(als, problem, law, seed, static_cast<std::size_t>(at_once), *timer);
    list.push_back(to_json(start));
    if (!as_json) std::cout << line_of(number, start) << std::flush;
    if (best && !(start.true_fit > best->true_fit)) continue;
    best = std::move(start);
    best_number = number;
    if (const auto output = given.text("output"); !output.empty())
      write_model(output, by_weight(best->model));
  }
  if (as_json)
    std::cout << json{{"method", method.id()}, {"factors_on", place}, {"prepare_seconds", prepared},
                      {"rank", spec.rank},     {"starts", list},      {"best", best_number - 1}}
                     .dump(2)
              << '\n';
  else if (starts > 1)
    std::cout << fmt::format("best: start {}, fit {:.6f}\n", best_number, best->true_fit);
  return 0;
}

}  // namespace

Interface cp_interface() {
  const ProblemSpec standard;
  const Usage usage{
      "cp TENSOR",
      "Computes a CP decomposition of a tensor (data set or file) by alternating least squares and "
      "prints the fit that each start reaches: 1 - |X - model| / |X|. --output writes the best "
      "model, its components in the order of their weights: model.npz holds weights, factor_0, "
      "factor_1, ... and the fit after each sweep; weights.txt, factor-0.txt, ... and fit.txt hold "
      "the same as text.",
      "retensor cp wordnet --rank 8 --starts 3 --output out/cp", 1};
  po::options_description options;
  auto add = options.add_options();
  add("rank", po::value<std::uint64_t>()->value_name("R"), "number of components");
  add("starts", number("N", 1), "initial factors to try, with the seeds SEED, SEED + 1, ...");
  add("check-every", number("N", 1),
      "sweeps between looks at the tolerance; more save a GPU waiting for the host");
  add("start", word("LAW", "spread"),
      "initial factors: signs (-1 or 1), normal, uniform in [0, 1), or spread: of signs, the "
      "orthonormal matrices next to the MTTKRP of every mode in turn");
  add("solve", word("host|device", "device"),
      "where a method of the GPU keeps factors and solves systems");
  add("type", word("f32|f64", "f32"), "type of the values and factors");
  add_decomposition_options(
      options, "the method whose MTTKRP is used (default: auto, the one that the planner takes)",
      {standard.max_sweeps, standard.tolerance, standard.seed});
  return {usage, options, cp_command};
}

}  // namespace retensor::driver
