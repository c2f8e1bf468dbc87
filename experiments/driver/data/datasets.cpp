// Reading registries and finding data sets; obtain.cpp gets the tensors.
#include "experiments/driver/data/datasets.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "common/core/text.hpp"
#include "common/io/cache.hpp"
#include "common/io/read.hpp"
#include "experiments/driver/yaml/files.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMaxLength = std::int64_t{1} << 32;  ///< 32-bit indices
const std::vector<std::string> kVariants = {"seed", "skew", "clustering"};
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int64_t>::max();

bool is_plain_name(const std::string& name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name[0] != '.' && name[0] != '-' &&
         name.find_first_not_of(kAllowed) == std::string::npos;
}

std::string file_of_url(const std::string& url) {
  const auto path = url.substr(0, url.find_first_of("?#"));
  return path.substr(path.rfind('/') + 1);
}

std::string word_of(const YamlNode& node, const std::string& what,
                    const std::vector<std::string>& words) {
  const auto word = as_text(node, what);
  if (std::find(words.begin(), words.end(), word) == words.end())
    refuse_unknown(node.at, what, word, words);
  return word;
}

Dims dims_of(const YamlNode& node) {
  Dims dims;
  for (const auto& item : as_list(node, "dims").items)
    dims.push_back(static_cast<std::uint64_t>(as_integer(item, "a mode length", 1, kMaxLength)));
  if (dims.size() > kMaxOrder)
    throw ParseError(node.at, fmt::format("{} modes", dims.size()),
                     fmt::format("at most {}", kMaxOrder));
  return dims;
}

std::string sha256_of(const YamlNode& node) {
  const auto text = as_text(node, "a SHA-256");
  if (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw ParseError(node.at, fmt::format("'{}'", text), "64 lower-case hexadecimal digits");
  return text;
}

std::string file_of(const YamlNode& node, const std::string& directory, const std::string& root) {
  const auto text = as_text(node, "the path of a file");
  const auto path = fs::weakly_canonical(fs::path(directory) / text).string();
  if (!lies_below(path, root))
    throw ParseError(node.at, fmt::format("'{}'", text), "a file below the registry's folder");
  return path;
}

/// The last part of an https address is the name under which the file is kept.
std::string url_of(const YamlNode& node) {
  const auto url = as_text(node, "an address");
  const bool printable =
      std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!url.starts_with("https://") || !printable || url.find('@') != std::string::npos ||
      !is_plain_name(file_of_url(url)))
    throw ParseError(node.at, fmt::format("'{}'", url), "https://host/.../file");
  return url;
}

FetchSource fetch_of(const YamlNode& node) {
  check_map(node, "fetch", {"url", "sha256", "bytes"});
  return {url_of(node.need("url")), sha256_of(node.need("sha256")),
          as_integer(node.need("bytes"), "the length of a file", 1, kMaxCount)};
}

/// A generator that is told no dims and nnz makes those of the entry.
void fill_target(Dataset& d) {
  const auto generator = generator_params().find(d.recipe);
  if (generator == generator_params().end()) return;
  const auto fill = [&](const char* param, const auto& value) {
    const auto& known = generator->second;
    if (std::find(known.begin(), known.end(), param) != known.end() &&
        !d.recipe_params.contains(param))
      d.recipe_params[param] = value;
  };
  fill("dims", d.dims);
  fill("nnz", d.nnz);
}

void read_make(Dataset& d, const YamlNode& make, const std::string& root) {
  if (!make.is_map()) throw ParseError(make.at, "no map", "make as a map");
  const auto& recipe = make.need("recipe");
  d.recipe = as_text(recipe, "a recipe");
  const auto& generators = generator_params();
  if (const auto known = generators.find(d.recipe); known != generators.end()) {
    auto keys = known->second;
    keys.insert(keys.begin(), "recipe");
    check_map(make, "make", keys);
  } else if (!is_plain_name(d.recipe) ||
             !fs::is_regular_file(fs::path(root) / "recipes" / (d.recipe + ".py"))) {
    std::vector<std::string> words;
    for (const auto& [name, params] : generators) words.push_back(name);
    std::error_code no_folder;
    for (const auto& entry : fs::directory_iterator(fs::path(root) / "recipes", no_folder))
      if (entry.path().extension() == ".py") words.push_back(entry.path().stem().string());
    std::sort(words.begin(), words.end());
    refuse_unknown(recipe.at, "recipe", d.recipe, words);
  }
  if (const auto* needs = make.find("needs")) {
    word_of(*needs, "needs", {"input"});
    d.needs_input = true;
  }
  d.recipe_params = to_json(make);
  d.recipe_params.erase("recipe");
  d.recipe_params.erase("needs");
  fill_target(d);
}

