// Reading registries and finding data sets; obtain.cpp gets the tensors.
#include "experiments/driver/data/datasets.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <boost/algorithm/string.hpp>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/io/cache.hpp"
#include "common/io/read.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

Dims dims_of(const YamlNode& node) {
  return transformed(node.items, [](const YamlNode& item) {
    return item.text == "?" ? 0 : static_cast<std::uint64_t>(as_integer(item));
  });
}

std::string file_of(const YamlNode& node, const std::string& directory, const std::string& root) {
  const auto path = fs::path(directory) / node.text;
  if (!lies_below(path.string(), root))  // nor does a name that no folder can hold
    throw ParseError(node.at, shown(node.text), "a file below the registry's folder");
  return fs::weakly_canonical(path).string();
}

FetchSource fetch_of(const YamlNode& node) {
  const auto* bytes = node.find("bytes");
  return {node.need("url").text, text_or(node, "sha256"), bytes ? as_integer(*bytes) : 0};
}

/// A generator that is told no dims and nnz makes those of the entry.
void fill_target(Dataset& d) {
  const auto generator = generators().find(d.recipe);
  if (generator == generators().end()) return;
  const nlohmann::json target = {{"dims", d.dims}, {"nnz", d.nnz}};
  for (const auto& param : generator->second.params)
    if (target.contains(param) && !d.recipe_params.contains(param))
      d.recipe_params[param] = target[param];
}

/// Names of recipes and of the parameters that a registry may set (recipes.yaml); none in a folder
/// without that file.
using Recipes = std::map<std::string, std::vector<std::string>>;

Recipes read_recipes(const std::string& folder) {
  const auto path = (fs::path(folder) / "recipes.yaml").string();
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const auto tree = load_yaml(path, recipes_shape());
  Recipes recipes;
  for (const auto& entry : tree.items_of("recipes"))
    for (auto& params = recipes[entry.key]; const auto& item : entry.items)
      params.push_back(item.text);
  return recipes;
}

/// Generators have the parameters that their shape states; those of recipes are declared.
void check_recipe(const YamlNode& make, const Recipes& recipes) {
  const auto& name = make.need("recipe");
  if (generators().contains(name.text)) return;
  const auto recipe = recipes.find(name.text);
  if (recipe == recipes.end()) {
    auto words = names_of(generators());
    for (const auto& known : names_of(recipes)) words.push_back(known);
    refuse_unknown(name.at, "recipe", name.text, words);
  }
  auto words = recipe->second;
  words.insert(words.end(), {"recipe", "needs"});
  for (const auto& param : make.items)
    if (std::ranges::find(words, param.key) == words.end())
      refuse_unknown(param.key_at, "parameter of " + name.text, param.key, words);
}

void read_make(Dataset& d, const YamlNode& make, const Recipes& recipes) {
  check_recipe(make, recipes);
  d.recipe = make.need("recipe").text;
  d.needs_input = text_or(make, "needs") == "input";
  if (!d.file.empty() && text_or(make, "needs") != "file")
    throw ParseError(d.at, "both file and make", "one of them, or make with needs: file");
  d.recipe_params = to_json(make);
  d.recipe_params.erase("recipe");
  d.recipe_params.erase("needs");
  fill_target(d);
}

void check_kind(const Dataset& d) {
  const bool fetched = !d.fetch.url.empty();
  const bool obtainable = !d.file.empty() || !d.recipe.empty() || fetched;
  if (fetched && !d.fetch.sha256.empty() && fetched_files(d.fetch).size() != 1)
    throw ParseError(d.at, "a checksum of several files", "one address, or no checksum");
  if (fetched && (!d.file.empty() || (!d.recipe.empty() && !d.needs_input)))
    throw ParseError(d.at, "fetch beside a file or a recipe without needs: input", "one of them");
  const bool open = std::ranges::find(d.dims, 0) != d.dims.end();
  if (open && (!d.kind.starts_with("real") || generators().contains(d.recipe)))
    throw ParseError(d.at, "a mode length that is not published",
                     "one that is published, or a real data set");
  if (d.kind == "private" && obtainable)
    throw ParseError(d.at, "a private data set with data", "published facts only");
  if (d.kind == "generated" && d.recipe.empty() && d.file.empty())
    throw ParseError(d.at, "a generated data set without make", "the key 'make' or 'file'");
  if ((d.kind == "stand-in") != d.stand_in.is_object())
    throw ParseError(d.at, "stand_in without kind stand-in or the reverse", "both or neither");
  if (d.kind == "stand-in" && !generators().contains(d.recipe))
    throw ParseError(d.at, "a stand-in without a generator", "make with one");
}

IndexBase base_of(const std::string& word) {
  return word == "zero"         ? IndexBase::zero
         : word == "by_content" ? IndexBase::by_content
                                : IndexBase::one;
}

