// Forecasts of all candidates, those left out that decline the problem or break a limit, in the
// order of their total times.
#include "common/advise/planner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <omp.h>
#include <nlohmann/json.hpp>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/decompose/text_params.hpp"
#include "common/device/device.hpp"
#include "common/machine/machine.hpp"
#include "common/run/all_modes.hpp"

namespace retensor::advise {
namespace {

bool is_same(const Device& a, const Device& b) {
  return a.name == b.name && a.backend == b.backend && a.cores == b.cores;
}

/// Problems of the operation that were measured on a device.
std::size_t families_on(const Experience& seen, std::size_t device, Operation operation) {
  std::set<std::string_view> families;
  for (const auto& p : seen.problems)
    if (p.device == device && p.operation == operation) families.insert(p.family);
  return families.size();
}

/// Whether the times of a device tell methods apart that round nothing.
bool can_choose(const Experience& seen, std::size_t device, Operation operation) {
  std::set<std::string> methods;
  const Forecaster forecaster(seen, device, operation);
  for (const auto candidate : forecaster.offered())
    if (!seen.candidates[candidate].rounds) methods.insert(seen.candidates[candidate].method);
  return methods.size() > 1;
}

/// The measured device that judges for this one: itself, where enough was measured on it, else the
/// one of its backend with most families of tensors of the operation; none where there is none.
std::optional<std::size_t> judge_of(const Experience& seen, const Device& device,
                                    Operation operation) {
  std::optional<std::size_t> best;
  std::size_t most = 0;
  for (std::size_t d = 0; d < seen.devices.size(); ++d) {
    const auto families = families_on(seen, d, operation);
    if (seen.devices[d].backend != device.backend || families == 0) continue;
    if (is_same(seen.devices[d], device) && can_choose(seen, d, operation)) return d;
    if (families <= most) continue;
    most = families;
    best = d;
  }
  return best;
}

/// The device with ceilings, where it has none of its own those of its judge by the core.
Device with_ceilings(Device device, const Device& judge) {
  if (device.gbytes > 0) return device;
  const double share =
      device.cores > 0 && judge.cores > 0 ? static_cast<double>(device.cores) / judge.cores : 1;
  device.gbytes = judge.gbytes * share;
  device.gflops = judge.gflops * share;
  device.cache_bytes = judge.cache_bytes;
  return device;
}

void add_once(std::vector<std::string>& list, std::string words) {
  if (std::find(list.begin(), list.end(), words) == list.end()) list.push_back(std::move(words));
}

class Adviser {
 public:
  Adviser(const Experience& seen, const Registry& registry, const Problem& problem,
          const nlohmann::json& facts, const Wish& wish, bool here)
      : seen_(seen),
        registry_(registry),
        problem_(problem),
        facts_(facts),
        subject_(subject_of(problem, facts)),
        wish_(wish),
        here_(here) {}

  void add(const Device& device) {
    machine_ = described(device);
    add_measured(device);
    if (problem_.operation() == Operation::mttkrp_all) add_by_modes(device);
  }

  Advice finish() {
    if (!advice_.outside.empty()) advice_.caution = kCautionOutside;
    rank();
    advice_.why = advice_.ranked.empty() ? "" : first_line() + "\n" + second_line();
    return std::move(advice_);
  }

