#include "experiments/driver/data/facts.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/io/files.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Raised when the content of tensor_facts() changes: facts kept by an older build are made anew.
constexpr int kVersion = 1;

/// Null when there is no such file or it is not what keep() wrote.
json read_kept(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const auto content = json::parse(in, nullptr, false);
  if (!content.is_object() || content.value("version", json()) != kVersion ||
      !content.contains("facts") ||
      content.value("sha256", json()) != sha256_hex(content["facts"].dump()))
    return nullptr;
  return content["facts"];
}

void keep(const json& facts, const fs::path& path) {
  const json content = {
      {"version", kVersion}, {"facts", facts}, {"sha256", sha256_hex(facts.dump())}};
  try {
    make_folder(path.parent_path());
    write_file(path.string(), content.dump() + '\n');
  } catch (const std::runtime_error&) {
    return;  // made again when next needed
  }
}

}  // namespace

json kept_facts(const std::string& cache_dir, const std::string& data_sha256,
                const std::function<std::shared_ptr<const Coo>()>& tensor) {
  const auto path = fs::path(cache_dir) / "facts" / (data_sha256 + ".json");
  if (auto kept = read_kept(path); !kept.is_null()) return kept;
  auto facts = tensor_facts(*tensor());
  keep(facts, path);
  return facts;
}

json with_factors(json facts, const ProblemSpec& problem, const Dims& dims, Backend backend,
                  const json& machine) {
  if (!has_rank(problem.operation)) return facts;
  const auto bytes = factor_bytes(problem, dims);
  facts["factor_bytes"] = bytes;
  const auto processor = machine.value(backend == Backend::cuda ? "gpu" : "cpu", json::object());
  const auto cache = processor.value(backend == Backend::cuda ? "l2_bytes" : "llc_bytes", Count{0});
  if (cache == 0) return facts;
  facts["cache_bytes"] = cache;
  facts["factors_over_cache"] = static_cast<double>(bytes) / static_cast<double>(cache);
  return facts;
}

}  // namespace retensor::driver
