// The search for the source tree; the order is stated in locations.hpp.
#include "experiments/driver/data/locations.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "common/core/build_info.hpp"
#include "common/core/error.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

bool is_root(const fs::path& dir) {
  std::error_code ignored;
  return fs::is_directory(dir / "experiments" / "schema", ignored);
}

std::optional<std::string> root_above(fs::path dir) {
  for (; !dir.empty(); dir = dir.parent_path()) {
    if (is_root(dir)) return dir.string();
    if (dir == dir.root_path()) break;
  }
  return std::nullopt;
}

std::optional<std::string> named_root() {
  const auto given = environment("RETENSOR_ROOT");
  if (given.empty()) return std::nullopt;
  if (!is_root(given)) throw InputError("RETENSOR_ROOT: " + given + " holds no experiments/schema");
  return given;
}

/// The tree that the program belongs to; of an installed one, <prefix>/share/retensor.
std::string own_root() {
  std::error_code ignored;
  const auto folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  if (const auto root = root_above(folder)) return *root;
  if (const auto shared = folder.parent_path() / "share" / "retensor"; is_root(shared))
    return shared.string();
  if (is_root(build_info().source_root)) return build_info().source_root;
  throw InputError("the source tree is not found: set RETENSOR_ROOT");
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string source_root() {
  if (const auto root = named_root()) return *root;
  std::error_code ignored;
  const auto root = root_above(fs::current_path(ignored));
  return root ? *root : own_root();
}

std::string default_recipes() {
  const auto root = named_root();
  return (fs::path(root ? *root : own_root()) / "datasets" / "recipes").string();
}

std::string default_registry() {
  return (fs::path(source_root()) / "datasets" / "registry.yaml").string();
}

bool is_installed(const std::string& root) {
  std::error_code ignored;
  return fs::exists(fs::path(root) / "installed.txt", ignored);
}

std::string default_cache() {
  if (const auto given = environment("RETENSOR_CACHE"); !given.empty()) return given;
  const auto root = source_root();
  if (!is_installed(root)) return (fs::path(root) / "cache").string();
  const auto caches = environment("XDG_CACHE_HOME");
  return ((caches.empty() ? fs::path(environment("HOME")) / ".cache" : fs::path(caches)) /
          "retensor")
      .string();
}

std::string shared_cache() {
  return environment("RETENSOR_SHARED_CACHE");
}

std::string experiments_root() {
  return (fs::path(source_root()) / "experiments").string();
}

}  // namespace retensor::driver
