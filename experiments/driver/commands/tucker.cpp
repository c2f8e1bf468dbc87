// retensor tucker: a Tucker decomposition with the TTM-chain of a method.
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/decompose/finite.hpp"
#include "common/decompose/hooi.hpp"
#include "common/decompose/text_params.hpp"
#include "common/io/npz.hpp"
#include "common/io/tns.hpp"
#include "common/machine/room.hpp"
#include "common/run/all_modes.hpp"
#include "common/tensor/semi_sparse.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/commands/decomposition.hpp"

namespace retensor::driver {
namespace {

/// Values of a dense tensor, its last mode fastest, as a file of coordinates.
void write_dense(const std::filesystem::path& path, const Dims& dims, const Values& values) {
  SemiSparseCoo dense{dims, {}, {}, values};
  for (int m = 0; m < dense.order(); ++m) dense.dense_modes.push_back(m);
  write_tns(path.string(), dense.to_coo());
}

void write_model(const std::filesystem::path& folder, const Dims& ranks,
                 const tucker::Model& model) {
  remove_older_model(folder, model.factors.size(), "weights.txt");
  NpzWriter npz((folder / "model.npz").string());
  npz.add("core", ranks, model.core);
  npz.add("fit", model.fit);
  write_dense(folder / "core.tns", ranks, model.core);
  write_text(folder / "fit.txt", model.fit);
  for (std::size_t m = 0; m < model.factors.size(); ++m) {
    npz.add(fmt::format("factor_{}", m), model.factors[m]);
    write_text(folder / factor_file(m), model.factors[m]);
  }
  npz.commit();
}

/// Ids of the methods that have a TTM-chain: the driver names no method.
std::vector<std::string> chain_methods(const Registry& registry) {
  std::vector<std::string> ids;
  for (const auto& method : registry.methods())
    if (method->runs_here().ok && has_operation(*method, Operation::ttm_chain))
      ids.emplace_back(method->id());
  return ids;
}

tucker::Settings settings_of(const Given& given) {
  const auto limits = limits_of(given);
  const tucker::Settings settings{given.get<Dims>("ranks"),
                                  limits.max_sweeps,
                                  limits.tolerance,
                                  limits.seed,
                                  cpd::start_from_name(given.text("start")),
                                  tucker::solver_from_name(given.text("eigenvectors"))};
  if (settings.ranks.empty()) throw input_error("expected --ranks, one for each mode");
  for (const auto rank : settings.ranks)
    if (rank < 1) throw input_error("--ranks: found {}, expected 1 or more for each mode", rank);
  return settings;
}

/// The method of the TTM-chain, none for sweeps on the device, which have one of their own; without
/// the planner's word on it users have to name one.
TakenMethod chain_of(const Given& given, const Registry& registry, const tucker::Settings& settings,
                     std::shared_ptr<const Coo> tensor, int starts) {
  const bool is_named = !given.text("method").empty() || !given.text("params").empty();
  if (settings.solver != tucker::Solver::syevd && solve_of(given) == cpd::Place::host)
    throw input_error("--eigenvectors is of --solve device, found --solve host");
  if (solve_of(given) == cpd::Place::device) {
    if (is_named)
      throw input_error("--solve device has a TTM-chain of its own, expected no --method");
    return {};
  }
  const auto spec = tucker::chain_spec(settings.ranks, 0, tensor->dtype());
  try {
    return taken_method(given, registry, spec, std::move(tensor),
                        static_cast<double>(settings.max_sweeps) * starts *
                            static_cast<double>(settings.ranks.size()));
  } catch (const InputError& e) {
    if (is_named) throw;
    throw input_error("expected --method, one of {} ({})", in_words(chain_methods(registry), "or"),
                      e.what());
  }
}

struct HooiStart {
  int number;
  std::uint64_t seed;
  bool converged;
  tucker::Model model;
  double fit() const { return model.fit.back(); }
  /// Whether the fit is that of a model: of NaN it would be anything.
  bool is_finite() const {
    return std::isfinite(fit()) && cpd::is_finite(model.factors) && cpd::is_finite(model.core);
  }
  const char* stopped_by() const { return converged ? "tolerance" : "max-sweeps"; }
};

nlohmann::json json_of(const HooiStart& start) {
  return {{"seed", start.seed},
          {"sweeps", start.model.fit.size()},
          {"fit", start.fit()},
          {"fit_curve", start.model.fit},
          {"stopped_by", start.stopped_by()}};
}

/// What is told of sweeps: the fit of each of a single start, a line for each of several.
class Told {
 public:
  Told(bool as_json, int starts)
      : sweeps_(!as_json && starts == 1), starts_(!as_json && starts > 1) {}
  void head(const std::string& method, const std::string& why) const {
    if ((sweeps_ || starts_) && !why.empty())
      std::cout << fmt::format("TTM-chain by {} ({})\n", method, why);
    if (sweeps_) std::cout << "sweep  fit\n";
    if (starts_) std::cout << starts_head() << '\n';
  }
  void sweep(const std::vector<double>& fit) const {
    if (sweeps_) std::cout << fmt::format("{:<5}  {:.6f}\n", fit.size(), fit.back()) << std::flush;
  }
  void start(const HooiStart& start) const {
    if (starts_)
      std::cout << start_columns(start.number, start.seed, start.model.fit.size(), start.fit(),
                                 start.stopped_by())
                << std::endl;
  }
  void best(const HooiStart& start) const {
    if (starts_) std::cout << best_line(start.number, start.fit());
  }

