// Session lines of result files (experiments/schema/README.md).
#include "experiments/driver/run/session.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "common/core/build_info.hpp"
#include "common/core/hash.hpp"
#include "experiments/driver/run/provenance.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
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
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const auto id = variable("SLURM_JOB_ID"), array = variable("SLURM_ARRAY_JOB_ID");
  if (id.empty()) return nullptr;
  const auto restarts = variable("SLURM_RESTART_COUNT");  // unset on the first run
  return {{"id", array.empty() ? id : array + '_' + variable("SLURM_ARRAY_TASK_ID")},
          {"node", variable("SLURMD_NODENAME")},
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
