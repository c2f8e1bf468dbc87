// retensor cp: a CP decomposition by alternating least squares, from several starts.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/decompose/als.hpp"
#include "common/decompose/checkpoint.hpp"
#include "common/decompose/finite.hpp"
#include "common/decompose/starts.hpp"
#include "common/decompose/text_params.hpp"
#include "common/device/device.hpp"
#include "common/io/files.hpp"
#include "common/machine/room.hpp"
#include "common/measure/timing.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/commands/decomposition.hpp"
#include "experiments/driver/commands/file_als.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/process.hpp"
#include "experiments/driver/run/progress.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using cpd::Constraint;
using nlohmann::json;
namespace {

/// What every start shares.
struct Asked {
  explicit Asked(const Given& given);
  /// Of a start, by its number; empty for none.
  std::string checkpoint_of(int number) const {
    return checkpoint.empty() || starts == 1 ? checkpoint
                                             : fmt::format("{}.{}", checkpoint, number);
  }

  Constraint constraint;
  cpd::Start law;
  int starts, check_every, checkpoint_every, last_sweeps;
  std::string checkpoint, plot, output;
  bool quiet, as_json;
};

struct Start {
  int number = 1;
  std::uint64_t seed = 0;
  std::size_t resumed = 0;  ///< sweeps that a checkpoint held
  KruskalModel model;
  bool converged = false;
  double true_fit = 0;                ///< by a pass over the nonzeros in double precision
  double seconds = 0;                 ///< to the end of the sweeps
  std::vector<double> seconds_curve;  ///< to the end of each sweep made here
  double sweep_seconds = 0;           ///< of a sweep, mean
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The default of the fastest backend that this machine has, or of the one that is asked for.
const Method& default_method(const Registry& registry, std::optional<Backend> of = {}) {
  const Method* best = nullptr;
  for (const auto& method : registry.methods())
    if (method->is_default_of_passes() && method->runs_here().ok &&
        (!of || method->backend() == *of) &&
        (best == nullptr || method->backend() == Backend::cuda))
      best = method.get();
  if (best == nullptr) throw logic_error("no method is the default of passes");
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
    return solve_of(given) == cpd::Place::host || method.backend() == Backend::cpu ||
           module_of(method) == standard;
  };
  try {
    return taken_method(given, registry, spec, std::move(tensor), calls, stays);
  } catch (const InputError&) {
    if (!given.text("method").empty() || !given.text("params").empty()) throw;
    return {.method = of_registry(default_method(registry)),
            .note = "the planner has no rows for this tensor"};
  }
}

ProblemSpec spec_of(const Given& given) {
  const auto limits = limits_of(given);
  ProblemSpec spec;
  spec.operation = Operation::cpd;
  spec.rank = given.get<std::uint64_t>("rank");
  if (spec.rank < 1) throw input_error("expected --rank, the number of components, 1 or more");
  spec.dtype = dtype_from_name(given.text("type"));
  spec.max_sweeps = limits.max_sweeps;
  spec.tolerance = limits.tolerance;
  spec.seed = limits.seed;
  return spec;
}

/// A path whose folder exists, so that a long run does not end with a file that can't be written.
std::string file_of(const Given& given, const char* option) {
  const fs::path path = given.text(option);
  if (path.empty()) return {};
  const auto folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder) || fs::is_directory(path))
    throw input_error("--{}: found {}, expected a file in a folder that exists", option,
                      path.string());
  expect_writable(option, path);
  return path.string();
}

std::string plot_of(const Given& given) {
  const auto path = file_of(given, "plot");
  const auto kind = fs::path(path).extension();
  if (!path.empty() && kind != ".svg" && kind != ".png" && kind != ".pdf")
    throw input_error("--plot: found {}, expected a name that ends in .svg, .png or .pdf", path);
  return path;
}

cpd::Start law_of(const Given& given, Constraint constraint) {
  const auto word = given.text("start");
  if (word.empty()) return cpd::default_start(constraint);
  const auto law = cpd::start_from_name(word);
  cpd::check_start(law, constraint);
  return law;
}

