// Rows are gathered by case and machine, then joined by what the two sides have to agree in.
#include "experiments/driver/judge/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "common/core/rng.hpp"
#include "experiments/driver/run/noise.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// Fewer samples can't differ at the 5% level: with 3 and 3, all of one side lie above all of the
/// other by chance in 2 of 20 orders.
constexpr std::size_t kFewest = 4;
constexpr std::size_t kResamples = 2000;

void erase_path(json& object, const std::string& path) {
  std::vector<std::string> names;
  boost::split(names, path, boost::is_any_of("."));
  json* at = &object;
  for (std::size_t n = 0; n + 1 < names.size(); ++n) {
    if (!at->is_object() || !at->contains(names[n])) return;
    at = &(*at)[names[n]];
  }
  if (at->is_object()) at->erase(names.back());
}

/// What two cases have to agree in.
std::string common_part(json c, const CompareOptions& options) {
  erase_path(c, "launch");
  for (const auto& path : options.ignore) erase_path(c, path);
  if (!options.method_a.empty()) {
    c.erase("method");
    c.erase("params");
    c.erase("foreign");
  }
  return c.dump();
}

/// Parameters are compared between two methods only; elsewhere they are part of the common part.
bool params_agree(json a, json b, const CompareOptions& options) {
  if (options.method_a.empty()) return true;
  for (const auto& path : options.ignore)
    for (auto* side : {&a, &b}) erase_path(*side, path);
  const auto mine = a.value("params", json::object()), theirs = b.value("params", json::object());
  if (!mine.is_object() || !theirs.is_object()) return mine == theirs;
  for (const auto& [name, value] : mine.items())
    if (theirs.contains(name) && theirs[name] != value) return false;
  return true;
}

/// The samples of a row; empty where it has none that a ratio can be made of.
std::vector<double> samples_of(const Row& row) {
  auto samples = numbers_in(row.field("phases.run"));
  if (std::ranges::any_of(samples, [](double s) { return !(s > 0); })) return {};
  return samples;
}

std::string commit_text(const Row& row) {
  const auto& commit = row.field("git.commit");
  const auto known = commit.is_string() ? commit.get<std::string>() : std::string();
  const bool dirty = row.field("git.dirty") == true;
  return fmt::format("{:.12}{}", known.empty() ? "unknown" : known, dirty ? " with changes" : "");
}

/// The measurements of one side by their common part.
using Groups = std::map<std::string, std::vector<MeasuredPtr>>;

Groups group(std::vector<Measured> rows, const CompareOptions& options) {
  const auto identity = [](const Measured& m) {
    return std::tie(m.case_text, m.device, m.machine);
  };
  std::ranges::stable_sort(
      rows, [&](const Measured& a, const Measured& b) { return identity(a) < identity(b); });
  Groups groups;
  for (auto row = rows.begin(); row != rows.end();) {
    auto m = std::make_shared<Measured>(std::move(*row));
    for (++row; row != rows.end() && identity(*row) == identity(*m); ++row) m->add(std::move(*row));
    groups[common_part(m->row_case(), options)].push_back(std::move(m));
  }
  return groups;
}

bool same_model(const Measured& a, const Measured& b) {
  return a.device == b.device;
}

bool same_machine(const Measured& a, const Measured& b) {
  const bool unknown = a.machine.empty() || b.machine.empty();
  return same_model(a, b) && (unknown || a.machine == b.machine);
}

/// With its fingerprint, where that is known.
std::string machine_text(const Measured& m) {
  return machine_label(m.device, m.machine, true);
}

/// `calibration` null: the machine has none, or the sides are of two.
Change judge(const Pair& pair, double threshold, const Calibration* calibration) {
  if (std::min(pair.a->count(), pair.b->count()) < kFewest) return Change::too_few;
  if (calibration != nullptr) {
    const bool noisy = !pair.a->noise.empty() || !pair.b->noise.empty();
    const auto& rule = calibration->rule(std::min(pair.a->samples.size(), pair.b->samples.size()));
    if (noisy) return Change::too_noisy;
    if (!rule.threshold) return Change::undecided;
    threshold = std::max(threshold, *rule.threshold);
  }
  if (pair.ratio.ci_low > 1 && pair.ratio.value > 1 + threshold) return Change::slower;
  if (pair.ratio.ci_high < 1 && pair.ratio.value < 1 - threshold) return Change::faster;
  return Change::none;
}

