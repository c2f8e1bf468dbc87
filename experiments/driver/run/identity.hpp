// What tells a machine from others of its model.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

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

}  // namespace retensor::driver
