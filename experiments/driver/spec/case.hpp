// One combination of a plan: what a worker is asked to measure and what a row is keyed by.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "common/measure/timing.hpp"
#include "common/method/params.hpp"
#include "common/method/problem.hpp"

namespace retensor::driver {

struct ForeignEntry;

struct Case {
  std::string artifact;
  std::string dataset;
  ProblemSpec problem;
  bool has_mode = true;  ///< false for operations without a mode: the row's mode is null
  std::string method;
  std::map<std::string, ParamValue> params;  ///< resolved: defaults included
  Order order = Order::shuffled;
  bool interleaved = false;  ///< shuffled with the other methods of its problem in one process
  Cache cache = Cache::warm;
  int launch = 0;
  std::shared_ptr<const ForeignEntry> foreign;  ///< null for a method of this process
  std::string foreign_sha256;  ///< of its code when the case was planned; no part of the key
};

/// Whether a case runs code that is no part of this project.
bool is_from_outside(const Case& c);

/// Whether a method's id, <module>.<backend> with or without .<variant>, names CUDA.
bool is_gpu_method(std::string_view method);

inline constexpr std::string_view kInterleaved = "interleaved";  ///< in place of an order's name
std::string_view name(Order order);
std::string_view name(Cache cache);

/// The names of an enumeration's values, of which `last` is the last.
template <class Enum>
std::vector<std::string> names_up_to(Enum last) {
  std::vector<std::string> names;
  for (int k = 0; k <= static_cast<int>(last); ++k) names.emplace_back(name(static_cast<Enum>(k)));
  return names;
}
/// The value of this name; throws InputError where there is none.
template <class Enum>
Enum value_named(const std::string& word, Enum last) {
  return static_cast<Enum>(place_among(names_up_to(last), word, "unknown word"));
}

/// The `case` object of a row (experiments/schema); `data` is {kind, sha256, dims, nnz}. Members
/// that the operation does not use are null (mode, rank, rank2) or left out (scalar, alpha, beta,
/// max_sweeps, tolerance), so that a key depends on nothing that does not matter. Call it
/// qualified: argument-dependent lookup would also try the library's functions of that name.
nlohmann::json to_json(const Case& c, const nlohmann::json& data);
/// Throws InputError for an object that to_json did not make.
Case case_from_json(const nlohmann::json& j);
/// SHA-256 of the canonical JSON (sorted keys, no blanks) of the case object.
std::string case_key(const nlohmann::json& case_object);

}  // namespace retensor::driver
