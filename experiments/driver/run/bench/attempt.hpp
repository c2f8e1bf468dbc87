// What a worker does under guard: each error ends as a status, and each step's time is known.
#pragma once

#include <functional>

#include <nlohmann/json.hpp>

namespace retensor::driver {

/// The answer of `work`, or the status of the error that ended it.
nlohmann::json guarded(const std::function<nlohmann::json()>& work);
/// Seconds that `work` takes.
double timed(const std::function<void()>& work);

}  // namespace retensor::driver
