#include "experiments/driver/run/bench/problems.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "experiments/driver/run/bench/attempt.hpp"
#include "experiments/driver/run/provenance.hpp"
#include "experiments/driver/run/worker.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Everything that the oracle depends on, the code that computes it included.
std::string problem_key(const Case& c, const json& data) {
  auto identity = driver::to_json(c, data);
  for (const auto* member : {"artifact", "method", "params", "foreign", "order", "cache", "launch"})
    identity.erase(member);
  return sha256_hex(identity.dump() + provenance().common);
}

/// An oracle that can't be kept (full disk) costs time after a death and nothing else.
void keep(const reference::Expected& oracle, const fs::path& path) {
  const auto part = fmt::format("{}.{}.part", path.string(), getpid());
  std::error_code ignored;
  try {
    fs::create_directories(path.parent_path());
    oracle.save(part);
    fs::rename(part, path);
  } catch (const Error&) {
    fs::remove(part, ignored);
  } catch (const fs::filesystem_error&) {
    fs::remove(part, ignored);
  }
}

}  // namespace

PosedProblem& PosedProblems::pose(const Case& c, const std::shared_ptr<const Coo>& tensor,
                                  const json& data) {
  const auto key = problem_key(c, data);
  if (auto known = before_.extract(key)) now_.insert(std::move(known));
  auto& posed = now_[key];
  if (!posed.problem) posed.problem = std::make_shared<const Problem>(c.problem, tensor);
  posed.oracle = fs::path(oracle_folder(cache_dir_, data["sha256"])) / key;
  return posed;
}

void PosedProblem::provide_oracle() {
  if (has_oracle) return;
  oracle_seconds = timed([&] {
    try {
      problem->set_oracle(reference::Expected::load(oracle.string()));
    } catch (const Error&) {
      // Missing or damaged: computed again and written anew.
      keep(problem->oracle(), oracle);
    }
  });
  has_oracle = true;
}

std::string oracle_folder(const std::string& cache_dir, const std::string& data_sha256) {
  return (fs::path(cache_dir) / "oracle" / data_sha256).string();
}

}  // namespace retensor::driver
