// What a result file says about how its rows came about.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {

/// Version, compiler, flags, CUDA: rows of another build are measured again.
nlohmann::json build_facts();
/// The time now in UTC, ISO 8601 to the second.
std::string utc_now();
/// The id of a session, never given twice.
std::string new_session_id();
/// The task of Slurm that this process is: id (<job>_<task> of an array), node, restarts so far;
/// null outside of one.
nlohmann::json job_facts();
/// The session line of experiments/schema; its id is new with every call.
nlohmann::json session_line(const Plan& plan, const nlohmann::json& machine,
                            const std::vector<std::string>& argv);

}  // namespace retensor::driver
