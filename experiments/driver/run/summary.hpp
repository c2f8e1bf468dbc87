// What a sweep came to, by method.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "experiments/driver/run/sweep.hpp"

namespace retensor::driver {

/// Of the rows of all cases of the plan, stored ones too: {artifact, file, rows, ok, stored,
/// methods: [{method, rows, ok, compared, fastest, over_fastest, spread}], not_ok: [{method,
/// status, reason, rows}], skipped: {cases, memory}}. `compared` counts the problems on which
/// another method is ok too, `fastest` those of them on which the method is the fastest;
/// `over_fastest` is the geometric mean of its time over the fastest one's on them (null without
/// any), `spread` the widest of its rows. `skipped` counts the cases that the plan leaves out, and
/// those of them that need more memory than the spec allows.
nlohmann::json summary_of(const Plan& plan, const SweepResult& result);
/// The same as a table.
std::string summary_text(const nlohmann::json& summary);

/// Of positive numbers, at least one.
double geometric_mean(std::span<const double> numbers);

}  // namespace retensor::driver