 private:
  /// Candidates with rows of the operation.
  void add_measured(const Device& device) {
    const auto judge = judge_of(seen_, device, problem_.operation());
    if (!judge) {
      advice_.declined.push_back(
          {"", "",
           fmt::format("no rows of {} on a {}", name(problem_.operation()),
                       device.backend == Backend::cuda ? "GPU" : "processor")});
      return;
    }
    const auto at = aspects_of(subject_, with_ceilings(device, seen_.devices[*judge]));
    const Forecaster forecaster(seen_, *judge, problem_.operation());
    if (!is_same(seen_.devices[*judge], device))
      add_once(stand_ins_, fmt::format("no rows of this {}: times are those of {}",
                                       device.backend == Backend::cuda ? "GPU" : "processor",
                                       described(seen_.devices[*judge])));
    for (auto& words : forecaster.outside(at)) add_once(advice_.outside, std::move(words));
    nearest_.push_back(forecaster.nearest(at).data);
    const auto before = advice_.ranked.size();
    auto offered = forecaster.offered();
    const auto nearby = forecaster.known_nearby(at);
    offered.insert(offered.end(), nearby.begin(), nearby.end());
    add(forecaster, at, offered);
    if (advice_.ranked.size() > before) {
      for (const auto candidate : forecaster.little_known())
        if (std::find(nearby.begin(), nearby.end(), candidate) == nearby.end())
          decline(seen_.candidates[candidate],
                  fmt::format("measured on fewer than {} families of tensors", kFewestFamilies));
      return;
    }
    add(forecaster, at, forecaster.little_known());
    if (advice_.ranked.size() > before)
      add_once(advice_.outside,
               fmt::format("no candidate was measured on {} families of tensors", kFewestFamilies));
  }

  /// Candidates of MTTKRP that take all modes one after the other: what is expected of each mode,
  /// in sum.
  void add_by_modes(const Device& device) {
    const auto judge = judge_of(seen_, device, Operation::mttkrp);
    if (!judge) return;
    const Forecaster forecaster(seen_, *judge, Operation::mttkrp);
    if (nearest_.empty())
      nearest_.push_back(
          forecaster
              .nearest(aspects_of(subject_of_mode(0), with_ceilings(device, seen_.devices[*judge])))
              .data);
    std::vector<std::size_t> able;
    for (const auto candidate : forecaster.offered())
      if (takes(candidate) && !registry_.find(seen_.candidates[candidate].method).takes_all_modes())
        able.push_back(candidate);
    std::vector<Choice> sums;
    for (int mode = 0; mode < problem_.x().order(); ++mode)
      add_mode(forecaster,
               aspects_of(subject_of_mode(mode), with_ceilings(device, seen_.devices[*judge])),
               able, sums);
    for (auto& choice : sums) list(std::move(choice));
  }

  Subject subject_of_mode(int mode) const {
    auto spec = problem_.spec();
    spec.operation = Operation::mttkrp;
    spec.mode = mode;
    return subject_of(Problem::outline(spec, {std::shared_ptr<const Coo>(), &problem_.x()}),
                      facts_);
  }

  void add_mode(const Forecaster& forecaster, const Aspects& at,
                const std::vector<std::size_t>& able, std::vector<Choice>& sums) const {
    const auto added = [](Estimate a, Estimate b) {
      return Estimate{std::log(std::exp(a.mean) + std::exp(b.mean)),
                      std::max(a.deviation, b.deviation)};
    };
    const auto forecasts = forecaster.of(at, bytes(), able);
    const bool is_first = sums.empty();
    for (std::size_t k = 0; k < forecasts.size(); ++k) {
      auto choice = choice_of(forecaster, at, forecasts[k]);
      if (is_first) {
        sums.push_back(std::move(choice));
        continue;
      }
      auto& sum = sums[k];
      sum.forecast.run = added(sum.forecast.run, choice.forecast.run);
      sum.forecast.prepare = added(sum.forecast.prepare, choice.forecast.prepare);
      sum.format_bytes += choice.format_bytes;
      sum.device_bytes += choice.device_bytes;
    }
  }

  double bytes() const { return static_cast<double>(problem_.x().bytes()); }

  /// The best first.
  void rank() {
    std::vector<Forecast> forecasts;
    for (const auto& choice : advice_.ranked) forecasts.push_back(choice.forecast);
    const auto totals = weighed(forecasts, wish_.calls, advice_.caution);
    std::vector<std::size_t> order(totals.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return totals[a] < totals[b]; });
    std::vector<Choice> ranked;
    for (const auto k : order) ranked.push_back(std::move(advice_.ranked[k]));
    advice_.ranked = std::move(ranked);
  }

