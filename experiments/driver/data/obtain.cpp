// From a registry entry to a tensor in memory. A tensor that was made or parsed is kept in the
// cache under a name that holds a digest of what it was made from, so that a changed file, recipe
// or parameter never meets an old tensor.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "common/core/hash.hpp"
#include "common/core/message.hpp"
#include "common/io/cache.hpp"
#include "common/io/files.hpp"
#include "common/io/read.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/process.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

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

/// Where a file of a cache is: in one's own, else in the shared one, else where it would be made.
std::string kept_at(const std::string& cache_dir, const std::string& relative) {
  const auto own = fs::path(cache_dir) / relative;
  std::error_code error;
  if (fs::exists(own, error) || shared_cache().empty()) return own.string();
  const auto shared = fs::path(shared_cache()) / relative;
  return fs::exists(shared, error) ? shared.string() : own.string();
}

/// A file of this name that the user put into the cache folder; empty when there is none.
std::string carried_file(const std::string& name, const std::string& cache_dir) {
  for (const char* ending : {".tnsb", ".tns", ".tns.gz", ".tns.zst", ".mtx", ".mtx.gz", ".mtx.zst"})
    if (const auto path = kept_at(cache_dir, name + ending); fs::is_regular_file(path)) return path;
  return {};
}

/// File name for a data set that may be a path.
std::string file_stem(const std::string& name) {
  auto stem = fs::path(name).filename().string();
  return stem.substr(0, stem.find('.', 1));
}

/// Where the tensor is kept; the name holds a digest of what it is made from.
std::string cached_path(const Dataset& d, const json& identity) {
  constexpr std::size_t kDigits = 12;
  const auto name =
      fmt::format("{}-{}.tnsb", file_stem(d.name), sha256_hex(identity.dump()).substr(0, kDigits));
  return (fs::path("tensors") / name).string();
}

/// What the user can do about data that is not here.
std::string how_to_give(const Dataset& d) {
  const auto by_hand = fmt::format("retensor dataset make {} --input PATH", d.name);
  if (d.fetch.url.empty())
    return fmt::format("needs your copy: {} (source: {})", by_hand, d.source);
  return fmt::format(
      "not fetched: retensor dataset fetch {}{}{}", d.name,
      d.fetch.bytes == 0
          ? ""
          : fmt::format(" ({})", count_text(static_cast<Count>(d.fetch.bytes), "byte")),
      d.needs_input ? ", or with your copy: " + by_hand : "");
}

