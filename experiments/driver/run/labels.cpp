#include "experiments/driver/run/labels.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

const std::vector<std::string> kAlways = {"/dataset", "/operation"};
/// These need no name before their value.
const std::vector<std::string> kBare = {"/dataset", "/operation", "/method"};

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

std::string difference(const std::string& path, const json& mine, const json& theirs) {
  const auto text = [&](const json& of) { return of.contains(path) ? plain_text(of[path]) : "-"; };
  const auto a = text(mine), b = text(theirs);
  const auto both = a == b ? a : fmt::format("{}|{}", a, b);
  return contains(kBare, path) ? both
                               : fmt::format("{}={}", path.substr(path.rfind('/') + 1), both);
}

}  // namespace

Labels::Labels(const std::vector<Case>& cases) {
  for (const auto& c : cases) note(driver::to_json(c, json::object()));
}

void Labels::note(const json& case_object) {
  const auto flat = case_object.flatten();
  for (const auto& [path, value] : flat.items())
    if (!path.starts_with("/data/") && !path.starts_with("/foreign/") && path != "/launch")
      values_[path].insert(value.dump());
}

std::string Labels::words(const json& a, const json& b, const std::vector<std::string>& always,
                          const std::string& below) const {
  const auto mine = a.flatten(), theirs = b.flatten();
  std::string line;
  const auto add = [&](const std::string& path) {
    line += (line.empty() ? "" : " ") + difference(path, mine, theirs);
  };
  for (const auto& path : always) add(path);
  for (const auto& [path, values] : values_)
    if (values.size() > 1 && path.starts_with(below) && !contains(always, path) &&
        !(mine.value(path, json()).is_null() && theirs.value(path, json()).is_null()))
      add(path);
  return line;
}

std::string Labels::of(const json& a, const json& b) const {
  return words(a, b, kAlways, "/");
}

json problem_of(json case_object) {
  for (const char* member : {"artifact", "method", "params", "foreign", "launch", "order", "cache"})
    case_object.erase(member);
  return case_object;
}

std::string Labels::method(const json& case_object) const {
  return words(case_object, case_object, {"/method"}, "/params/");
}

}  // namespace retensor::driver