  void decline(const Candidate& candidate, std::string reason) {
    advice_.declined.push_back({candidate.method, candidate.params, std::move(reason)});
  }

  /// Whether a method of this program solves the problem with the candidate's parameters.
  bool takes(std::size_t number) {
    const auto& candidate = seen_.candidates[number];
    try {
      const auto& method = registry_.find(candidate.method);
      const auto params = method.params().resolve(cpd::params_in(candidate.params));
      const auto support =
          here_ ? supports(method, problem_, params) : solves(method, problem_, params);
      if (!support.ok) decline(candidate, support.reason);
      return support.ok;
    } catch (const InputError& e) {
      decline(candidate, e.what());  // of a program that is older or newer than the rows
      return false;
    }
  }

  /// Those of the candidates that solve the problem and break no limit.
  void add(const Forecaster& forecaster, const Aspects& at,
           const std::vector<std::size_t>& candidates) {
    std::vector<std::size_t> able;
    for (const auto candidate : candidates)
      if (takes(candidate)) able.push_back(candidate);
    for (const auto& forecast : forecaster.of(at, bytes(), able))
      list(choice_of(forecaster, at, forecast));
  }

  Choice choice_of(const Forecaster& forecaster, const Aspects& at,
                   const Forecast& forecast) const {
    const auto& candidate = seen_.candidates[forecast.candidate];
    Choice choice{&registry_.find(candidate.method), candidate.params, forecast};
    choice.format_bytes = forecaster.format_bytes(at, bytes(), forecast.candidate);
    choice.device_bytes = forecaster.device_bytes(at, bytes(), forecast.candidate);
    choice.error = forecaster.error(forecast.candidate);
    choice.families = forecaster.families(forecast.candidate);
    choice.machine = machine_;
    return choice;
  }

  /// Ranks the choice unless it breaks a limit.
  void list(Choice choice) {
    const auto& candidate = seen_.candidates[choice.forecast.candidate];
    if (const auto reason = refusal(choice, candidate); !reason.empty())
      decline(candidate, reason);
    else
      advice_.ranked.push_back(std::move(choice));
  }

  /// Why a limit of the caller keeps the choice out; empty where none does.
  std::string refusal(const Choice& choice, const Candidate& candidate) const {
    if (!wish_.error && candidate.rounds) return "rounds operands to fewer bits; --error allows it";
    if (wish_.error && choice.error > *wish_.error)
      return fmt::format("errors up to {:.1e}, allowed {:.1e}", choice.error, *wish_.error);
    const bool on_device = choice.method->backend() == Backend::cuda;
    const double needed = on_device ? choice.device_bytes : choice.format_bytes;
    if (wish_.memory > 0 && needed > static_cast<double>(wish_.memory))
      return fmt::format("takes about {:.3g} bytes of memory, allowed {}", needed, wish_.memory);
    return "";
  }

  std::string first_line() const {
    const auto& first = advice_.ranked.front();
    const auto on_machine = [&](const Choice& choice) {
      return in_words(choice) + (has_several_machines(advice_) ? " on " + choice.machine : "");
    };
    auto line = fmt::format("{} is expected to take {} for {:g} calls: {} to prepare, {} a run",
                            on_machine(first), duration_text(first.forecast.total(wish_.calls)),
                            wish_.calls, duration_text(first.forecast.prepare_seconds()),
                            duration_text(first.forecast.run_seconds()));
    if (advice_.ranked.size() < 2) return line + "; nothing else can run.";
    const auto& second = advice_.ranked[1];
    return line + fmt::format("; {} {}.", on_machine(second),
                              duration_text(second.forecast.total(wish_.calls)));
  }

  std::string second_line() const {
    const auto& first = advice_.ranked.front();
    auto line =
        fmt::format("It was measured on {} of tensors; the problem most alike is {}",
                    first.families == 1 ? "1 family" : fmt::format("{} families", first.families),
                    nearest_.front());
    if (!advice_.outside.empty())
      line += fmt::format("; not sure ({}), so the least risk was chosen",
                          joined(advice_.outside, "; "));
    for (const auto& words : stand_ins_) line += "; " + words;
    return line + ".";
  }