Asked::Asked(const Given& given)
    : constraint(cpd::constraint_from_name(given.text("constraint"))),
      law(law_of(given, constraint)),
      starts(starts_of(given, law)),
      check_every(given.at_least_one("check-every")),
      checkpoint_every(given.at_least_one("checkpoint-every")),
      last_sweeps(given.get<int>("last-sweeps")),
      checkpoint(file_of(given, "checkpoint")),
      plot(plot_of(given)),
      output(given.text("output")),
      quiet(given.flag("quiet")),
      as_json(given.flag("json")) {
  if (last_sweeps < 0)
    throw input_error("--last-sweeps: found {}, expected 0 or more", last_sweeps);
}

/// The fit of the model at hand; NaN of a model with NaN or an infinite number, for which products
/// would say anything.
double true_fit_of(const cpd::Als& als, const KruskalModel& model) {
  return cpd::is_finite(model) ? als.true_fit() : std::numeric_limits<double>::quiet_NaN();
}

/// Sweeps from the factors that the seed draws, or from where a checkpoint is.
Start run_start(cpd::Als& als, const Problem& problem, const Asked& asked, int number,
                StageTimer& timer) {
  const auto begin = Clock::now();
  Start start;
  start.number = number;
  start.seed = problem.spec().seed + static_cast<std::uint64_t>(number - 1);
  const cpd::Checkpoint checkpoint(asked.checkpoint_of(number), problem, asked.law, start.seed,
                                   asked.constraint);
  if (const auto kept = checkpoint.load()) {
    als.resume(*kept);
  } else {
    als.restart(asked.law, start.seed);
    if (asked.law == cpd::Start::spread) als.spread(timer);
  }
  start.resumed = als.fit().size();
  FitProgress progress(asked.quiet, fmt::format("start {} of {}", number, asked.starts),
                       als.max_sweeps());
  cpd::Between between{.at_once = static_cast<std::size_t>(asked.check_every),
                       .every = static_cast<std::size_t>(asked.checkpoint_every),
                       .save = {},
                       .progress = [&] {
                         start.seconds_curve.resize(als.fit().size() - start.resumed,
                                                    seconds_since(begin));
                         progress.show(als.fit());
                       }};
  if (checkpoint) between.save = [&] { checkpoint.save(als.model()); };
  const auto first = Clock::now();
  cpd::sweep_to_end(als, timer, between);
  const double sweeps = seconds_since(first);
  start.model = als.model();
  start.converged = als.converged();
  start.seconds = seconds_since(begin);
  if (const auto made = als.fit().size() - start.resumed; made > 0) {
    start.sweep_seconds = sweeps / static_cast<double>(made);
    checkpoint.save(start.model);  // a later start that is cut short must not cost this one
  }
  start.true_fit = true_fit_of(als, start.model);
  return start;
}

/// Further sweeps from where the start ended.
void sweep_on(cpd::Als& last, int sweeps, Start& start, StageTimer& timer) {
  const auto begin = Clock::now();
  const double before = start.seconds;
  last.resume(start.model);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    last.sweep(timer);
    start.seconds_curve.push_back(before + seconds_since(begin));
  }
  start.seconds = before + seconds_since(begin);
  start.model = last.model();
  start.true_fit = true_fit_of(last, start.model);
}

/// Draws the components; returns the exit code of the Python package.
int draw(const std::string& path, const KruskalModel& model) {
  const ScratchFolder scratch;
  const auto arrays = scratch.path() / "model.npz";
  write_arrays(arrays, model);
  return run_package(
      {"components", "--model", arrays.string(), "--out", fs::absolute(path).string()},
      ChildOutput::to_stderr);
}

json to_json(const Start& start) {
  return {{"seed", start.seed},
          {"sweeps", start.model.fit.size()},
          {"resumed_after", start.resumed},
          {"fit", start.true_fit},
          {"relative_error", 1 - start.true_fit},
          {"fit_curve", start.model.fit},
          {"weights", by_weight(start.model).weights},
          {"stopped_by", start.converged ? "tolerance" : "max-sweeps"},
          {"seconds", start.seconds},
          {"seconds_curve", start.seconds_curve},
          {"sweep_seconds", start.sweep_seconds}};
}

constexpr const char* kTimeColumns = "  {:<8}  {}\n";

std::string line_of(const Start& start) {
  return start_columns(start.number, start.seed, start.model.fit.size(), start.true_fit,
                       start.converged ? "tolerance" : "max-sweeps") +
         fmt::format(kTimeColumns, duration_text(start.seconds),
                     duration_text(start.sweep_seconds));
}