nlohmann::json map_of(const YamlNode& node, const std::string& what) {
  if (!node.is_map()) throw ParseError(node.at, "no map", what + " as a map");
  return to_json(node);
}

void check_kind(const Dataset& d) {
  const bool fetched = !d.fetch.url.empty();
  const bool obtainable = !d.file.empty() || !d.recipe.empty() || fetched;
  if (!d.file.empty() && !d.recipe.empty())
    throw ParseError(d.at, "both file and make", "one of them");
  if (fetched && (!d.file.empty() || (!d.recipe.empty() && !d.needs_input)))
    throw ParseError(d.at, "fetch beside a file or a recipe without needs: input", "one of them");
  if (d.kind == "private" && obtainable)
    throw ParseError(d.at, "a private data set with data", "published facts only");
  if (d.kind == "generated" && d.recipe.empty())
    throw ParseError(d.at, "a generated data set without make", "the key 'make'");
  if ((d.kind == "stand-in") != d.stand_in.is_object())
    throw ParseError(d.at, "stand_in without kind stand-in or the reverse", "both or neither");
  if (d.kind == "stand-in" && generator_params().count(d.recipe) == 0)
    throw ParseError(d.at, "a stand-in without a generator", "make with one");
}

nlohmann::json stand_in_of(const YamlNode& node) {
  check_map(node, "stand_in", {"for", "fitted_to", "residual", "assumed", "variants"});
  node.need("fitted_to");
  map_of(node.need("residual"), "residual");
  check_map(node.need("variants"), "variants", kVariants);
  auto stand_in = to_json(node);
  stand_in["for"] = as_text(node.need("for"), "a data set");
  return stand_in;
}

/// The stand-in with the parameters that one of its variants changes; dims and nnz stay.
Dataset variant_of(const Dataset& base, const std::string& variant, const YamlNode& changes) {
  auto params = generator_params().at(base.recipe);
  std::erase_if(params, [](const std::string& p) { return p == "dims" || p == "nnz"; });
  check_map(changes, "a variant", params);
  auto d = base;
  d.name += "@" + variant;
  d.variant = variant;
  d.at = changes.at;
  d.recipe_params.update(to_json(changes));
  if (d.recipe_params == base.recipe_params)
    throw ParseError(changes.at, fmt::format("variant '{}' without a change", variant),
                     "other parameters than the base's");
  return d;
}

/// `directory`: of the file that holds the entry; `root`: the registry's, which files may not
/// leave.
Dataset dataset_of(const YamlNode::Key& key, const YamlNode& entry, const std::string& directory,
                   const std::string& root) {
  check_map(entry, "a data set",
            {"kind", "form", "dims", "nnz", "paper", "source", "licence", "make", "sha256", "file",
             "fetch", "stand_in"});
  if (!is_plain_name(key.name))
    throw ParseError(key.at, fmt::format("'{}'", key.name), "a name of letters, digits, _ . -");
  Dataset d;
  d.name = key.name;
  d.at = key.at;
  d.kind = word_of(entry.need("kind"), "kind", {"real", "stand-in", "generated", "private"});
  d.form = word_of(entry.need("form"), "form", {"tensor", "matrix"});
  d.dims = dims_of(entry.need("dims"));
  if (d.form == "matrix" && d.dims.size() != 2)
    throw ParseError(entry.need("dims").at, fmt::format("{} modes", d.dims.size()),
                     "2 of a matrix");
  d.nnz = static_cast<Count>(as_integer(entry.need("nnz"), "nnz", 0, kMaxCount));
  d.source = as_text(entry.need("source"), "a source");
  d.licence = as_text(entry.need("licence"), "a licence");
  if (const auto* sha256 = entry.find("sha256")) d.sha256 = sha256_of(*sha256);
  if (const auto* file = entry.find("file")) d.file = file_of(*file, directory, root);
  if (const auto* make = entry.find("make")) read_make(d, *make, root);
  if (const auto* fetch = entry.find("fetch")) d.fetch = fetch_of(*fetch);
  if (const auto* paper = entry.find("paper")) d.paper = map_of(*paper, "paper");
  if (const auto* stand_in = entry.find("stand_in")) {
    d.stand_in = stand_in_of(*stand_in);
    d.variant = "base";
  }
  check_kind(d);
  return d;
}