/// Where it comes from and on what terms. What was measured elsewhere is passed on only where its
/// entry says that it may be.
void read_terms(Dataset& d, const YamlNode& entry) {
  d.source = entry.need("source").text;
  d.licence = entry.need("licence").text;
  d.cite = text_or(entry, "cite");
  const auto* pass_on = entry.find("pass_on");
  d.may_be_passed_on =
      pass_on ? pass_on->text == "true" : d.kind == "stand-in" || d.kind == "generated";
  for (const auto& alias : entry.items_of("aliases")) d.aliases.push_back(alias.text);
}

/// The stand-in with the parameters that one of its variants changes; dims and nnz stay.
Dataset variant_of(const Dataset& base, const std::string& variant, const YamlNode& changes) {
  stand_in_variant_shape(base.recipe)->check(changes);
  auto d = base;
  d.name += "@" + variant;
  d.variant = variant;
  d.at = changes.at;
  d.sha256.clear();  // the base's
  d.recipe_params.update(to_json(changes));
  if (d.recipe_params == base.recipe_params)
    throw ParseError(changes.at, fmt::format("variant '{}' without a change", variant),
                     "other parameters than the base's");
  return d;
}

/// `directory`: of the file that holds the entry; `root`: the registry's, which files may not
/// leave.
Dataset dataset_of(const YamlNode& entry, const std::string& directory, const std::string& root,
                   const Recipes& recipes) {
  Dataset d;
  d.name = entry.key;
  d.at = entry.key_at;
  d.kind = entry.need("kind").text;
  d.form = entry.need("form").text;
  d.dims = dims_of(entry.need("dims"));
  if (d.form == "matrix" && d.dims.size() != 2)
    throw ParseError(entry.need("dims").at, fmt::format("{} modes", d.dims.size()),
                     "2 of a matrix");
  d.nnz = static_cast<Count>(as_integer(entry.need("nnz")));
  read_terms(d, entry);
  d.index_base = base_of(text_or(entry, "index_base"));
  d.any_mode_order = entry.find("mode_order") != nullptr;
  d.sha256 = text_or(entry, "sha256");
  if (const auto* file = entry.find("file")) d.file = file_of(*file, directory, root);
  if (const auto* make = entry.find("make")) read_make(d, *make, recipes);
  if (const auto* fetch = entry.find("fetch")) d.fetch = fetch_of(*fetch);
  if (const auto* paper = entry.find("paper")) d.paper = to_json(*paper);
  if (const auto* stand_in = entry.find("stand_in")) {
    d.stand_in = to_json(*stand_in);
    d.stand_in["for"] = stand_in->need("for").text;
    d.variant = "base";
  }
  check_kind(d);
  return d;
}

/// A registry with the files that it includes. Every file and every name stands once.
class Reader {
 public:
  Reader(const std::string& path, const std::string& recipes,
         std::map<std::string, Dataset>& datasets)
      : root_(folder_of(path)), recipes_(read_recipes(recipes)), datasets_(datasets) {
    files_.insert(fs::weakly_canonical(fs::absolute(path)).string());
  }

  void take(const YamlNode& tree, const std::string& path) {
    const auto folder = folder_of(path);
    for (const auto& entry : tree.items_of("datasets")) {
      const auto d = dataset_of(entry, folder, root_, recipes_);
      add(d);
      if (d.kind != "stand-in") continue;
      const auto& variants = entry.need("stand_in").need("variants");
      for (const auto& variant : stand_in_variants())
        add(variant_of(d, variant, variants.need(variant)));
    }
    for (const auto& entry : tree.items_of("include")) read_included(entry, path);
  }

  /// What stands in has to be known.
  void check_originals() const {
    for (const auto& [name, d] : datasets_) {
      if (d.variant != "base") continue;
      const std::string original = d.stand_in["for"];
      if (!datasets_.contains(original))
        refuse_unknown(d.at, "data set", original, names_of(datasets_));
    }
  }

  /// Data sets by their other names, which name nothing else.
  std::map<std::string, std::string> aliases() const {
    std::map<std::string, std::string> names;
    for (const auto& [name, d] : datasets_)
      for (const auto& alias : d.variant.empty() ? d.aliases : std::vector<std::string>{})
        if (datasets_.contains(alias) || !names.try_emplace(alias, name).second)
          throw ParseError(d.at, fmt::format("the alias '{}' a second time", alias),
                           "a name of its own");
    return names;
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
    const auto& word = entry.text;
    const auto path = (fs::path(from).parent_path() / word).lexically_normal().string();
    if (fs::path(word).is_absolute() || !lies_below(path, root_))
      throw ParseError(entry.at, shown(word), "a file below the registry's folder");
    if (!files_.insert(fs::weakly_canonical(fs::absolute(path)).string()).second)
      throw ParseError(entry.at, shown(word) + " a second time",
                       "includes that name a file once and no file that leads to them");
    located({entry.at.file, entry.at.line}, [&] { take(load_yaml(path, registry_shape()), path); });
  }

