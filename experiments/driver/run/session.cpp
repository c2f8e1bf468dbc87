// Session lines of result files (experiments/schema/README.md).
#include "experiments/driver/run/session.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>
#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>

#include "common/core/build_info.hpp"
#include "common/core/hash.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/run/currency.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr std::size_t kDigits = 12;

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
    if (const auto id = environment(variable); !id.empty()) return fmt::format("{} {}", system, id);
  return "";
}

}  // namespace

IdentityForm identity_form() {
  const auto word = environment("RETENSOR_IDENTITY");
  if (word.empty()) return IdentityForm::hashed;
  constexpr std::array kForms = {"hashed", "plain", "none"};
  return static_cast<IdentityForm>(place_among(kForms, word, "RETENSOR_IDENTITY: found"));
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

std::string new_session_id() {
  const auto now = std::chrono::system_clock::now();
  const auto ticks = now.time_since_epoch().count();
  const auto unique = sha256_hex(fmt::format("{} {} {}", ticks, getpid(), gethostid()));
  return fmt::format("{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     unique.substr(0, 8));
}

nlohmann::json build_facts() {
  const auto& b = build_info();
  return {{"version", b.version},
          {"compiler", b.compiler},
          {"flags", b.flags},
          {"cuda", b.cuda},
          {"cuda_archs", b.cuda_archs}};
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

nlohmann::json job_facts() {
  const auto id = environment("SLURM_JOB_ID"), array = environment("SLURM_ARRAY_JOB_ID");
  if (id.empty()) return nullptr;
  const auto restarts = environment("SLURM_RESTART_COUNT");  // unset on the first run
  return {{"id", array.empty() ? id : array + '_' + environment("SLURM_ARRAY_TASK_ID")},
          {"node", environment("SLURMD_NODENAME")},
          {"restarts", restarts.empty() ? "0" : restarts}};
}

nlohmann::json session_line(const Plan& plan, const nlohmann::json& machine,
                            const std::vector<std::string>& argv) {
  const auto& made_from = provenance();
  nlohmann::json line = {
      {"kind", "session"},
      {"schema", kSchema},
      {"session", new_session_id()},
      {"started", utc_now()},
      {"git", {{"commit", made_from.commit}, {"dirty", made_from.dirty}}},
      {"build", build_facts()},
      {"machine", machine},
      {"argv", argv},
      {"spec",
       {{"path", plan.spec_path}, {"sha256", plan.spec_sha256}, {"artifact", plan.artifact}}}};
  if (auto job = job_facts(); !job.is_null()) line["job"] = std::move(job);
  return line;
}

}  // namespace retensor::driver