  const Experience& seen_;
  const Registry& registry_;
  const Problem& problem_;
  const nlohmann::json& facts_;
  const Subject subject_;
  const Wish wish_;
  const bool here_;
  Advice advice_;
  std::string machine_;  // of the device that is added
  std::vector<std::string> stand_ins_, nearest_;
};

/// Of several machines with rows those that have some of the operation, if any has.
std::vector<Device> with_rows(const Experience& seen, std::vector<Device> devices,
                              Operation operation) {
  const auto is_own_judge = [&](const Device& device) {
    const auto judge = judge_of(seen, device, operation);
    return judge && is_same(seen.devices[*judge], device);
  };
  if (std::ranges::any_of(devices, is_own_judge))
    std::erase_if(devices, [&](const Device& device) { return !is_own_judge(device); });
  return devices;
}

Device processor_here() {
  const auto cpu = cpu_facts();
  Device device;
  device.name = cpu.model;
  device.cores = omp_get_max_threads();  // that runs take where nothing else is asked for
  return device;
}

}  // namespace

std::string in_words(const Choice& choice) {
  return std::string(choice.method->id()) + (choice.params.empty() ? "" : " " + choice.params);
}

bool has_several_machines(const Advice& advice) {
  return std::ranges::any_of(advice.ranked, [&](const Choice& choice) {
    return choice.machine != advice.ranked.front().machine;
  });
}

std::vector<Device> devices_named(const Experience& seen, const std::string& asked) {
  std::vector<Device> found;
  std::vector<std::string> names = {"cpu", "device"};
  for (const auto& device : seen.devices) {
    if (std::find(names.begin(), names.end(), device.name) == names.end())
      names.push_back(device.name);
    const bool of_backend = asked == (device.backend == Backend::cuda ? "device" : "cpu");
    if (of_backend || device.name.find(asked) != std::string::npos) found.push_back(device);
  }
  if (found.empty()) place_among(names, asked, "--machine: found");
  return found;
}

std::vector<Device> devices_here(const Experience& seen) {
  std::vector<Device> devices = {processor_here()};
  if (device::available().ok) {
    Device gpu;
    gpu.name = device::facts().name;
    gpu.backend = Backend::cuda;
    devices.push_back(gpu);
  }
  for (auto& device : devices)
    for (const auto& known : seen.devices)
      if (is_same(known, device)) device = known;
  return devices;
}

Advice advise(const Experience& seen, const Registry& registry, const Problem& problem,
              const nlohmann::json& facts, const std::vector<Device>& devices, const Wish& wish,
              bool here) {
  if (problem.x().nnz() == 0 && facts.value("nnz", Count{0}) == 0)
    throw input_error("the tensor has no nonzeros: no prediction can be made");
  Adviser adviser(seen, registry, problem, facts, wish, here);
  for (const auto& device : here ? devices : with_rows(seen, devices, problem.operation()))
    adviser.add(device);
  return adviser.finish();
}

Advice advise_here(const Registry& registry, const Problem& problem, const nlohmann::json& facts,
                   const Wish& wish, const Allowed& allowed) {
  const auto& seen = Experience::built_in();
  auto advice = advise(seen, registry, problem, facts, devices_here(seen), wish, true);
  if (allowed)
    std::erase_if(advice.ranked, [&](const Choice& choice) { return !allowed(*choice.method); });
  if (!advice.ranked.empty()) return advice;
  std::string reasons;
  for (const auto& d : advice.declined)
    reasons += fmt::format("; {}{}{}", d.method, d.method.empty() ? "" : ": ", d.reason);
  throw input_error("the planner has no method for {} of this tensor{}", name(problem.operation()),
                    reasons);
}

Choice choose(const Registry& registry, const Problem& problem, const nlohmann::json& facts,
              const Wish& wish, const Allowed& allowed) {
  return advise_here(registry, problem, facts, wish, allowed).ranked.front();
}

}  // namespace retensor::advise