  std::string root_;
  const Recipes recipes_;
  std::map<std::string, Dataset>& datasets_;
  std::set<std::string> files_;
};

/// m, n and k of "matmul-<m>-<n>-<k>": 16 bits each, so that a mode length m n has 32.
std::optional<std::array<std::uint64_t, 3>> matmul_sizes(const std::string& name) {
  std::vector<std::string> words;
  boost::split(words, name, boost::is_any_of("-"));
  std::array<std::uint64_t, 3> sizes{};
  if (words.size() != 1 + sizes.size() || words.front() != "matmul") return std::nullopt;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    sizes[k] = number_in<std::uint16_t>(words[k + 1]).value_or(0);
    if (sizes[k] == 0) return std::nullopt;
  }
  return sizes;
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

Dataset path_dataset(const std::string& path, DType type) {
  Dataset d;
  d.type = type;
  d.name = path;
  d.kind = "file";
  d.form = "tensor";
  d.file = fs::absolute(path).lexically_normal().string();
  d.source = "file " + fs::path(path).filename().string();
  d.licence = "not stated";
  return d;
}

}  // namespace

const std::vector<std::string>& stand_in_variants() {
  static const std::vector<std::string> names = {"seed", "skew", "clustering"};
  return names;
}

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

nlohmann::json terms_of(const Dataset& d) {
  nlohmann::json terms = {
      {"source", d.source}, {"licence", d.licence}, {"pass_on", d.may_be_passed_on}};
  if (!d.cite.empty()) terms["cite"] = d.cite;
  return terms;
}

DatasetRegistry DatasetRegistry::load(const std::string& path, const std::string& recipes) {
  return parse(read_small_file(path), path, recipes);
}

DatasetRegistry DatasetRegistry::parse(std::string_view text, const std::string& path,
                                       const std::string& recipes) {
  const auto tree = parse_yaml(text, path, registry_shape());
  DatasetRegistry registry;
  registry.folder_ = Reader::folder_of(path);
  registry.recipes_ = recipes;
  Reader reader(path, recipes, registry.datasets_);
  reader.take(tree, path);
  reader.check_originals();
  registry.aliases_ = reader.aliases();
  return registry;
}

std::vector<std::string> DatasetRegistry::names() const {
  return names_of(datasets_);
}

std::vector<std::string> DatasetRegistry::with_variants(const std::string& name) const {
  if (find(name).variant != "base")
    throw input_error("data set '{}' is not a stand-in and has no variants", name);
  std::vector<std::string> names = {name};
  for (const auto& variant : stand_in_variants()) names.push_back(name + "@" + variant);
  return names;
}

const Dataset& DatasetRegistry::find(const std::string& name) const {
  if (const auto at = datasets_.find(name); at != datasets_.end()) return at->second;
  if (const auto at = aliases_.find(name); at != aliases_.end()) return datasets_.at(at->second);
  if (const auto sizes = matmul_sizes(name)) return datasets_[name] = matmul_dataset(name, *sizes);
  std::error_code error;
  if (fs::is_regular_file(name, error)) return datasets_[name] = path_dataset(name, path_type_);
  auto words = names();
  for (const auto& alias : names_of(aliases_)) words.push_back(alias);
  const auto meant = suggestion(name, words);
  const bool is_path = fs::exists(name, error) || fs::path(name).has_extension();
  throw input_error("unknown data set '{}'{}", name,
                    meant.empty() || is_path
                        ? ", expected a tensor file or a name that 'retensor list datasets' prints"
                        : meant);
}

std::string DatasetRegistry::restriction(const Dims& dims, Count nnz) const {
  const auto same = [&](const Dataset& d) {
    return d.nnz == nnz &&
           std::is_permutation(dims.begin(), dims.end(), d.dims.begin(), d.dims.end());
  };
  for (const auto& [name, d] : datasets_)
    if (!d.may_be_passed_on && same(d))
      return fmt::format("the size of {}: for your own use only: {}", name, d.licence);
  return {};
}

const Dataset& DatasetRegistry::with_facts(const std::string& name) const {
  auto& d = datasets_[find(name).name];
  if (!d.dims.empty()) return d;
  if (fs::path(d.file).extension() == ".tnsb") {
    const auto facts = read_cache_facts(d.file);
    d.dims = facts.dims;
    d.nnz = facts.nnz;
  } else {
    ReadOptions options;
    options.dtype = d.type;
    const auto tensor = read_tensor(d.file, options);
    d.dims = tensor.dims;
    d.nnz = tensor.nnz();
  }
  if (d.dims.size() == 2) d.form = "matrix";
  return d;
}

}  // namespace retensor::driver