/// A registry with the files that it includes. Every file and every name stands once.
class Reader {
 public:
  Reader(const std::string& path, std::map<std::string, Dataset>& datasets)
      : root_(folder_of(path)), datasets_(datasets) {
    files_.insert(fs::weakly_canonical(fs::absolute(path)).string());
  }

  void read(std::string_view text, const std::string& path) {
    auto tree = parse_yaml(text, path);
    if (tree.is_map()) check_schema(tree);
    check_map(tree, "a registry", {"schema", "include", "datasets"});
    const auto& entries = tree.need("datasets");
    if (!entries.is_map()) throw ParseError(entries.at, "no map", "datasets as a map");
    for (std::size_t k = 0; k < entries.keys.size(); ++k) {
      const auto d = dataset_of(entries.keys[k], entries.items[k], folder_of(path), root_);
      add(d);
      if (d.kind != "stand-in") continue;
      const auto& variants = entries.items[k].need("stand_in").need("variants");
      for (const auto& variant : kVariants) add(variant_of(d, variant, variants.need(variant)));
    }
    if (const auto* include = tree.find("include"))
      for (const auto& entry : as_list(*include, "include").items) read_included(entry, path);
  }

  /// What stands in has to be known.
  void check_originals() const {
    std::vector<std::string> names;
    for (const auto& [name, d] : datasets_) names.push_back(name);
    for (const auto& [name, d] : datasets_)
      if (d.variant == "base" && datasets_.count(d.stand_in["for"].get<std::string>()) == 0)
        refuse_unknown(d.at, "data set", d.stand_in["for"].get<std::string>(), names);
  }

  static std::string folder_of(const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path)).parent_path().string();
  }

 private:
  void add(Dataset d) {
    const auto [at, is_new] = datasets_.try_emplace(d.name, d);
    if (!is_new)
      throw ParseError(d.at, fmt::format("'{}' a second time", d.name),
                       fmt::format("a name of its own (the first is in {}:{})", at->second.at.file,
                                   at->second.at.line));
  }

  void read_included(const YamlNode& entry, const std::string& from) {
    const auto word = as_text(entry, "the path of a file");
    const auto path = (fs::path(from).parent_path() / word).lexically_normal().string();
    if (fs::path(word).is_absolute() || !lies_below(path, root_))
      throw ParseError(entry.at, fmt::format("'{}'", word), "a file below the registry's folder");
    if (!files_.insert(fs::weakly_canonical(fs::absolute(path)).string()).second)
      throw ParseError(entry.at, fmt::format("'{}' a second time", word),
                       "includes that name a file once and no file that leads to them");
    try {
      read(read_small_file(path), path);
    } catch (const ParseError&) {
      throw;
    } catch (InputError& e) {
      e.add_context(fmt::format("{}:{}", entry.at.file, entry.at.line));
      throw;
    }
  }

  std::string root_;
  std::map<std::string, Dataset>& datasets_;
  std::set<std::string> files_;
};

/// m, n and k of "matmul-<m>-<n>-<k>"; a mode length such as m n must fit 32-bit indices.
std::optional<std::array<std::uint64_t, 3>> matmul_sizes(const std::string& name) {
  constexpr std::string_view kPrefix = "matmul";
  constexpr std::uint64_t kMaxSize = 65535;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::array<std::uint64_t, 3> sizes{};
  const char* at = name.data() + kPrefix.size();
  const char* const end = name.data() + name.size();
  for (auto& size : sizes) {
    if (at == end || *at != '-') return std::nullopt;
    const auto [next, error] = std::from_chars(at + 1, end, size);
    if (error != std::errc() || size == 0 || size > kMaxSize) return std::nullopt;
    at = next;
  }
  return at == end ? std::optional(sizes) : std::nullopt;
}

