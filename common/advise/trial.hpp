// A few runs of the candidates whose forecasts are too close to tell them apart.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/advise/planner.hpp"

namespace retensor::advise {

/// What a trial leaves.
struct Outcome {
  std::vector<Step> steps;           ///< by the places before it; none where no call was close
  std::unique_ptr<Prepared> winner;  ///< ready to run; null where nothing was tried or nothing runs
  std::string text;                  ///< what was tried and what came of it
};

/// Tries choices as trial() says, each by a preparation and kRunsOfTrial runs whose results are
/// not checked, and puts the one of the shortest run first and the others that ran behind it; their
/// times are those measured. The best so far stays prepared beside the next. Throws nothing that a
/// method throws.
Outcome settle(Advice& advice, const Problem& problem, const Wish& wish);

/// A choice after its trial.
struct Settled {
  Choice choice;
  double seconds = 0;      ///< that the trial took, the preparation of its winner among them
  std::string trial = "";  ///< what was tried and what came of it; empty for no trial
};

/// The first of advise_here() after settle().
Settled choose_by_trial(const Registry& registry, const Problem& problem,
                        const nlohmann::json& facts, const Wish& wish, const Allowed& allowed = {});

/// The planner's choice as a method, which is made where the first problem is prepared: by a trial
/// on that very problem, whose winner is handed over as it is and so prepared once. Problems after
/// it get the same choice. What is asked of it is answered by the choice, before the first
/// preparation by the best forecast. For one thread; it has no parameters.
class Planned final : public Method {
 public:
  /// Of an advice for the problem, which names a choice; without `trial` that is taken.
  Planned(Advice advice, const Wish& wish, bool trial)
      : advice_(std::move(advice)), wish_(wish), trial_(trial) {}

  /// Makes the trial, unless it has been; the winner, ready to run, or null as in Outcome.
  std::unique_ptr<Prepared> settle(const Problem& problem) const;
  const Choice& choice() const { return advice_.ranked.front(); }
  /// As in Settled.
  double trial_seconds() const { return seconds_; }
  const std::string& trial_text() const { return text_; }

  std::string_view id() const override { return choice().method->id(); }
  std::string_view summary() const override { return choice().method->summary(); }
  Backend backend() const override { return choice().method->backend(); }
  std::vector<Operation> operations() const override { return choice().method->operations(); }
  bool takes_all_modes() const override { return true; }
  Support supports(const Problem& problem, const Params&) const override;
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params&) const override;
  reference::Precision precision(const Problem& problem, const Params&) const override;

 private:
  Params params_of_choice() const;

  // A method is the same whatever it prepares, but this one learns from the first.
  mutable Advice advice_;
  const Wish wish_;
  mutable bool trial_;  // is to come
  mutable double seconds_ = 0;
  mutable std::string text_;
};

}  // namespace retensor::advise
