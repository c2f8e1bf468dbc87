// What specs leave out by `exclude` of the rows that a claim asks for.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiments/driver/judge/query.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {

/// Cases that a spec does not measure, by fields of rows.
struct LeftOut {
  std::string artifact;
  Selection when;
  std::string reason;

  bool operator==(const LeftOut&) const = default;
};

/// Those of a spec and of its profiles.
std::vector<LeftOut> exclusions_of(const Spec& spec);

/// Those of which `rows` has none: another profile, or an older form of the spec, may have measured
/// the others.
std::vector<LeftOut> without_rows(std::vector<LeftOut> all, const std::vector<Row>& rows);

/// Those of `all` whose cases the query asks for, of artifacts that it names.
std::vector<LeftOut> exclusions_from(const Query& query, const std::vector<LeftOut>& all);

/// "pasta/fig4 leaves out regS, mode 1: modes of one length".
std::string text_of(const LeftOut& left_out);
void to_json(nlohmann::json& j, const LeftOut& left_out);

}  // namespace retensor::driver