Dataset matmul_dataset(const std::string& name, const std::array<std::uint64_t, 3>& sizes) {
  const auto [m, n, k] = sizes;
  Dataset d;
  d.name = name;
  d.kind = "generated";
  d.form = "tensor";
  d.dims = {m * n, n * k, m * k};
  d.nnz = m * n * k;
  d.recipe = "matmul";
  d.recipe_params = {{"m", m}, {"n", n}, {"k", k}};
  d.source = fmt::format("tensor of the product of {} x {} and {} x {} matrices", m, n, n, k);
  d.licence = "CC0";
  return d;
}

Dataset path_dataset(const std::string& path) {
  Dataset d;
  d.name = path;
  d.kind = "file";
  d.form = "tensor";
  d.file = fs::absolute(path).lexically_normal().string();
  d.source = "file " + fs::path(path).filename().string();
  d.licence = "not stated";
  return d;
}

}  // namespace

nlohmann::json data_object(const Dataset& d, const std::string& sha256, const Dims& dims,
                           Count nnz) {
  nlohmann::json data = {{"kind", d.kind}, {"sha256", sha256}, {"dims", dims}, {"nnz", nnz}};
  if (d.kind == "stand-in") {
    data["for"] = d.stand_in["for"];
    data["variant"] = d.variant;
  }
  if (!d.paper.is_object() || d.paper.empty()) return data;
  for (const auto& [id, quoted] : d.paper.items()) data["papers"].push_back(id);
  return data;
}

std::string DatasetRegistry::fetched_file(const Dataset& d, const std::string& cache_dir) const {
  if (d.fetch.url.empty())
    throw InputError(fmt::format("data set {}: the registry has no address to fetch it from ({})",
                                 d.name, d.source));
  constexpr std::size_t kDigits = 12;
  const auto name = d.fetch.sha256.substr(0, kDigits) + "-" + file_of_url(d.fetch.url);
  return (fs::path(cache_dir) / "fetched" / name).string();
}

DatasetRegistry DatasetRegistry::load(const std::string& path) {
  return parse(read_small_file(path), path);
}

DatasetRegistry DatasetRegistry::parse(std::string_view text, const std::string& path) {
  DatasetRegistry registry;
  registry.directory_ = Reader::folder_of(path);
  Reader reader(path, registry.datasets_);
  reader.read(text, path);
  reader.check_originals();
  return registry;
}

std::vector<std::string> DatasetRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, dataset] : datasets_) names.push_back(name);
  return names;
}

std::vector<std::string> DatasetRegistry::with_variants(const std::string& name) const {
  if (find(name).variant != "base")
    throw InputError(fmt::format("data set '{}' is no stand-in and has no variants", name));
  std::vector<std::string> names = {name};
  for (const auto& variant : kVariants) names.push_back(name + "@" + variant);
  return names;
}

const Dataset& DatasetRegistry::find(const std::string& name) const {
  if (const auto at = datasets_.find(name); at != datasets_.end()) return at->second;
  if (const auto sizes = matmul_sizes(name)) return datasets_[name] = matmul_dataset(name, *sizes);
  std::error_code error;
  if (fs::is_regular_file(name, error)) return datasets_[name] = path_dataset(name);
  throw InputError(
      fmt::format("unknown data set '{}', nearest is '{}'", name, nearest(name, names())));
}

const Dataset& DatasetRegistry::with_facts(const std::string& name) const {
  find(name);
  auto& d = datasets_[name];
  if (!d.dims.empty()) return d;
  if (fs::path(d.file).extension() == ".tnsb") {
    const auto facts = read_cache_facts(d.file);
    d.dims = facts.dims;
    d.nnz = facts.nnz;
  } else {
    const auto tensor = read_tensor(d.file);
    d.dims = tensor.dims;
    d.nnz = tensor.nnz();
  }
  if (d.dims.size() == 2) d.form = "matrix";
  return d;
}

}  // namespace retensor::driver
