#include "experiments/driver/commands/decomposition.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/decompose/text_params.hpp"
#include "common/io/cache.hpp"
#include "common/io/files.hpp"
#include "common/io/npz.hpp"
#include "common/io/read.hpp"
#include "experiments/driver/data/facts.hpp"
#include "experiments/driver/spec/methods.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

constexpr const char* kClear = "\r\x1b[K";  // the line of a terminal

}  // namespace

void add_decomposition_options(Options& add, const char* method, const SweepLimits& standard) {
  add("starts", number("N", 1), "initial factors to try, with the seeds SEED, SEED + 1, ...");
  add("method", word("METHOD"), method);
  add("no-trial", flag(), "let the planner choose without a trial");
  add("params", word("TEXT"), "parameters of the method, \"name=value name=value\"");
  add("max-sweeps", number("N", standard.max_sweeps), "largest number of sweeps");
  add("tolerance",
      po::value<double>()->value_name("X")->default_value(standard.tolerance,
                                                          fmt::format("{}", standard.tolerance)),
      "also stop after a sweep that improves the fit by less than this");
  add("seed", number("N", standard.seed), "seed of the initial factors");
  add("output", word("DIR"), "folder for the model: model.npz and text files");
  add.locations();
  add.json();
}

SweepLimits limits_of(const Given& given) {
  const SweepLimits limits{given.get<int>("max-sweeps"), given.get<double>("tolerance"),
                           given.get<std::uint64_t>("seed")};
  if (limits.max_sweeps < 1)
    throw input_error("--max-sweeps: found {}, expected 1 or more", limits.max_sweeps);
  if (!std::isfinite(limits.tolerance) || limits.tolerance < 0)
    throw input_error("--tolerance: found {}, expected 0 or more", limits.tolerance);
  return limits;
}

int starts_of(const Given& given, cpd::Start law) {
  const int starts = given.at_least_one("starts");
  if (law == cpd::Start::nvecs && starts > 1)
    throw input_error(
        "--starts: found {}, expected 1: --start nvecs begins with the same factors every time",
        starts);
  return starts;
}

constexpr const char* kStartColumns = "{:>5}  {:>10}  {:>6}  {:>9}  {:<10}";

std::string starts_head() {
  return fmt::format(kStartColumns, "start", "seed", "sweeps", "fit", "stopped by");
}

std::string start_columns(int number, std::uint64_t seed, std::size_t sweeps, double fit,
                          const char* stopped_by) {
  return fmt::format(kStartColumns, number, seed, sweeps, fmt::format("{:.6f}", fit), stopped_by);
}

std::string best_line(int number, double fit) {
  return fmt::format("best: start {}, fit {:.6f}, relative error {:.6f}\n", number, fit, 1 - fit);
}

cpd::Place solve_of(const Given& given) {
  const auto place =
      place_among(std::array{"host", "device"}, given.text("solve"), "--solve: found");
  return place == 1 ? cpd::Place::device : cpd::Place::host;
}

std::optional<DType> type_of(const Given& given) {
  const auto word = given.text("type");
  return word.empty() ? std::optional<DType>() : dtype_from_name(word);
}

namespace {

std::shared_ptr<const Coo> in_type(std::shared_ptr<const Coo> tensor, std::optional<DType> type) {
  if (!type || tensor->dtype() == *type) return tensor;
  auto other = *tensor;
  other.values = tensor->values.cast(*type);
  return std::make_shared<const Coo>(std::move(other));
}

std::shared_ptr<const Coo> read_in_type(const std::string& name, const Given& given,
                                        std::optional<DType> type) {
  const auto datasets = given.registry();
  const auto& dataset = datasets.find(name);
  const bool is_path = dataset.kind == "file";
  if (is_path && type == DType::f64) {
    ReadOptions options;
    options.dtype = *type;
    return std::make_shared<const Coo>(read_tensor(dataset.file, options));
  }
  return in_type(datasets.obtain(datasets.with_facts(name), given.cache()), type);
}

}  // namespace

std::shared_ptr<const Coo> tensor_of(const Given& given, std::optional<DType> type) {
  const auto name = given.positional("a data set or a tensor file");
  const auto datasets = given.registry();
  auto tensor = read_in_type(name, given, type);
  if (tensor->nnz() == 0) throw input_error("{}: the tensor has no nonzeros", name);
  const auto terms = datasets.restriction(tensor->dims, tensor->nnz());
  if (const auto output = given.text("output"); !output.empty() && !terms.empty())
    std::cerr << fmt::format("{}: from a tensor of {}\n", output, terms);
  return tensor;
}

void expect_writable(const std::string& option, const fs::path& path) {
  try {
    const AtomicFile probe(path.string());  // leaves nothing behind
  } catch (const std::runtime_error& e) {
    throw input_error("--{}: {}", option, e.what());
  }
}

void make_output(const Given& given) {
  const fs::path folder = given.text("output");
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw input_error("--output: found {}, expected a folder or a place for a new one ({})",
                      folder.string(), error.message());
  expect_writable("output", folder / "model.npz");
}

void remove_older_model(const fs::path& folder, std::size_t order, const char* foreign) {
  fs::remove(folder / foreign);
  for (auto m = order; m < kMaxOrder; ++m) fs::remove(folder / factor_file(m));
}

std::string factor_file(std::size_t mode) {
  return fmt::format("factor-{}.txt", mode);
}

