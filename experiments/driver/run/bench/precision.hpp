// Samples until the medians are known as precisely as a spec asks.
#pragma once

#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/measure/timing.hpp"

namespace retensor::driver {

/// Narrowness of the interval of the median as a share of it (0: any), and the seconds for it.
struct Wish {
  double precision = 0, at_most = 0;
};

using Measure = std::function<std::vector<Measurement>(const TimingOptions&)>;

/// Measures, and again with more samples until the interval of each median is as narrow as asked
/// for or the time is over. Each time methods are prepared anew; all samples count.
std::vector<Measurement> measure_precisely(const Measure& measure, TimingOptions options,
                                           const Wish& wish);
/// The member `sampling` of a row whose spec asks for a precision.
nlohmann::json sampling_json(const Measurement& m, double precision);

}  // namespace retensor::driver