/// The best of the starts, each with the last sweeps by `last` if there is one; appends all to
/// `list`. A start whose fit is NaN is none of the best.
Start best_of(cpd::Als& als, cpd::Als* last, const Problem& problem, const Asked& asked,
              StageTimer& timer, json& list) {
  std::optional<Start> best;
  for (int number = 1; number <= asked.starts; ++number) {
    auto start = run_start(als, problem, asked, number, timer);
    if (last != nullptr) sweep_on(*last, asked.last_sweeps, start, timer);
    list.push_back(to_json(start));
    if (!asked.as_json) std::cout << line_of(start) << std::flush;
    if (std::isnan(start.true_fit) || (best && !(start.true_fit > best->true_fit))) continue;
    best = std::move(start);
    if (!asked.output.empty()) write_model(asked.output, by_weight(best->model));
  }
  if (!best)
    throw input_error("found no start whose model has only finite numbers, expected one or more");
  return std::move(*best);
}

/// The one that was asked for, or the first that reads files.
const Method& method_on_disk(const Given& given, const Registry& registry) {
  if (const auto named = given.text("method"); !named.empty()) return registry.find(named);
  for (const auto& method : registry.methods())
    if (reads_files(*method)) return *method;
  throw logic_error("no method reads nonzeros from a file");
}

/// The only start of a tensor that stays in its file.
int cp_on_disk(const Given& given, const Registry& registry, const ProblemSpec& spec,
               const Asked& asked) {
  if (asked.starts > 1 || !asked.checkpoint.empty() || asked.constraint != Constraint::none ||
      asked.last_sweeps > 0)
    throw input_error(
        "--on-disk: found --starts, --checkpoint, --constraint or --last-sweeps, expected none of "
        "them");
  const auto& method = method_on_disk(given, registry);
  make_output(given);
  const auto begin = Clock::now();
  FileAls als(given.positional("a binary tensor (.tnsb)"), spec, method,
              cpd::params_in(given.text("params")));
  const double prepared = seconds_since(begin);
  const auto timer = device::make_event_timer();
  als.restart(asked.law, spec.seed, *timer);
  FitProgress progress(asked.quiet, "start 1 of 1", static_cast<std::size_t>(spec.max_sweeps));
  while (!als.finished()) {
    als.sweep(*timer);
    progress.show(als.fit());
  }
  const double seconds = seconds_since(begin);
  const auto model = by_weight(als.model());
  if (!asked.output.empty()) write_model(asked.output, model);
  if (asked.as_json)
    std::cout << json{{"method", method.id()},
                      {"executed", als.mttkrp().executed()},
                      {"start", cpd::name(asked.law)},
                      {"prepare_seconds", prepared},
                      {"seconds", seconds},
                      {"rank", spec.rank},
                      {"fit_curve", als.fit()},
                      {"weights", model.weights}}
                     .dump(2)
              << '\n';
  else
    std::cout << fmt::format("MTTKRP by {} from the file: {} in {}, fit {:.6f}\n", method.id(),
                             count_text(als.fit().size(), "sweep"), duration_text(seconds),
                             als.fit().back());
  return asked.plot.empty() ? 0 : draw(asked.plot, model);
}

void print_head(const Method& method, const std::string& why, const char* lie_on, double prepared) {
  std::cout << fmt::format("MTTKRP by {}{}, factors on the {}, prepared in {}\n", method.id(),
                           why.empty() ? "" : " (" + why + ")", lie_on, duration_text(prepared))
            << starts_head() << fmt::format(kTimeColumns, "time", "a sweep");
}