Pair pair_of(const MeasuredPtr& a, const MeasuredPtr& b, const CompareOptions& options,
             std::set<std::string>& rules) {
  Pair pair{a, b, {}, Change::none};
  if (!pair.ok()) return pair;
  pair.ratio = ratio_of_medians(b->samples, a->samples);
  const auto* calibration = pair.one_machine()
                                ? calibration_of(options.calibrations, a->device,
                                                 a->machine.empty() ? b->machine : a->machine)
                                : nullptr;
  pair.change = judge(pair, options.threshold, calibration);
  rules.insert(calibration != nullptr
                   ? rule_text(*calibration)
                   : fmt::format("{}: differences count beyond {:g}%; it is not calibrated",
                                 machine_text(*a), 100 * options.threshold));
  return pair;
}

/// Pairs measurements that agree in their common part; the rest goes to only_a and only_b.
void join(const std::vector<MeasuredPtr>& as, const std::vector<MeasuredPtr>& bs,
          const CompareOptions& options, Comparison& result) {
  std::vector<std::pair<MeasuredPtr, MeasuredPtr>> found;
  for (const auto& a : as)
    for (const auto& b : bs)
      if (params_agree(a->row_case(), b->row_case(), options)) found.emplace_back(a, b);
  // Two machines of a model before two models, and one machine before both: of a model, a side that
  // meets itself on its machine meets no other.
  const auto across = [](const auto& p) { return !same_model(*p.first, *p.second); };
  if (!std::ranges::all_of(found, across)) std::erase_if(found, across);
  std::set<MeasuredPtr> met;
  for (const auto& [a, b] : found)
    if (same_machine(*a, *b)) met.insert({a, b});
  std::erase_if(found, [&](const auto& p) {
    return !same_machine(*p.first, *p.second) && (met.contains(p.first) || met.contains(p.second));
  });
  std::set<MeasuredPtr> paired;
  for (const auto& [a, b] : found) {
    result.pairs.push_back(pair_of(a, b, options, result.rules));
    paired.insert({a, b});
  }
  const auto is_alone = [&](const MeasuredPtr& m) { return !paired.contains(m); };
  std::ranges::copy_if(as, std::back_inserter(result.only_a), is_alone);
  std::ranges::copy_if(bs, std::back_inserter(result.only_b), is_alone);
}

bool share_an_artifact(const Side& a, const Side& b) {
  return std::ranges::any_of(b.artifacts,
                             [&](const std::string& name) { return a.artifacts.contains(name); });
}

}  // namespace

Measured::Measured(const Row& row)
    : key(row.key()),
      device(row.device()),
      commit(commit_text(row)),
      machine(row.machine()),
      noise(noise_text(row.line())) {
  auto c = row.row_case();
  if (c.contains("launch")) launch = c["launch"].dump();
  c.erase("launch");
  case_text = c.dump();
  const auto& flag = row.field("clock_flag");
  drifted = flag.is_boolean() && flag.get<bool>();
  if (auto found = samples_of(row); row.ok() && !found.empty())
    samples.push_back(std::move(found));
  else
    failure = row.ok() ? "no samples" : row.failure();
}

json Measured::row_case() const {
  auto c = json::parse(case_text);
  if (!launch.empty()) c["launch"] = json::parse(launch);
  return c;
}

void Measured::add(Measured other) {
  drifted = drifted || other.drifted;
  if (noise.empty()) noise = std::move(other.noise);
  if (failure.empty()) failure = std::move(other.failure);
  std::move(other.samples.begin(), other.samples.end(), std::back_inserter(samples));
}

Side::Side(const CompareOptions& options, std::string of)
    : method(std::move(of)), ignore_(options.ignore) {}

