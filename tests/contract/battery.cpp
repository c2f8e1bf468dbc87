#include "tests/contract/battery.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/measure/timing.hpp"
#include "tests/contract/scenarios.hpp"

namespace retensor::contract {

std::string describe(const Params& params) {
  std::string line;
  for (const auto& [name, value] : params.all())
    line += fmt::format("{}{}={}", line.empty() ? "" : " ", name, retensor::text(value));
  return line;
}

namespace {

constexpr std::uint64_t kRanks[] = {1, 16, 33};
/// Ranks that fill vectors, lane groups and tiles of columns; for ttm and mttkrp, of one mode and
/// of all, on one tensor.
constexpr std::uint64_t kFullRanks[] = {8, 32, 64, 130};
constexpr const char* kFullRanksOf = "unsorted";

/// At 16 on every backend, at 32 on devices, where another kernel runs.
bool with_alternatives(const Method& method, std::uint64_t rank) {
  return rank == 16 || (rank == 32 && method.backend() == Backend::cuda);
}

/// Every specification of one operation on one tensor, in single precision.
class Specs {
 public:
  Specs(Operation op, int order, const std::string& tensor)
      : order_(order), ranks_(std::begin(kRanks), std::end(kRanks)) {
    spec_.operation = op;
    const bool full =
        op == Operation::ttm || op == Operation::mttkrp || op == Operation::mttkrp_all;
    if (full && tensor == kFullRanksOf)
      ranks_.insert(ranks_.end(), std::begin(kFullRanks), std::end(kFullRanks));
  }

  std::vector<ProblemSpec> all() {
    switch (spec_.operation) {
      case Operation::tew:
      case Operation::ts:
        for (const char* variant : {"add", "sub", "mul", "div"}) add_variant(variant);
        break;
      case Operation::ttv:
        if (order_ > 1) add_modes();
        break;
      case Operation::ttm:
      case Operation::mttkrp:
      case Operation::ttm_chain:
        add_ranks([this] { add_modes(); });
        break;
      case Operation::mttkrp_all:
        add_ranks([this] { add(); });
        break;
      case Operation::contraction:
        // Of two tensors of a higher order most results have more modes than a tensor may.
        if (order_ > 5) break;
        for (const auto& einsum : einsums()) add_variant(einsum);
        break;
      case Operation::spmm:
        if (order_ == 2) add_ranks([this] { add(); });
        break;
      case Operation::cpd:
        if (order_ == 3 || order_ == 4) add_ranks([this] { add(); });
        break;
    }
    return std::move(specs_);
  }

 private:
  void add() { specs_.push_back(spec_); }
  void add_variant(const std::string& variant) {
    spec_.variant = variant;
    add();
  }
  void add_modes() {
    for (spec_.mode = 0; spec_.mode < order_; ++spec_.mode) add();
  }
  template <class F>
  void add_ranks(F&& f) {
    for (const auto rank : ranks_) {
      spec_.rank = rank;
      f();
    }
  }

  /// Contractions of a tensor with itself: over the last mode, over all modes but the first, over
  /// the first with the operands' free modes interleaved in reverse, and over none.
  std::vector<std::string> einsums() const {
    const auto n = static_cast<std::size_t>(order_);
    const std::string x = std::string("abcde").substr(0, n), fresh = "vwxyz";
    if (n == 1) return {"a,b->ab", "a,b->ba"};
    const std::string head = x.substr(0, n - 1), tail = x.substr(1);
    const std::string y_head = fresh.substr(0, n - 1);
    std::string reversed = tail + y_head;
    std::reverse(reversed.begin(), reversed.end());
    std::vector<std::string> list = {
        fmt::format("{},{}{}->{}{}", x, y_head, x.back(), head, y_head),
        fmt::format("{},z{}->az", x, tail),
        fmt::format("{},{}{}->{}", x, x.front(), y_head, reversed)};
    if (n == 2) list.push_back("ab,cd->cadb");
    return list;
  }

