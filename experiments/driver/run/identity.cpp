// Fingerprints are the same in both forms, so that rows of one machine meet whichever was chosen.
#include "experiments/driver/run/identity.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr std::size_t kDigits = 12;

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// What stays when the machine starts again; in a container without one, its name.
std::string host_id() {
  std::ifstream in("/etc/machine-id");
  std::string id;
  return in >> id ? id : host_name();
}

/// "slurm 1234" under a batch system, else empty.
std::string job() {
  constexpr std::array<std::pair<const char*, const char*>, 4> kSystems = {
      {{"slurm", "SLURM_JOB_ID"}, {"pbs", "PBS_JOBID"}, {"lsf", "LSB_JOBID"}, {"sge", "JOB_ID"}}};
  for (const auto& [system, variable] : kSystems)
    if (const auto id = setting(variable); !id.empty()) return fmt::format("{} {}", system, id);
  return "";
}

}  // namespace

IdentityForm identity_form() {
  const auto word = setting("RETENSOR_IDENTITY");
  if (word.empty() || word == "hashed") return IdentityForm::hashed;
  if (word == "plain") return IdentityForm::plain;
  if (word == "none") return IdentityForm::none;
  throw InputError(
      fmt::format("RETENSOR_IDENTITY: found '{}', expected hashed, plain or none", word));
}

std::string fingerprint(const std::string& kind, const std::string& name) {
  return name.empty() ? "" : sha256_hex("retensor " + kind + ' ' + name).substr(0, kDigits);
}

json machine_identity(IdentityForm form, const std::string& gpu_uuid) {
  if (form == IdentityForm::none) return nullptr;
  json identity = {{"host", fingerprint("host", host_id())}};
  if (!gpu_uuid.empty()) identity["gpu"] = fingerprint("gpu", gpu_uuid);
  if (const auto id = job(); !id.empty()) identity["job"] = id;
  if (form == IdentityForm::hashed) return identity;
  identity["host_name"] = host_name();
  if (!gpu_uuid.empty()) identity["gpu_uuid"] = gpu_uuid;
  return identity;
}

}  // namespace retensor::driver