int cp_command(const Given& given) {
  const auto registry = all_methods();
  const auto spec = spec_of(given);
  const Asked asked(given);
  if (given.flag("on-disk")) return cp_on_disk(given, registry, spec, asked);
  const auto tensor = tensor_of(given, spec.dtype);
  cpd::check_norm(tensor->values);
  make_output(given);
  expect_room_for_factors(tensor->dims, Dims(tensor->dims.size(), spec.rank), spec.dtype);
  const auto asked_at = Clock::now();
  const auto taken = method_of(given, registry, spec, tensor);
  const double advised = seconds_since(asked_at);
  const auto& method = *taken.method;
  const auto place = solve_of(given);  // methods of the host keep their factors there
  const auto begin = Clock::now();
  const Problem problem(spec, tensor);
  cpd::Als als(problem, method, taken.params, place, asked.constraint);
  std::optional<cpd::Als> last;
  if (asked.last_sweeps > 0)
    last.emplace(problem, default_method(registry, method.backend()),
                 std::map<std::string, ParamValue>{}, place, asked.constraint);
  const double prepared = seconds_since(begin) - taken.trial_beside_winner();
  const double choosing = advised + taken.trial_beside_winner();
  const auto timer =
      method.backend() == Backend::cpu ? make_host_timer() : device::make_event_timer();
  const char* const lie_on = als.place() == cpd::Place::device ? "device" : "host";
  if (!asked.as_json) print_head(method, taken.why(), lie_on, prepared);
  json list = json::array();
  const Start best = best_of(als, last ? &*last : nullptr, problem, asked, *timer, list);
  if (asked.as_json)
    std::cout << json{{"method", method.id()},
                      {"factors_on", lie_on},
                      {"constraint", cpd::name(asked.constraint)},
                      {"start", cpd::name(asked.law)},
                      {"choose_seconds", choosing},
                      {"prepare_seconds", prepared},
                      {"rank", spec.rank},
                      {"starts", list},
                      {"best", best.number - 1}}
                     .dump(2)
              << '\n';
  else
    std::cout << best_line(best.number, best.true_fit) << written(asked.output);
  const int code = asked.plot.empty() ? 0 : draw(asked.plot, by_weight(best.model));
  // What was asked for is there: a later run begins anew.
  if (!asked.checkpoint.empty())
    for (int number = 1; number <= asked.starts; ++number) fs::remove(asked.checkpoint_of(number));
  return code;
}

}  // namespace

Interface cp_interface() {
  const ProblemSpec standard;
  const Usage usage{
      "cp TENSOR",
      "Computes a CP decomposition of a tensor (data set or file) by alternating least squares and "
      "prints the fit that each start reaches: 1 - |X - model| / |X|, so that the relative error "
      "is 1 - fit. --output writes the best model, its components in the order of their weights: "
      "model.npz holds weights, factor_0, factor_1, ... and the fit after each sweep; weights.txt, "
      "factor-0.txt, ... and fit.txt hold the same as text.",
      "retensor cp wordnet --rank 8 --starts 3 --output out/cp", 1};
  Options add;
  add("rank", po::value<std::uint64_t>()->value_name("R"), "number of components");
  add("check-every", number("N", 1),
      "sweeps between checks of the tolerance; with more of them a GPU waits less for the host");
  add("last-sweeps", number("N", 0),
      "further sweeps with the default method, which does not round operands; use it after a "
      "METHOD with 16-bit operands");
  add("start", word("LAW"),
      "initial factors: signs (-1 or 1), normal, uniform in [0, 1), nvecs (leading left singular "
      "vectors of the unfoldings), or spread: starts from signs and replaces each factor in turn "
      "by the orthonormal matrix nearest to its MTTKRP (default: spread, or uniform for a "
      "non-negative model)");
  add("constraint", word("none|nonnegative", "none"),
      "constraint on the factors; non-negative ones are updated by hierarchical alternating least "
      "squares (HALS)");
  add("checkpoint", word("FILE"),
      "file from which an interrupted run continues when you start it again; with several starts "
      "the number of each is appended; removed when the run ends");
  add("checkpoint-every", number("N", 10), "sweeps between checkpoints");
  add("plot", word("FILE"),
      "figure of the components with the largest weights: .svg, .png or .pdf");
  add("quiet", flag(), "print no progress");
  add("on-disk", flag(),
      "leave the nonzeros of a binary tensor (.tnsb) in its file, which each pass reads in order: "
      "for tensors larger than memory; one start, without checkpoints");
  add("solve", word("host|device", "device"),
      "where a method of the GPU keeps factors and solves systems; non-negative models of more "
      "than 256 components take the host");
  add("type", word("f32|f64", "f32"),
      "type of the values and factors; data sets of the registry are kept in f32");
  add_decomposition_options(
      add, "the method whose MTTKRP is used (default: auto, the one that the planner takes)",
      {standard.max_sweeps, standard.tolerance, standard.seed});
  return {usage, add, cp_command};
}

}  // namespace retensor::driver
