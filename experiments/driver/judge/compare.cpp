// Rows are gathered by case and machine, then joined by what the two sides have to agree in.
#include "experiments/driver/judge/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cmath>
#include <map>
#include <set>

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
  if (std::any_of(samples.begin(), samples.end(), [](double s) { return !(s > 0); })) return {};
  return samples;
}

void add_launch(Measured& m, const Row& row) {
  const auto& flag = row.field("clock_flag");
  m.drifted = m.drifted || (flag.is_boolean() && flag.get<bool>());
  if (m.noise.empty()) m.noise = noise_text(row.line());
  auto samples = samples_of(row);
  if (row.ok() && !samples.empty())
    m.samples.push_back(std::move(samples));
  else if (m.failure.empty())
    m.failure = row.ok() ? "no samples" : row.failure();
}

/// The measurements of one side by their common part.
using Groups = std::map<std::string, std::vector<Measured>>;

Groups group(const std::vector<Row>& rows, const std::string& method,
             const CompareOptions& options) {
  std::map<std::string, Measured> measured;
  for (const auto& row : rows) {
    if (!method.empty() && row.method() != method) continue;
    auto whole = row.row_case();
    whole.erase("launch");
    const auto identity = whole.dump() + row.device();
    add_launch(measured.try_emplace(identity, Measured{row, {}, {}, false, {}}).first->second, row);
  }
  Groups groups;
  for (auto& [identity, m] : measured)
    groups[common_part(m.row.row_case(), options)].push_back(std::move(m));
  return groups;
}

Change judge(const Pair& pair, double threshold) {
  if (std::min(pair.a.count(), pair.b.count()) < kFewest) return Change::too_few;
  if (pair.ratio.ci_low > 1 && pair.ratio.value > 1 + threshold) return Change::slower;
  if (pair.ratio.ci_high < 1 && pair.ratio.value < 1 - threshold) return Change::faster;
  return Change::none;
}

Pair pair_of(const Measured& a, const Measured& b, double threshold) {
  Pair pair{a, b, {}, Change::none};
  if (!pair.ok()) return pair;
  pair.ratio = ratio_of_medians(b.samples, a.samples);
  pair.change = judge(pair, threshold);
  return pair;
}

/// Pairs measurements that agree in their common part; the rest goes to only_a and only_b.
void join(const std::vector<Measured>& as, const std::vector<Measured>& bs,
          const CompareOptions& options, Comparison& result) {
  std::vector<std::pair<const Measured*, const Measured*>> found;
  for (const auto& a : as)
    for (const auto& b : bs)
      if (params_agree(a.row.row_case(), b.row.row_case(), options)) found.emplace_back(&a, &b);
  const auto across = [](const auto& p) { return p.first->row.device() != p.second->row.device(); };
  if (!std::all_of(found.begin(), found.end(), across))
    found.erase(std::remove_if(found.begin(), found.end(), across), found.end());
  std::set<const Measured*> paired;
  for (const auto& [a, b] : found) {
    result.pairs.push_back(pair_of(*a, *b, options.threshold));
    paired.insert({a, b});
  }
  for (const auto& a : as)
    if (paired.count(&a) == 0) result.only_a.push_back(a);
  for (const auto& b : bs)
    if (paired.count(&b) == 0) result.only_b.push_back(b);
}

bool share_an_artifact(const std::vector<Row>& a, const std::vector<Row>& b) {
  std::set<std::string> of_a;
  for (const auto& row : a) of_a.insert(text_of(row.row_case(), "artifact"));
  return std::any_of(b.begin(), b.end(), [&](const Row& row) {
    return of_a.contains(text_of(row.row_case(), "artifact"));
  });
}

}  // namespace

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
  std::sort(resampled.begin(), resampled.end());
  return Ratio{mean([](std::size_t k) { return k; }), resampled[kResamples / 40],
               resampled[kResamples - 1 - kResamples / 40]};
}

std::size_t Measured::count() const {
  std::size_t total = 0;
  for (const auto& launch : samples) total += launch.size();
  return total;
}

bool Pair::one_machine() const {
  return a.row.device() == b.row.device() && a.row.device() != kUnknownDevice;
}

std::string name(Change change) {
  switch (change) {
    case Change::none:
      return "none";
    case Change::faster:
      return "faster";
    case Change::slower:
      return "slower";
    case Change::too_few:
      return "too few samples";
  }
  return "";
}

std::vector<std::string> Comparison::warnings() const {
  std::map<std::string, int> machines;
  int drifting = 0, noisy = 0;
  std::string noise;
  for (const auto& pair : pairs) {
    for (const auto* side : {&pair.a, &pair.b})
      if (noise.empty()) noise = side->noise;
    noisy += !pair.a.noise.empty() || !pair.b.noise.empty();
    if (!pair.one_machine())
      ++machines[fmt::format("A on {}, B on {}", pair.a.row.device(), pair.b.row.device())];
    drifting += pair.a.drifted || pair.b.drifted;
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
  return std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.change == Change::slower || (pair.a.failure.empty() && !pair.b.failure.empty());
  });
}

Comparison compare_rows(const std::vector<Row>& a, const std::vector<Row>& b,
                        const CompareOptions& given) {
  auto options = given;
  if (!share_an_artifact(a, b)) options.ignore.emplace_back("artifact");
  const auto of_a = group(a, options.method_a, options);
  const auto of_b = group(b, options.method_b, options);
  std::set<std::string> parts;
  for (const auto* side : {&of_a, &of_b})
    for (const auto& [part, measured] : *side) parts.insert(part);
  const auto of = [](const Groups& side, const std::string& part) {
    const auto found = side.find(part);
    return found == side.end() ? std::vector<Measured>{} : found->second;
  };
  Comparison result;
  result.ignored = options.ignore;
  for (const auto& part : parts) join(of(of_a, part), of(of_b, part), options, result);
  return result;
}

}  // namespace retensor::driver
