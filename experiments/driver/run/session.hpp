// What a result file says about how its rows came about, and what tells a machine from others of
// its model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {

/// How much of it rows tell: fingerprints, from which no name or serial number follows; names too;
/// or nothing. RETENSOR_IDENTITY chooses, hashed by default. Throws InputError for another word.
enum class IdentityForm { hashed, plain, none };
IdentityForm identity_form();

/// The first 12 hexadecimal digits of the SHA-256 of a name with what it is a name of.
std::string fingerprint(const std::string& kind, const std::string& name);

/// Member `identity` of a session's machine (experiments/schema): `host` and `gpu` are fingerprints
/// of the machine's id and of the GPU's UUID; `host_name` and `gpu_uuid` stand there only in the
/// plain form; `job` is that of a batch system. Null in the form none. `gpu_uuid` empty: no GPU.
nlohmann::json machine_identity(IdentityForm form, const std::string& gpu_uuid);

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
