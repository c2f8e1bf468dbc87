// Names of cases for people.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {

/// Names cases (the `case` object of a row) by data set, operation and whatever else differs among
/// the cases that were noted.
class Labels {
 public:
  Labels() = default;
  explicit Labels(const std::vector<Case>& cases);
  void note(const nlohmann::json& case_object);

  /// "tiny mttkrp pasta.cpu.coo mode=0 threads=2", where methods, modes and threads differ.
  std::string of(const nlohmann::json& case_object) const { return of(case_object, case_object); }
  /// Of a pair: members in which the two differ read `name=a|b`.
  std::string of(const nlohmann::json& a, const nlohmann::json& b) const;
  /// The method with its parameters that differ: "pasta.cpu.coo threads=2".
  std::string method(const nlohmann::json& case_object) const;

 private:
  std::string words(const nlohmann::json& a, const nlohmann::json& b,
                    const std::vector<std::string>& always, const std::string& below) const;

  std::map<std::string, std::set<std::string>> values_;  // by path of the member
};

/// The members of a case that say what is computed: methods that share them can be compared.
nlohmann::json problem_of(nlohmann::json case_object);

}  // namespace retensor::driver
