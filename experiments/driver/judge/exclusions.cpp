#include "experiments/driver/judge/exclusions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <variant>

namespace retensor::driver {
using nlohmann::json;

namespace {

/// The artifact's field is called so in claims, and what stands below `case.` may be.
constexpr const char* kArtifactField = "case.artifact";
constexpr std::size_t kFewValues = 3;  // more are counted

const std::vector<json>* condition_on(const Selection& where, const std::string& name) {
  for (const auto& field : {name, "case." + name})
    if (const auto found = where.find(field); found != where.end()) return &found->second;
  return nullptr;
}

bool holds_any(const std::vector<json>& values, const std::vector<json>& of) {
  return std::find_first_of(values.begin(), values.end(), of.begin(), of.end()) != values.end();
}

/// Whether a case can meet both.
bool overlaps(const Selection& where, const Selection& when) {
  return std::ranges::all_of(when, [&](const auto& condition) {
    const auto* wanted = condition_on(where, condition.first);
    return wanted == nullptr || holds_any(*wanted, condition.second);
  });
}

/// Whether the part asks for such cases.
bool takes_from(const Part& part, const LeftOut& one) {
  const auto artifacts = part.where.find(kArtifactField);
  return artifacts != part.where.end() && holds_any(artifacts->second, {json(one.artifact)}) &&
         overlaps(part.where, one.when);
}

std::string condition_text(const std::string& name, const std::vector<json>& values) {
  if (values.size() > kFewValues) return fmt::format("{} of {} values", name, values.size());
  const auto joined = boost::join(transformed(values, plain_text), " or ");
  return values.front().is_string() && !name.starts_with("params.")
             ? joined
             : boost::replace_first_copy(name, "params.", "") + " " + joined;
}

}  // namespace

std::vector<LeftOut> exclusions_of(const Spec& spec) {
  std::vector<LeftOut> all;
  auto names = spec.profiles;
  names.insert(names.begin(), "");
  for (const auto& profile : names)
    for (const auto& exclusion : load_spec(spec.path, profile).exclusions) {
      LeftOut one{spec.artifact, {}, exclusion.reason};
      for (const auto& [name, values] : exclusion.when)
        for (const auto& located : values)
          std::visit([&of = one.when[name]](const auto& value) { of.emplace_back(value); },
                     located.value);
      if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
    }
  return all;
}

std::vector<LeftOut> without_rows(std::vector<LeftOut> all, const std::vector<Row>& rows) {
  std::map<json, std::vector<const Row*>> by_artifact;
  for (const auto& row : rows) by_artifact[row.field(kArtifactField)].push_back(&row);
  std::erase_if(all, [&](const LeftOut& one) {
    return std::ranges::any_of(by_artifact[one.artifact],
                               [&](const Row* row) { return matches(*row, one.when); });
  });
  return all;
}

std::vector<LeftOut> exclusions_from(const Query& query, const std::vector<LeftOut>& all) {
  const auto parts = parts_of(query);
  std::vector<LeftOut> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const LeftOut& one) {
    return std::ranges::any_of(parts, [&](const Part& part) { return takes_from(part, one); });
  });
  return found;
}

std::string text_of(const LeftOut& left_out) {
  const auto conditions = transformed(
      left_out.when, [](const auto& one) { return condition_text(one.first, one.second); });
  return fmt::format("{} leaves out {}: {}", left_out.artifact, boost::join(conditions, ", "),
                     left_out.reason);
}

void to_json(json& j, const LeftOut& left_out) {
  j = {{"artifact", left_out.artifact}, {"when", left_out.when}, {"reason", left_out.reason}};
}

}  // namespace retensor::driver
