// What a result file says about how its rows came about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {

/// Version, compiler, flags, CUDA: rows of another build are measured again.
nlohmann::json build_facts();
/// SHA-256 over the sources that the method's module ("pasta" of pasta.cpu.coo) depends on; empty
/// when the module does not belong to the source tree.
std::string source_hash(std::string_view method);
/// The same of a row's `case`: where a parameter names the method whose MTTKRP it runs, SHA-256 of
/// both methods' hashes in hexadecimal, one after the other.
std::string source_hash_of(const nlohmann::json& row_case);
/// Whether a result row came from other sources of its method than this build's.
bool is_stale(const nlohmann::json& row);
/// The time now in UTC, ISO 8601 to the second.
std::string utc_now();
/// The session line of experiments/schema; its id is new with every call.
nlohmann::json session_line(const Plan& plan, const nlohmann::json& machine,
                            const std::vector<std::string>& argv);

}  // namespace retensor::driver
