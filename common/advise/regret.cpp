#include "common/advise/regret.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "common/advise/forecast.hpp"
#include "common/core/error.hpp"

namespace retensor::advise {
namespace {

/// The candidates of one problem with what was foreseen and what came.
struct Contest {
  std::vector<Forecast> foreseen;      ///< of those offered
  std::vector<const SeenTimes*> came;  ///< of the same
  std::vector<const SeenTimes*> all;   ///< of all that were measured
  bool is_outside = false;             ///< unlike the tensors of all other families
};

double total(const SeenTimes& t, double calls) {
  return t.prepare + calls * t.run;
}

const SeenTimes& best_time(const Contest& contest, double calls) {
  return **std::min_element(
      contest.all.begin(), contest.all.end(),
      [&](const auto* a, const auto* b) { return total(*a, calls) < total(*b, calls); });
}

/// What a choice by trial takes: the trial, and then what a choice without one does.
struct WithTrial {
  double total = 0, trial = 0;       ///< seconds, the trial's among the total
  const SeenTimes* taken = nullptr;  ///< by it
};

WithTrial time_with_trial(const Contest& contest, double calls, double caution) {
  double spent = 0;
  const auto steps = trial(contest.foreseen, calls, caution, [&](std::size_t k) {
    spent += total(*contest.came[k], kRunsOfTrial);
    return Tried{contest.came[k]->prepare, contest.came[k]->run, ""};
  });
  if (steps.empty()) {
    const auto* const taken = contest.came[best_of(contest.foreseen, calls, caution)];
    return {total(*taken, calls), 0, taken};
  }
  const auto* const taken = contest.came[steps[*winner_of(steps)].place];
  return {spent + calls * taken->run, spent - taken->prepare, taken};
}

/// Of the libraries' candidates that are offered; infinity where there is none.
double best_of_libraries(const Experience& seen, const Contest& contest, double calls) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto* t : contest.came)
    if (is_library(seen.candidates[t->candidate].method)) best = std::min(best, total(*t, calls));
  return best;
}

class Tally {
 public:
  void add(double ratio) {
    logarithms_ += std::log(ratio);
    regret_.most = std::max(regret_.most, ratio);
    if (ratio > 2) ++regret_.above_two;
    ++count_;
  }
  Regret regret() const {
    auto done = regret_;
    if (count_ > 0) done.mean = std::exp(logarithms_ / count_);
    return done;
  }
  int count() const { return count_; }

 private:
  Regret regret_;
  double logarithms_ = 0;
  int count_ = 0;
};

struct Tallies {
  Tally predicted, tried;
  int refused = 0, outside = 0, behind_libraries = 0, in_their_place = 0;
  const SeenTimes *taken = nullptr, *best = nullptr;  ///< of the largest regret
  std::vector<SlowChoice> slow;
};

std::string described(const Candidate& candidate) {
  return candidate.method + (candidate.params.empty() ? "" : " " + candidate.params);
}

/// A part of a forecast total beside what came.
struct Surprise {
  const char* of;
  double seconds, expected;
};

/// The largest surprise in seconds, its measured time over the expected one.
std::string cause_of(const Contest& contest, const SeenTimes& taken, const SeenTimes& best,
                     double calls) {
  const auto place_of = [&](const SeenTimes& t) {
    return std::find(contest.came.begin(), contest.came.end(), &t) - contest.came.begin();
  };
  const auto at = place_of(best);
  if (at == std::ssize(contest.came)) return "the best is known of too few families";
  const auto& of_taken = contest.foreseen[static_cast<std::size_t>(place_of(taken))];
  const auto& of_best = contest.foreseen[static_cast<std::size_t>(at)];
  const std::array<Surprise, 4> all = {
      {{"its preparation", taken.prepare, of_taken.prepare_seconds()},
       {"its run", calls * taken.run, calls * of_taken.run_seconds()},
       {"the best's preparation", best.prepare, of_best.prepare_seconds()},
       {"the best's run", calls * best.run, calls * of_best.run_seconds()}}};
  const auto& most = *std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::abs(a.seconds - a.expected) < std::abs(b.seconds - b.expected);
  });
  return fmt::format("{}{}, {:.2g}x", contest.is_outside ? "outside; " : "", most.of,
                     most.seconds / most.expected);
}

SlowChoice slow_choice(const Experience& seen, const Contest& contest, const WithTrial& tried,
                       const SeenTimes& best, double calls) {
  return {seen.problems[best.problem].data,
          described(seen.candidates[tried.taken->candidate]),
          described(seen.candidates[best.candidate]),
          tried.total / total(best, calls),
          1 - calls * tried.taken->run / tried.total,
          cause_of(contest, *tried.taken, best, calls)};
}