 private:
  const bool sweeps_, starts_;
};

HooiStart swept(tucker::Hooi& hooi, int number, std::uint64_t seed, const Told& told) {
  const auto& fit = hooi.model().fit;  // a model in between would come from the device
  while (!hooi.finished()) {
    hooi.sweep();
    told.sweep(fit);
  }
  return {number, seed, hooi.converged(), hooi.model()};
}

/// The best of the starts, which is written as soon as it is known; appends all to `list`.
HooiStart best_of(std::shared_ptr<const Coo> tensor, const tucker::Settings& settings, int starts,
                  const TakenMethod& taken, const std::string& output, const Told& told,
                  nlohmann::json& list) {
  std::optional<HooiStart> best;
  for (int number = 1; number <= starts; ++number) {
    // Factors are drawn where chains are prepared, so that each start does both.
    auto from = settings;
    from.seed += static_cast<std::uint64_t>(number - 1);
    tucker::Hooi hooi = taken.method == nullptr
                            ? tucker::Hooi(tensor, from)
                            : tucker::Hooi(tensor, from, *taken.method, taken.params);
    if (number == 1)
      told.head(taken.method == nullptr ? "" : std::string(taken.method->id()), taken.why());
    auto start = swept(hooi, number, from.seed, told);
    told.start(start);
    list.push_back(json_of(start));
    if (!start.is_finite() || (best && !(start.fit() > best->fit()))) continue;
    best = std::move(start);
    if (!output.empty()) write_model(output, settings.ranks, best->model);
  }
  if (!best)
    throw input_error("found no start whose model has only finite numbers, expected one or more");
  return std::move(*best);
}

int tucker_command(const Given& given) {
  const auto registry = all_methods();
  const auto settings = settings_of(given);
  const int starts = starts_of(given, settings.start);
  const auto tensor = tensor_of(given, type_of(given));
  cpd::check_norm(tensor->values);
  make_output(given);
  expect_room_for_factors(tensor->dims, settings.ranks, tensor->dtype());
  const auto taken = chain_of(given, registry, settings, tensor, starts);
  const std::string method(taken.method == nullptr ? "" : taken.method->id());
  const bool as_json = given.flag("json");
  const Told told(as_json, starts);
  auto list = nlohmann::json::array();
  const auto output = given.text("output");
  const auto best = best_of(tensor, settings, starts, taken, output, told, list);
  told.best(best);
  if (as_json)
    std::cout << nlohmann::json{{"method", method},
                                {"solve", given.text("solve")},
                                {"ranks", settings.ranks},
                                {"fit", best.model.fit},
                                {"stopped_by", best.stopped_by()},
                                {"starts", list},
                                {"best", best.number - 1}}
                     .dump(2)
              << '\n';
  else
    std::cout << written(output);
  return 0;
}

}  // namespace

Interface tucker_interface() {
  const auto methods = chain_methods(all_methods());
  const tucker::Settings standard;
  const Usage usage{
      "tucker TENSOR",
      "Computes a Tucker decomposition of a tensor (data set or file) by higher-order orthogonal "
      "iteration and prints the fit after each sweep, or with several starts the one that each "
      "reaches: 1 - |X - model| / |X|. --output writes the best model: model.npz holds core, "
      "factor_0, factor_1, ... and fit; core.tns, factor-0.txt, ... "
      "and fit.txt hold the same as text.",
      fmt::format("retensor tucker wordnet --ranks 8 4 8 --method {} --output out/tucker",
                  methods.empty() ? "METHOD" : methods.front()),
      1};
  Options add;
  add("ranks", po::value<Dims>()->multitoken()->value_name("R..."),
      "mode lengths of the core, one for each mode");
  add("type", word("f32|f64"),
      "type of the values and factors (default: f32, or that of a .tnsb file); data sets of the "
      "registry are kept in f32");
  add("start", word("LAW", "normal"),
      "initial factors: bases of normal columns, or nvecs (leading left singular vectors of the "
      "unfoldings)");
  add("solve", word("host|device", "host"),
      "where the sweeps run; those on the device have a TTM-chain of their own, which takes any "
      "ranks for orders 2 to 5");
  add("eigenvectors", word("NAME", "syevd"),
      "what finds eigenvectors on the device: syevd, xsyevd and syevdx of cuSOLVER, or range, a "
      "randomised range finder, which is faster for long modes and not exact");
  add_decomposition_options(
      add,
      "the method whose TTM-chain is used on the host (default: auto, the one that the "
      "planner takes)",
      {standard.max_sweeps, standard.tolerance, standard.seed});
  return {usage, add, tucker_command};
}

}  // namespace retensor::driver
