// How often `compare` calls a difference on one machine where there is none, and which it sees.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/driver/run/row.hpp"

namespace retensor::driver {

/// Which differences count between sides of at least so many launches each.
struct CalibratedRule {
  std::size_t launches = 1;
  std::optional<double> threshold;  ///< nothing: no rule has few enough false alarms here
  double false_alarms = 0;          ///< share of identical pairs at the threshold
  std::size_t pairs = 0;
};

/// What a file made by `retensor calibrate` says (experiments/schema).
struct Calibration {
  std::string path, device, machine;
  std::vector<CalibratedRule> rules;  ///< one or more, by the number of launches

  /// That of the most launches that both sides have.
  const CalibratedRule& rule(std::size_t launches) const;
  /// How far the time of one launch lies from that of others, as a 95% reach of its logarithm, for
  /// intervals that hold it together with those of samples; nothing where no difference counts.
  std::optional<double> between_launches() const;
};

/// The false alarms among sides of one, three, five and nine launches of the same case, by
/// threshold, and what is seen of slowdowns by 1, 2, 5 and 10%, as a file holds it: of rows of one
/// machine that ended ok, for sides of which four fit into the launches. A rule's `threshold` is
/// the least with at most 1% of false alarms, in all launches and in each half of them by itself;
/// null where none has. Noisy launches are refused as compare refuses them. Throws InputError where
/// fewer than 100 pairs are left.
nlohmann::json calibrate(const std::vector<Row>& rows);

/// Throws InputError for a file that calibrate() did not make.
Calibration read_calibration(const std::string& path);
/// That of this machine, or the first of its model where one of the two is not known.
const Calibration* calibration_of(const std::vector<Calibration>& all, const std::string& device,
                                  const std::string& machine);
/// "3 launches a side".
std::string sides_text(std::size_t launches);
/// In a sentence.
std::string rule_text(const Calibration& calibration);

}  // namespace retensor::driver
