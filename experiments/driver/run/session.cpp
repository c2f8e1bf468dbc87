// Session lines of result files (experiments/schema/README.md).
#include "experiments/driver/run/session.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

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

nlohmann::json session_line(const Plan& plan, const nlohmann::json& machine,
                            const std::vector<std::string>& argv) {
  const auto& made_from = provenance();
  return {{"kind", "session"},
          {"schema", kSchema},
          {"session", new_session_id()},
          {"started", utc_now()},
          {"git", {{"commit", made_from.commit}, {"dirty", made_from.dirty}}},
          {"build", build_facts()},
          {"machine", machine},
          {"argv", argv},
          {"spec",
           {{"path", plan.spec_path}, {"sha256", plan.spec_sha256}, {"artifact", plan.artifact}}}};
}

}  // namespace retensor::driver