void judge(const Experience& seen, const Contest& contest, double calls, Tallies& tallies) {
  if (contest.all.size() < 2) return;
  if (contest.foreseen.empty()) {
    ++tallies.refused;
    return;
  }
  const auto& best_one = best_time(contest, calls);
  const double best = total(best_one, calls);
  const double caution = contest.is_outside ? kCautionOutside : kCaution;
  const auto choice = best_of(contest.foreseen, calls, caution);
  const double ratio = total(*contest.came[choice], calls) / best;
  if (tallies.taken == nullptr || ratio > tallies.predicted.regret().most) {
    tallies.taken = contest.came[choice];
    tallies.best = &best_one;
  }
  tallies.predicted.add(ratio);
  const auto tried = time_with_trial(contest, calls, caution);
  tallies.tried.add(tried.total / best);
  if (tried.total > 2 * best)
    tallies.slow.push_back(slow_choice(seen, contest, tried, best_one, calls));
  if (tried.total - tried.trial > best_of_libraries(seen, contest, calls)) {
    ++tallies.behind_libraries;
    if (!is_library(seen.candidates[tried.taken->candidate].method)) ++tallies.in_their_place;
  }
  if (contest.is_outside) ++tallies.outside;
}

/// By problem; a candidate is offered where enough families other than the problem's have it.
std::map<std::size_t, Contest> contests_of(const Experience& seen, const Experience& taught,
                                           const Forecaster& forecaster, bool rounding) {
  const auto& times = forecaster.times();
  const auto foreseen = forecaster.left_out();
  std::map<std::size_t, std::set<std::string>> families;
  for (const auto* t : times) families[t->candidate].insert(seen.problems[t->problem].family);
  std::map<std::size_t, Contest> contests;
  for (std::size_t k = 0; k < times.size(); ++k) {
    const auto& t = seen.times[static_cast<std::size_t>(times[k] - taught.times.data())];
    if (seen.candidates[t.candidate].rounds && !rounding) continue;
    auto& contest = contests[t.problem];
    contest.all.push_back(&t);
    if (families[t.candidate].size() <= kFewestFamilies) continue;
    contest.foreseen.push_back(foreseen[k]);
    contest.came.push_back(&t);
  }
  for (auto& [number, contest] : contests) {
    const auto& problem = seen.problems[number];
    contest.is_outside = !forecaster.outside(problem.at, problem.family).empty();
  }
  return contests;
}

std::string worst_of(const Experience& seen, const Tallies& tallies) {
  if (tallies.taken == nullptr) return "";
  return fmt::format("{}: {}, best {}", seen.problems[tallies.taken->problem].data,
                     described(seen.candidates[tallies.taken->candidate]),
                     described(seen.candidates[tallies.best->candidate]));
}

RegretLine line_of(const Experience& seen, std::string device, std::string operation, double calls,
                   const Tallies& tallies) {
  RegretLine line;
  line.device = std::move(device);
  line.operation = std::move(operation);
  line.calls = calls;
  line.problems = tallies.predicted.count();
  line.refused = tallies.refused;
  line.outside = tallies.outside;
  line.predicted = tallies.predicted.regret();
  line.tried = tallies.tried.regret();
  line.behind_libraries = tallies.behind_libraries;
  line.in_their_place = tallies.in_their_place;
  line.worst = worst_of(seen, tallies);
  line.slow = tallies.slow;
  return line;
}

}  // namespace

std::vector<RegretLine> regrets(const Experience& seen, const std::vector<double>& calls,
                                bool rounding) {
  return regrets(seen, seen, calls, rounding);
}

std::vector<RegretLine> regrets(const Experience& seen, const Experience& taught,
                                const std::vector<double>& calls, bool rounding) {
  if (seen.times.size() != taught.times.size())
    throw LogicError("a model is judged by the times of its own problems");
  std::set<std::pair<std::size_t, Operation>> groups;
  for (const auto& p : seen.problems) groups.insert({p.device, p.operation});
  std::vector<RegretLine> lines;
  std::map<double, Tallies> all, real;
  for (const auto& [device, operation] : groups) {
    const Forecaster forecaster(taught, device, operation);
    if (forecaster.offered().empty()) continue;
    const auto contests = contests_of(seen, taught, forecaster, rounding);
    for (const double n : calls) {
      Tallies tallies;
      for (const auto& [problem, contest] : contests) {
        judge(seen, contest, n, tallies);
        judge(seen, contest, n, all[n]);
        if (seen.problems[problem].is_real) judge(seen, contest, n, real[n]);
      }
      lines.push_back(
          line_of(seen, described(seen.devices[device]), std::string(name(operation)), n, tallies));
    }
  }
  for (const auto& [n, tallies] : all) lines.push_back(line_of(seen, "", "", n, tallies));
  for (const auto& [n, tallies] : real) {
    lines.push_back(line_of(seen, "", "", n, tallies));
    lines.back().only_real = true;
  }
  return lines;
}

}  // namespace retensor::advise