std::string written(const std::string& output) {
  return output.empty() ? "" : fmt::format("model.npz and text files are in {}\n", output);
}

TakenMethod taken_method(const Given& given, const Registry& registry, const ProblemSpec& spec,
                         std::shared_ptr<const Coo> tensor, double calls,
                         const advise::Allowed& allowed) {
  const auto asked = given.text("method");
  auto params = cpd::params_in(given.text("params"));
  if (!asked.empty() && asked != kAutoMethod)
    return {.method = of_registry(registry.find(asked)), .params = std::move(params)};
  if (!params.empty())
    throw input_error("--params: found parameters without the --method that has them");
  // What the registry knows is known of single precision alone.
  const auto checksum = [&] {
    if (tensor->dtype() == DType::f64) return content_sha256(*tensor);
    const auto datasets = given.registry();
    return datasets.checksum(datasets.find(given.positional("a data set or a tensor file")),
                             given.cache());
  };
  const auto facts = kept_facts(given.cache(), checksum(), [&] { return tensor; });
  auto planned = std::make_shared<const advise::Planned>(
      advise::advise_here(registry, Problem::outline(spec, tensor), facts, {calls}, allowed),
      advise::Wish{calls}, !given.flag("no-trial"));
  return {.method = planned,
          .note = fmt::format("chosen for {:g} call{}", calls, calls == 1 ? "" : "s"),
          .planned = std::move(planned)};
}

std::string TakenMethod::why() const {
  if (planned == nullptr) return note;
  const auto& chosen = planned->choice().params;
  auto text = fmt::format("{}{}{}", note, chosen.empty() ? "" : ", ", chosen);
  if (!planned->trial_text().empty())
    text += fmt::format(", after a trial of {}: {}", duration_text(planned->trial_seconds()),
                        planned->trial_text());
  return text;
}

double TakenMethod::trial_beside_winner() const {
  if (planned == nullptr || planned->trial_text().empty()) return 0;
  return planned->trial_seconds() - planned->choice().forecast.prepare_seconds();
}

std::shared_ptr<const Method> of_registry(const Method& method) {
  return {std::shared_ptr<void>(), &method};
}

FitProgress::FitProgress(bool quiet, std::string run, std::size_t max_sweeps)
    : quiet_(quiet),
      redraws_(isatty(STDERR_FILENO) == 1),
      run_(std::move(run)),
      max_sweeps_(max_sweeps) {}

FitProgress::~FitProgress() {
  if (redraws_ && !quiet_) std::cerr << kClear << std::flush;
}

void FitProgress::show(const std::vector<double>& fit) {
  const auto now = std::chrono::steady_clock::now();
  if (quiet_ || (!redraws_ && now - shown_ < std::chrono::seconds(1))) return;
  shown_ = now;
  const double gain = fit.size() > 1 ? fit.back() - fit[fit.size() - 2] : 0;
  std::cerr << (redraws_ ? kClear : "")
            << fmt::format("{}: sweep {} of at most {}, fit {:.6f}, gain {:.1e}", run_, fit.size(),
                           max_sweeps_, fit.back(), gain)
            << (redraws_ ? "" : "\n") << std::flush;
}

void write_text(const std::filesystem::path& path, const Matrix& matrix) {
  std::string text;
  const int digits = matrix.dtype() == DType::f32 ? std::numeric_limits<float>::max_digits10
                                                  : std::numeric_limits<double>::max_digits10;
  for (std::uint64_t i = 0; i < matrix.rows(); ++i)
    for (std::uint64_t j = 0; j < matrix.cols(); ++j)
      text += fmt::format("{:.{}g}{}", matrix.at(i, j), digits, j + 1 < matrix.cols() ? ' ' : '\n');
  write_file(path, text);
}

void write_text(const std::filesystem::path& path, const std::vector<double>& numbers) {
  std::string text;
  for (const auto number : numbers) text += fmt::format("{:.17g}\n", number);
  write_file(path, text);
}

KruskalModel by_weight(const KruskalModel& model) {
  std::vector<std::size_t> order(model.weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return model.weights[a] > model.weights[b]; });
  auto sorted = model;
  for (std::size_t r = 0; r < order.size(); ++r) {
    sorted.weights[r] = model.weights[order[r]];
    for (std::size_t m = 0; m < model.factors.size(); ++m)
      for (std::uint64_t i = 0; i < model.factors[m].rows(); ++i)
        sorted.factors[m].set(i, r, model.factors[m].at(i, order[r]));
  }
  return sorted;
}

void write_arrays(const fs::path& path, const KruskalModel& model) {
  NpzWriter npz(path.string());
  npz.add("weights", model.weights);
  npz.add("fit", model.fit);
  for (std::size_t m = 0; m < model.factors.size(); ++m)
    npz.add(fmt::format("factor_{}", m), model.factors[m]);
  npz.commit();
}

void write_model(const fs::path& folder, const KruskalModel& model) {
  remove_older_model(folder, model.factors.size(), "core.tns");
  write_text(folder / "weights.txt", model.weights);
  write_text(folder / "fit.txt", model.fit);
  for (std::size_t m = 0; m < model.factors.size(); ++m)
    write_text(folder / factor_file(m), model.factors[m]);
  write_arrays(folder / "model.npz", model);
}

}  // namespace retensor::driver