Coo run_recipe(const std::string& path, const std::string& input, const Dataset& d,
               const std::string& cache_dir) {
  const auto output = (fs::path(cache_dir) / fmt::format("{}-{}.tns", d.name, getpid())).string();
  std::vector<std::string> argv = {python_interpreter(), path, "--out", output};
  if (!input.empty()) argv.insert(argv.end(), {"--input", input});
  // In one word: a value that begins like an option stays a value.
  for (const auto& [key, value] : d.recipe_params.items())
    argv.push_back("--" + key + "=" + plain_text(value));
  const int code = run_process(argv, "", ChildOutput::to_stderr);
  try {
    if (code != 0) throw input_error("recipe {} ended with exit code {}", d.recipe, code);
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

/// What the file or folder of a recipe holds: the digests of its files.
json content_identity(const std::string& path) {
  if (!fs::is_directory(path)) return sha256_file(path);
  std::map<std::string, std::string> digests;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file())
      digests[fs::relative(entry.path(), path).string()] = sha256_file(entry.path().string());
  return digests;
}

/// What an unpinned file is known by is its address: what it holds is compared by its record.
json fetched_identity(const Dataset& d) {
  return d.fetch.sha256.empty() ? d.fetch.url : d.fetch.sha256;
}

bool all_there(const std::vector<FetchedFile>& files) {
  return std::ranges::all_of(files,
                             [](const FetchedFile& f) { return fs::is_regular_file(f.path); });
}

/// Which mode of the file is mode m of the registry, where the lengths tell; empty: they do not.
std::vector<int> modes_by_dims(const Dims& file, const Dims& wanted) {
  std::vector<int> modes;
  for (const auto length : wanted) {
    int m = 0;
    const auto fits = [&] {
      return file[m] == length && std::ranges::find(modes, m) == modes.end();
    };
    while (m < static_cast<int>(file.size()) && !fits()) ++m;
    if (m == static_cast<int>(file.size())) return {};
    modes.push_back(m);
  }
  return modes;
}

void order_modes(Coo& tensor, const Dims& wanted) {
  const auto modes = modes_by_dims(tensor.dims, wanted);
  if (modes.size() == tensor.dims.size()) tensor = with_modes(std::move(tensor), modes);
}

Coo read_file(const Dataset& d, const std::string& path) {
  ReadOptions options;
  const bool published = are_published(d.dims);
  if (published && !d.any_mode_order) options.dims = d.dims;
  options.index_base = d.index_base;
  options.dtype = d.type;
  if (published && !d.dims.empty()) options.max_unpacked_bytes = unpacked_limit(d);
  auto tensor = read_tensor(path, options);
  if (d.any_mode_order) order_modes(tensor, d.dims);
  return tensor;
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

/// Lengths that are not published fit any.
bool fits(const Dims& found, const Dims& stated) {
  return std::equal(found.begin(), found.end(), stated.begin(), stated.end(),
                    [](auto f, auto s) { return s == 0 || f == s; });
}

}  // namespace

std::string dims_text(const Dims& dims) {
  std::string text;
  for (const auto length : dims)
    text += (text.empty() ? "" : " x ") + (length == 0 ? "?" : std::to_string(length));
  return text;
}

bool are_published(const Dims& dims) {
  return std::ranges::find(dims, 0) == dims.end();
}

void check_against_registry(const Dataset& d, const Coo& tensor) {
  const bool known = !d.dims.empty();
  if (known && !fits(tensor.dims, d.dims))
    throw input_error("data set {}: found dims {}, the registry states {}", d.name,
                      dims_text(tensor.dims), dims_text(d.dims));
  const bool counted = known && (d.nnz > 0 || are_published(d.dims));
  if (counted && tensor.nnz() != d.nnz)
    throw input_error("data set {}: found {}, the registry states {}", d.name,
                      count_text(tensor.nnz(), "nonzero"), d.nnz);
  if (d.sha256.empty()) return;
  if (const auto found = content_sha256(tensor); found != d.sha256)
    throw input_error("data set {}: found checksum {}, the registry states {}", d.name, found,
                      d.sha256);
}

DatasetRegistry::Origin DatasetRegistry::recipe_origin(const Dataset& d,
                                                       const std::string& cache_dir) const {
  Origin origin;
  origin.recipe = (fs::path(recipes_) / (d.recipe + ".py")).string();
  origin.identity = {{"recipe", sha256_file(origin.recipe)}, {"params", d.recipe_params}};
  if (!d.file.empty()) {
    origin.input = d.file;
    if (fs::exists(d.file))
      origin.identity["file"] = content_identity(d.file);
    else
      origin.obstacle = d.file + ": no such file or folder";
  }
  if (!d.needs_input) return origin;
  const bool fetchable = !d.fetch.url.empty();
  if (fetchable) origin.identity["fetched"] = fetched_identity(d);
  const bool take_fetched = fetchable && d.input.empty();
  origin.input = take_fetched ? kept_at(cache_dir, fetched_path(d.fetch)) : d.input;
  std::error_code error;
  const bool here =
      take_fetched ? all_there(fetched(d, cache_dir)) : fs::exists(origin.input, error);
  // What was made once is kept, and so is not asked for again.
  if (!here && !fs::is_regular_file(kept_at(cache_dir, cached_path(d, origin.identity)), error))
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
    throw input_error("data set {}: {} stands for it; remove that file first", d.name, origin.file);
  if (origin.file.empty() && d.recipe.empty()) origin.file = d.file;
  if (!origin.file.empty()) {
    std::error_code error;
    if (!fs::is_regular_file(origin.file, error)) origin.obstacle = origin.file + ": no such file";
    origin.identity = file_identity(origin.file);
    if (d.type != DType::f32) origin.identity["type"] = name(d.type);
  } else if (generators().contains(d.recipe)) {
    origin.generator = d.recipe;
    origin.identity = {{"generator", d.recipe}, {"params", d.recipe_params}};
  } else if (!d.recipe.empty()) {
    return recipe_origin(d, cache_dir);
  } else if (!d.fetch.url.empty()) {
    origin.file = fetched(d, cache_dir).front().path;
    origin.identity = {{"fetched", fetched_identity(d)}};
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
  return kept_at(cache_dir, cached_path(d, origin.identity));
}

std::vector<FetchedFile> DatasetRegistry::fetched(const Dataset& d,
                                                  const std::string& cache_dir) const {
  if (d.fetch.url.empty())
    throw input_error("data set {}: the registry has no address to fetch it from ({})", d.name,
                      d.source);
  auto files = fetched_files(d.fetch);
  for (auto& file : files) file.path = kept_at(cache_dir, file.path);
  return files;
}

Checksums DatasetRegistry::checksums(const std::string& cache_dir) const {
  return {folder_, shared_cache(), cache_dir};
}

/// Files outlive their download: what was fetched is compared again whenever it is read.
void DatasetRegistry::check_fetched(const Dataset& d, const std::string& cache_dir) const {
  const auto known = checksums(cache_dir);
  try {
    for (const auto& file : fetched(d, cache_dir)) known.check(d.fetch, file.url, file.path);
  } catch (const InputError& e) {
    throw input_error("{}; remove it and fetch it again: retensor dataset fetch {}", e.what(),
                      d.name);
  }
}

/// Once the tensor is what the registry states, its files are known by their checksums.
void DatasetRegistry::record_fetched(const Dataset& d, const std::string& cache_dir) const {
  auto known = checksums(cache_dir);
  for (const auto& file : fetched(d, cache_dir))
    if (known.expected(d.fetch, file.url).empty()) known.record(file.url, file.path);
}

std::string DatasetRegistry::obstacle(const Dataset& d, const std::string& cache_dir) const {
  return origin_of(d, cache_dir).obstacle;
}

std::shared_ptr<const Coo> DatasetRegistry::obtain(const Dataset& d,
                                                   const std::string& cache_dir) const {
  const auto origin = origin_of(d, cache_dir);
  if (!origin.obstacle.empty()) throw input_error("data set {}: {}", d.name, origin.obstacle);
  const auto kept = cache_file(d, cache_dir);
  if (d.input.empty())
    if (auto tensor = read_cached(d, kept)) return tensor;
  const auto cached =
      kept == origin.file ? kept : (fs::path(cache_dir) / cached_path(d, origin.identity)).string();
  std::error_code error;
  if (d.needs_input && !origin.recipe.empty() && !fs::exists(origin.input, error))
    throw input_error("data set {}: {}", d.name, how_to_give(d));
  make_folder(fs::path(cached).parent_path());
  const auto kept_files = d.fetch.url.empty() ? "" : kept_at(cache_dir, fetched_path(d.fetch));
  const bool reads_fetched =
      !kept_files.empty() && (origin.file == kept_files || origin.input == kept_files);
  if (reads_fetched) check_fetched(d, cache_dir);
  auto tensor = std::make_shared<const Coo>(
      !origin.file.empty()        ? read_file(d, origin.file)
      : !origin.generator.empty() ? generate(origin.generator, d.recipe_params)
                                  : run_recipe(origin.recipe, origin.input, d, cache_dir));
  check_against_registry(d, *tensor);
  if (reads_fetched) record_fetched(d, cache_dir);
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