  int order_;
  std::vector<std::uint64_t> ranks_;
  ProblemSpec spec_;
  std::vector<ProblemSpec> specs_;
};

/// A chain's result has the product of its ranks as columns: 33^4 would be the whole test's time.
void limit_chain(ProblemSpec& spec, int order) {
  if (spec.operation == Operation::ttm_chain && order > 3) spec.rank2 = 3;
}

bool fits(Operation op, const Scenario& s) {
  if (s.y != nullptr) return op == Operation::tew;
  switch (op) {
    case Operation::tew:
    case Operation::ts:
      return !s.duplicates;
    case Operation::cpd:
      // Factors of a tensor without generic structure are not determined.
      return s.name == "unsorted";
    default:
      return true;
  }
}

using Given = std::map<std::string, ParamValue>;

/// Values of one parameter other than the default that a method must cope with too.
std::vector<ParamValue> alternatives(const ParamSpec& spec) {
  std::vector<ParamValue> list;
  for (const auto& word : spec.choices) list.emplace_back(word);
  if (const auto* flag = std::get_if<bool>(&spec.standard)) list.emplace_back(!*flag);
  if (std::holds_alternative<std::int64_t>(spec.standard) && spec.limits)
    for (const double x : {spec.limits->lowest, spec.limits->lowest + 3})
      if (x <= spec.limits->highest) list.emplace_back(static_cast<std::int64_t>(x));
  list.erase(std::remove(list.begin(), list.end(), spec.standard), list.end());
  return list;
}

std::string words_of(const Problem& p, const std::string& scenario) {
  const auto& s = p.spec();
  return fmt::format("{} {} mode {} rank {} {} {} of order {} with {} nonzeros ({})",
                     name(s.operation), s.variant, s.mode, s.rank, s.rank2, name(s.dtype),
                     p.x().order(), p.x().nnz(), scenario);
}

/// Empty when the measurement keeps the contract.
std::string breach(const Measurement& m) {
  if (m.status == "unsupported") return m.reason.empty() ? "declines without a reason" : "";
  if (m.status != "ok") return m.status + ": " + m.reason;
  if (m.executed.empty()) return "does not tell what ran";
  if (m.stages.empty() || m.stages.front().empty()) return "has no stages";
  const bool finite = std::isfinite(m.work.flops) && std::isfinite(m.work.bytes);
  return finite && m.work.flops >= 0 && m.work.bytes >= 0 ? "" : "has a senseless work model";
}

class Battery {
 public:
  explicit Battery(const std::vector<const Method*>& methods) {
    for (const auto* method : methods) {
      methods_.push_back({method, settings(*method)});
      report_.solved[std::string(method->id())] = 0;
    }
  }

  void solve(const ProblemSpec& spec, const Scenario& scenario) {
    const Problem problem(spec, scenario.x, scenario.y);
    ++report_.problems;
    std::vector<Trial> trials;
    for (const auto& [method, all] : methods_) {
      const std::size_t count = with_alternatives(*method, spec.rank) ? all.size() : 1;
      for (std::size_t k = 0; k < count; ++k) trials.push_back({method, &problem, all[k]});
    }
    TimingOptions options;
    options.warmup = 0;
    options.samples = 1;
    options.order = Order::blocked;
    const auto measured = measure(trials, options);
    for (std::size_t t = 0; t < trials.size(); ++t)
      judge(trials[t], measured[t], words_of(problem, scenario.name));
  }

  Report take() { return std::move(report_); }

 private:
  void judge(const Trial& trial, const Measurement& m, const std::string& problem) {
    const std::string id(trial.method->id());
    const auto what = breach(m);
    if (!what.empty())
      report_.findings.push_back({id, describe(trial.params), problem, what});
    else if (m.status == "ok")
      ++report_.solved[id];
  }

  struct Entry {
    const Method* method;
    std::vector<Params> settings;
  };
  std::vector<Entry> methods_;
  Report report_;
};

constexpr Operation kOperations[] = {Operation::tew,  Operation::ts,        Operation::ttv,
                                     Operation::ttm,  Operation::mttkrp,    Operation::mttkrp_all,
                                     Operation::spmm, Operation::ttm_chain, Operation::contraction,
                                     Operation::cpd};

/// Whether a list of the scope has the entry; an empty one has all.
template <class T>
bool asked(const std::vector<T>& list, const T& entry) {
  return list.empty() || std::find(list.begin(), list.end(), entry) != list.end();
}

}  // namespace

std::vector<Params> settings(const Method& method) {
  const ParamSchema schema = method.params();
  std::vector<Params> list = {schema.resolve({})};
  for (const auto& spec : schema.specs())
    for (const auto& value : alternatives(spec))
      list.push_back(schema.resolve({{spec.name, value}}));
  return list;
}

Report run_battery(const std::vector<const Method*>& methods, const Scope& scope) {
  Battery battery(methods);
  for (int order = scope.lowest_order; order <= scope.highest_order; ++order)
    for (const auto& scenario : scenarios(order))
      for (const auto op : kOperations) {
        if (!asked(scope.operations, op) || !asked(scope.tensors, scenario.name)) continue;
        if (!fits(op, scenario)) continue;
        for (auto spec : Specs(op, order, scenario.name).all()) {
          if (spec.variant == "div" && !scenario.covers) continue;
          if (has_rank(op) && !asked(scope.ranks, spec.rank)) continue;
          limit_chain(spec, order);
          for (const auto dtype : {DType::f32, DType::f64}) {
            spec.dtype = dtype;
            battery.solve(spec, scenario);
          }
        }
      }
  return battery.take();
}

std::string text(const Finding& f) {
  return fmt::format("{} {{{}}} on {}: {}", f.method, f.parameters, f.problem, f.what);
}

}  // namespace retensor::contract