void Side::add(const Row& row) {
  methods.insert(row.method());
  artifacts.insert(text_of(row.row_case(), "artifact"));
  for (const auto& path : ignore_)
    if (!field(row.row_case(), path).is_null()) ignored.insert(path);
  if (!method.empty() && row.method() != method) return;
  ++rows;
  const auto& m = measured.emplace_back(row);
  machines.insert(m.device);
  commits.insert(m.commit);
}

std::optional<Ratio> Comparison::mean_ratio() const {
  std::vector<double> logs;
  for (const auto& pair : pairs)
    if (pair.ok()) logs.push_back(std::log(pair.ratio.value));
  if (logs.empty()) return std::nullopt;
  const auto mean = [&](const auto& pick) {
    double sum = 0;
    for (std::size_t k = 0; k < logs.size(); ++k) sum += logs[pick(k)];
    return std::exp(sum / static_cast<double>(logs.size()));
  };
  const CounterRng rng(1);
  std::vector<double> resampled(kResamples);
  for (std::size_t r = 0; r < kResamples; ++r)
    resampled[r] = mean([&](std::size_t k) {
      return static_cast<std::size_t>(rng.below(r * logs.size() + k, logs.size()));
    });
  std::ranges::sort(resampled);
  return Ratio{mean([](std::size_t k) { return k; }), resampled[kResamples / 40],
               resampled[kResamples - 1 - kResamples / 40]};
}

std::size_t Measured::count() const {
  std::size_t total = 0;
  for (const auto& seconds : samples) total += seconds.size();
  return total;
}

bool Pair::one_machine() const {
  return same_machine(*a, *b) && a->device != kUnknownDevice;
}

json ratio_json(const Ratio& ratio) {
  return {{"ratio", ratio.value}, {"ci_low", ratio.ci_low}, {"ci_high", ratio.ci_high}};
}

std::string name(Change change) {
  constexpr std::array kNames = {"none",      "faster",   "slower", "too few samples",
                                 "too noisy", "undecided"};
  return kNames.at(static_cast<std::size_t>(change));
}

std::vector<std::string> Comparison::warnings() const {
  std::map<std::string, int> machines;
  int drifting = 0, noisy = 0;
  std::string noise;
  for (const auto& pair : pairs) {
    for (const auto& side : {pair.a, pair.b})
      if (noise.empty()) noise = side->noise;
    noisy += !pair.a->noise.empty() || !pair.b->noise.empty();
    if (!pair.one_machine())
      ++machines[fmt::format("A on {}, B on {}", machine_text(*pair.a), machine_text(*pair.b))];
    drifting += pair.a->drifted || pair.b->drifted;
  }
  std::vector<std::string> lines;
  for (const auto& [which, pairs_of_it] : machines)
    lines.push_back(
        fmt::format("different machines in {} of {} pairs: {}", pairs_of_it, pairs.size(), which));
  if (drifting > 0)
    lines.push_back(
        fmt::format("clocks drifted by more than 2% in {} of {} pairs", drifting, pairs.size()));
  if (noisy > 0)
    lines.push_back(
        fmt::format("noisy samples in {} of {} pairs, the first: {}", noisy, pairs.size(), noise));
  return lines;
}

bool Comparison::worse() const {
  return std::ranges::any_of(pairs, [](const Pair& pair) {
    return pair.change == Change::slower || (pair.a->failure.empty() && !pair.b->failure.empty());
  });
}

bool Comparison::undecided() const {
  return std::ranges::any_of(pairs,
                             [](const Pair& pair) { return pair.change == Change::undecided; });
}

Comparison compare_sides(Side& a, Side& b, const CompareOptions& given) {
  auto options = given;
  if (!share_an_artifact(a, b)) options.ignore.emplace_back("artifact");
  const auto of_a = group(std::move(a.measured), options);
  auto of_b = group(std::move(b.measured), options);
  Comparison result;
  result.ignored = options.ignore;
  for (const auto& [part, measured] : of_a) {
    const auto partners = of_b.extract(part);
    join(measured, partners ? partners.mapped() : std::vector<MeasuredPtr>(), options, result);
  }
  for (const auto& [part, measured] : of_b) join({}, measured, options, result);
  return result;
}

}  // namespace retensor::driver
