// From a registry entry to a tensor in memory. A tensor that was made or parsed is kept in the
// cache under a name that holds a digest of what it was made from, so that a changed file, recipe
// or parameter never meets an old tensor.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/io/cache.hpp"
#include "common/io/read.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/process.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

/// What a tensor comes from: one of a file, a recipe with its input, a generator; none with the
/// reason.
struct DatasetRegistry::Origin {
  std::string file, recipe, input, generator;
  std::string obstacle;
  json identity;
};

namespace {

/// The time of the last change of the file's state is the system's: no program can set it back.
json file_identity(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return {{"file", path}};
  const auto nanoseconds = [](const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; };
  return {{"file", path},
          {"inode", found.st_ino},
          {"bytes", found.st_size},
          {"written", nanoseconds(found.st_mtim)},
          {"changed", nanoseconds(found.st_ctim)}};
}

/// Files outlive their download: what was fetched is compared again whenever it is read.
void check_fetched(const Dataset& d, const std::string& path) {
  const auto again = fmt::format("remove it and fetch it again: retensor dataset fetch {}", d.name);
  if (const auto bytes = fs::file_size(path); bytes != static_cast<std::uintmax_t>(d.fetch.bytes))
    throw InputError(
        fmt::format("{}: found {} bytes, expected {}; {}", path, bytes, d.fetch.bytes, again));
  if (const auto found = sha256_file(path); found != d.fetch.sha256)
    throw InputError(
        fmt::format("{}: found SHA-256 {}, expected {}; {}", path, found, d.fetch.sha256, again));
}

/// A file of this name that the user put into the cache folder; empty when there is none.
std::string carried_file(const std::string& name, const std::string& cache_dir) {
  for (const char* ending : {".tnsb", ".tns", ".tns.gz", ".tns.zst", ".mtx", ".mtx.gz", ".mtx.zst"})
    if (const auto path = fs::path(cache_dir) / (name + ending); fs::is_regular_file(path))
      return path.string();
  return {};
}

/// File name for a data set that may be a path.
std::string file_stem(const std::string& name) {
  auto stem = fs::path(name).filename().string();
  return stem.substr(0, stem.find('.', 1));
}

/// Where the tensor is kept; the name holds a digest of what it is made from.
std::string cached_path(const Dataset& d, const json& identity, const std::string& cache_dir) {
  constexpr std::size_t kDigits = 12;
  const auto name =
      fmt::format("{}-{}.tnsb", file_stem(d.name), sha256_hex(identity.dump()).substr(0, kDigits));
  return (fs::path(cache_dir) / "tensors" / name).string();
}

/// What the user can do about data that is not here.
std::string how_to_give(const Dataset& d) {
  if (!d.fetch.url.empty())
    return fmt::format("not fetched: retensor dataset fetch {} ({} bytes)", d.name, d.fetch.bytes);
  return fmt::format("needs your copy: retensor dataset make {} --input PATH (source: {})", d.name,
                     d.source);
}

std::string argument(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

Coo run_recipe(const std::string& path, const std::string& input, const Dataset& d,
               const std::string& cache_dir) {
  const auto output = (fs::path(cache_dir) / fmt::format("{}-{}.tns", d.name, getpid())).string();
  std::vector<std::string> argv = {python_interpreter(), path, "--out", output};
  if (!input.empty()) argv.insert(argv.end(), {"--input", input});
  // In one word: a value that begins like an option stays a value.
  for (const auto& [key, value] : d.recipe_params.items())
    argv.push_back("--" + key + "=" + argument(value));
  const int code = run_process(argv, "", ChildOutput::to_stderr);
  try {
    if (code != 0)
      throw InputError(fmt::format("recipe {} ended with exit code {}", d.recipe, code));
    auto tensor = read_tensor(output);
    fs::remove(output);
    return tensor;
  } catch (...) {
    std::error_code ignored;
    fs::remove(output, ignored);
    throw;
  }
}

/// What text of so many nonzeros takes at most: an archive that holds more is not this data set.
std::uint64_t unpacked_limit(const Dataset& d) {
  constexpr std::uint64_t kHead = std::uint64_t{1} << 20;  // comments and mode lengths
  constexpr std::uint64_t kNumber = 64;
  const auto most = ReadOptions().max_unpacked_bytes;
  if (d.nnz > most / (kNumber * (kMaxOrder + 1))) return most;
  return std::min(most, kHead + d.nnz * (d.dims.size() + 1) * kNumber);
}

/// Null when there is no cache or it is damaged: then the origin decides.
std::shared_ptr<const Coo> read_cached(const Dataset& d, const std::string& path) {
  if (!fs::is_regular_file(path)) return nullptr;
  try {
    auto tensor = std::make_shared<const Coo>(read_cache(path));
    check_against_registry(d, *tensor);
    return tensor;
  } catch (const InputError&) {
    return nullptr;
  }
}

}  // namespace

std::string dims_text(const Dims& dims) {
  std::string text;
  for (const auto length : dims) text += (text.empty() ? "" : " x ") + std::to_string(length);
  return text;
}

void check_against_registry(const Dataset& d, const Coo& tensor) {
  const bool known = !d.dims.empty();
  if (known && tensor.dims != d.dims)
    throw InputError(fmt::format("data set {}: found dims {}, the registry states {}", d.name,
                                 dims_text(tensor.dims), dims_text(d.dims)));
  if (known && tensor.nnz() != d.nnz)
    throw InputError(fmt::format("data set {}: found {} nonzeros, the registry states {}", d.name,
                                 tensor.nnz(), d.nnz));
  if (d.sha256.empty()) return;
  if (const auto found = content_sha256(tensor); found != d.sha256)
    throw InputError(fmt::format("data set {}: found checksum {}, the registry states {}", d.name,
                                 found, d.sha256));
}

std::string DatasetRegistry::recipe_path(const std::string& recipe) const {
  return (fs::path(recipes_) / (recipe + ".py")).string();
}

DatasetRegistry::Origin DatasetRegistry::recipe_origin(const Dataset& d,
                                                       const std::string& cache_dir) const {
  Origin origin;
  origin.recipe = recipe_path(d.recipe);
  origin.identity = {{"recipe", sha256_file(origin.recipe)}, {"params", d.recipe_params}};
  if (!d.needs_input) return origin;
  const bool fetchable = !d.fetch.url.empty();
  if (fetchable) origin.identity["fetched"] = d.fetch.sha256;
  origin.input = fetchable && d.input.empty() ? fetched_file(d, cache_dir) : d.input;
  // What was made once is kept, and so is not asked for again.
  std::error_code error;
  if (!fs::exists(origin.input, error) &&
      !fs::is_regular_file(cached_path(d, origin.identity, cache_dir), error))
    origin.obstacle = !d.input.empty() ? d.input + ": no such file or folder" : how_to_give(d);
  return origin;
}

DatasetRegistry::Origin DatasetRegistry::origin_of(const Dataset& d,
                                                   const std::string& cache_dir) const {
  Origin origin;
  if (d.kind == "private") {
    origin.obstacle = "published facts only";
    return origin;
  }
  const bool is_entry = d.at.line != 0;
  if (is_entry) origin.file = carried_file(d.name, cache_dir);
  if (!origin.file.empty() && !d.input.empty())
    throw InputError(
        fmt::format("data set {}: {} stands for it; remove that file first", d.name, origin.file));
  if (origin.file.empty()) origin.file = d.file;
  if (!origin.file.empty()) {
    std::error_code error;
    if (!fs::is_regular_file(origin.file, error)) origin.obstacle = origin.file + ": no such file";
    origin.identity = file_identity(origin.file);
  } else if (generators().contains(d.recipe)) {
    origin.generator = d.recipe;
    origin.identity = {{"generator", d.recipe}, {"params", d.recipe_params}};
  } else if (!d.recipe.empty()) {
    return recipe_origin(d, cache_dir);
  } else if (!d.fetch.url.empty()) {
    origin.file = fetched_file(d, cache_dir);
    origin.identity = {{"fetched", d.fetch.sha256}};
    if (!fs::is_regular_file(origin.file)) origin.obstacle = how_to_give(d);
  } else {
    origin.obstacle = fmt::format("no file and no recipe; put {}.tns into {} (source: {})", d.name,
                                  cache_dir, d.source);
  }
  return origin;
}

std::string DatasetRegistry::cache_file(const Dataset& d, const std::string& cache_dir) const {
  const auto origin = origin_of(d, cache_dir);
  if (origin.file.ends_with(".tnsb")) return origin.file;
  return cached_path(d, origin.identity, cache_dir);
}

std::string DatasetRegistry::obstacle(const Dataset& d, const std::string& cache_dir) const {
  return origin_of(d, cache_dir).obstacle;
}

std::shared_ptr<const Coo> DatasetRegistry::obtain(const Dataset& d,
                                                   const std::string& cache_dir) const {
  const auto origin = origin_of(d, cache_dir);
  if (!origin.obstacle.empty())
    throw InputError(fmt::format("data set {}: {}", d.name, origin.obstacle));
  const auto cached = cache_file(d, cache_dir);
  if (d.input.empty())
    if (auto tensor = read_cached(d, cached)) return tensor;
  std::error_code error;
  if (d.needs_input && !origin.recipe.empty() && !fs::exists(origin.input, error))
    throw InputError(fmt::format("data set {}: {}", d.name, how_to_give(d)));
  fs::create_directories(fs::path(cached).parent_path(), error);
  if (error) throw SystemError(fmt::format("{}: {}", cache_dir, error.message()));
  for (const auto& read : {origin.file, origin.input})
    if (!d.fetch.url.empty() && read == fetched_file(d, cache_dir)) check_fetched(d, read);
  ReadOptions options;
  options.dims = d.dims;
  if (!d.dims.empty()) options.max_unpacked_bytes = unpacked_limit(d);
  auto tensor = std::make_shared<const Coo>(
      !origin.file.empty()        ? read_tensor(origin.file, options)
      : !origin.generator.empty() ? generate(origin.generator, d.recipe_params)
                                  : run_recipe(origin.recipe, origin.input, d, cache_dir));
  check_against_registry(d, *tensor);
  if (cached != origin.file) write_cache(cached, *tensor);
  return tensor;
}

CacheFacts DatasetRegistry::cached_facts(const Dataset& d, const std::string& cache_dir) const {
  const auto cached = cache_file(d, cache_dir);
  if (fs::is_regular_file(cached)) try {
      return read_cache_facts(cached);
    } catch (const ParseError&) {
      // Damaged: obtain() makes it anew, or says what is wrong with the user's own file.
    }
  obtain(d, cache_dir);
  return read_cache_facts(cached);
}

std::string DatasetRegistry::checksum(const Dataset& d, const std::string& cache_dir) const {
  return cached_facts(d, cache_dir).sha256;
}

}  // namespace retensor::driver
