// retensor dataset: list, info, fetch, make, convert, verify.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/io/cache.hpp"
#include "common/machine/machine.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/exchange.hpp"
#include "experiments/driver/data/facts.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

const std::vector<std::string> kActions = {"list", "info", "fetch", "make", "convert", "verify"};

/// Not a number where the registry leaves a length or the number of nonzeros open.
double density(const Dataset& d) {
  if (d.nnz == 0 || !are_published(d.dims)) return std::nan("");
  return static_cast<double>(d.nnz) / cells_in(d.dims);
}

void print_modes(const Dims& dims, const json& facts) {
  std::vector<TableRow> rows = {
      {"mode", "length", "fibers", "nonzeros/fiber", "slices", "largest slice", "slice Gini"}};
  for (std::size_t m = 0; m < dims.size(); ++m)
    rows.push_back({std::to_string(m), std::to_string(dims[m]), facts["fibers"][m].dump(),
                    fmt::format("{:.3f}", facts["per_fiber"][m].get<double>()),
                    facts["slices"][m].dump(), facts["largest_slice"][m].dump(),
                    fmt::format("{:.4f}", facts["slice_gini"][m].get<double>())});
  std::cout << '\n' << table_text(rows);
}

void print_tiles(const json& facts) {
  std::vector<TableRow> rows = {{"tile edge", "tiles", "nonzeros/tile"}};
  for (const char* edge : {"8", "16"}) {
    const auto& tile = facts[std::string("tile") + edge];
    rows.push_back(
        {edge, tile["tiles"].dump(), fmt::format("{:.3f}", tile["per_tile"].get<double>())});
  }
  std::cout << '\n' << table_text(rows);
}

/// Factors of the rank that most of the papers' figures have.
void print_factors(const Dims& dims) {
  ProblemSpec problem;
  problem.rank = 16;
  std::cout << fmt::format("\nfactors of rank {}: {}; last-level cache of this processor: {}\n",
                           problem.rank, bytes_text(factor_bytes(problem, dims)),
                           bytes_text(cpu_facts().llc_bytes));
}

void add_stand_in(std::vector<TableRow>& rows, const Dataset& d) {
  const auto original = d.stand_in["for"].get<std::string>();
  rows.push_back({"stand-in", fmt::format("for {}, variant {}", original, d.variant)});
  for (const char* what : {"fitted_to", "residual", "assumed"})
    if (d.stand_in.contains(what)) rows.push_back({what, d.stand_in[what].dump()});
  for (const auto& [variant, changes] : d.stand_in["variants"].items())
    rows.push_back({"@" + variant, changes.dump()});
}

/// Whether the tensor would have to be generated first, at a size that takes long.
bool takes_long(const Dataset& d, const DatasetRegistry& datasets, const std::string& cache) {
  constexpr Count kQuick = 5'000'000;
  return generators().contains(d.recipe) && d.nnz > kQuick &&
         !fs::exists(datasets.cache_file(d, cache));
}

/// What the registry says of a data set.
std::vector<TableRow> entry_rows(const Dataset& d) {
  std::vector<TableRow> rows = {
      {"name", d.name},
      {"kind", d.kind},
      {"form", d.form},
      {"dims", dims_text(d.dims)},
      {"nnz", d.nnz == 0 ? "?" : std::to_string(d.nnz)},
      {"density", std::isnan(density(d)) ? "?" : fmt::format("{:.4g}", density(d))},
      {"source", d.source},
      {"licence", d.licence},
      {"pass on", d.kind == "file"     ? "not stated"
                  : d.may_be_passed_on ? "allowed"
                                       : "not allowed or not stated"}};
  if (!d.cite.empty()) rows.push_back({"cite", d.cite});
  if (!d.aliases.empty()) rows.push_back({"also called", joined(d.aliases, ", ")});
  if (!d.fetch.url.empty()) rows.push_back({"address", d.fetch.url});
  if (generators().contains(d.recipe))
    rows.push_back({"generator", d.recipe + " " + d.recipe_params.dump()});
  if (!d.variant.empty()) add_stand_in(rows, d);
  if (d.paper.is_object())
    for (const auto& [paper, facts] : d.paper.items())
      rows.push_back({"as published", paper + " " + facts.dump()});
  return rows;
}

/// Why its facts can't be told now; empty where they can.
std::string obstacle_to_facts(const Dataset& d, const DatasetRegistry& datasets,
                              const std::string& cache) {
  if (takes_long(d, datasets, cache))
    return fmt::format("not made yet: retensor dataset make {}", d.name);
  return datasets.obstacle(d, cache);
}

void info(const std::string& name, const DatasetRegistry& datasets, const std::string& cache) {
  const auto& d = datasets.with_facts(name);
  auto rows = entry_rows(d);
  if (const auto obstacle = obstacle_to_facts(d, datasets, cache); !obstacle.empty()) {
    rows.push_back({"not here", obstacle});
    std::cout << table_text(rows);
    return;
  }
  const bool cached = fs::exists(datasets.cache_file(d, cache));
  const auto checksum = datasets.checksum(d, cache);
  const auto facts = kept_facts(cache, checksum, [&] { return datasets.obtain(d, cache); });
  rows.push_back({"sha256", checksum});
  rows.push_back({"cache", datasets.cache_file(d, cache) + (cached ? "" : " (made now)")});
  std::cout << table_text(rows);
  print_modes(datasets.cached_facts(d, cache).dims, facts);
  print_tiles(facts);
  print_factors(d.dims);
}

json info_json(const std::string& name, const DatasetRegistry& datasets, const std::string& cache) {
  const auto& d = datasets.with_facts(name);
  json told = {{"name", d.name},     {"kind", d.kind},
               {"form", d.form},     {"dims", d.dims},
               {"nnz", d.nnz},       {"density", density(d)},
               {"source", d.source}, {"licence", d.licence},
               {"recipe", d.recipe}, {"params", d.recipe_params},
               {"paper", d.paper},   {"stand_in", d.stand_in}};
  told["obstacle"] = obstacle_to_facts(d, datasets, cache);
  if (told["obstacle"] != "") return told;
  told["sha256"] = datasets.checksum(d, cache);
  told["cache"] = datasets.cache_file(d, cache);
  told["facts"] = kept_facts(cache, told["sha256"], [&] { return datasets.obtain(d, cache); });
  return told;
}

void print_info(const Args& names, const DatasetRegistry& datasets, const std::string& cache,
                bool as_json) {
  auto list = json::array();
  for (const auto& name : names)
    if (as_json)
      list.push_back(info_json(name, datasets, cache));
    else
      info(name, datasets, cache);
  if (as_json) std::cout << list.dump(2) << '\n';
}

/// Whether the set, made afresh or taken from the cache, is what the registry states: {name, state:
/// ok | wrong | skipped, detail: its checksum or the reason}.
json verify(const std::string& name, const DatasetRegistry& datasets, const std::string& cache) {
  const auto& d = datasets.find(name);
  if (const auto obstacle = datasets.obstacle(d, cache); !obstacle.empty())
    return {{"name", name}, {"state", "skipped"}, {"detail", obstacle}};
  try {
    datasets.obtain(d, cache)->check();
    return {{"name", name}, {"state", "ok"}, {"detail", datasets.checksum(d, cache)}};
  } catch (const InputError& e) {
    return {{"name", name}, {"state", "wrong"}, {"detail", e.what()}};
  }
}

/// A copy that can travel, for the user's own use where the terms say so.
void write_copy(const Dataset& d, const std::string& path, const Coo& tensor,
                const std::string& recipes) {
  const auto& format = exchange_format("", path);
  if (format.name != "tns" && format.name != "tnsb")
    throw input_error("{}: found ending '{}', expected .tns or .tnsb", path,
                      fs::path(path).extension().string());
  write_exchange(format, path, tensor, recipes);
  if (!d.may_be_passed_on)
    std::cerr << fmt::format("{}: for your own use only: {}\n", path, d.licence);
}

int make(Dataset d, const std::string& copy, const DatasetRegistry& datasets,
         const std::string& cache, const Given& given) {
  if (const auto input = given.text("input"); !input.empty()) {
    if (!d.needs_input)
      throw input_error("data set {} takes no --input: it is {}", d.name,
                        d.recipe.empty() ? "a file" : "made by " + d.recipe);
    d.input = fs::absolute(given.get<std::string>("input")).lexically_normal().string();
  }
  const auto tensor = datasets.obtain(d, cache);
  if (!copy.empty()) write_copy(d, copy, *tensor, given.locations().recipes);
  std::cout << (copy.empty() ? datasets.cache_file(d, cache) : copy) << '\n';
  return 0;
}

/// Of the sets named, of all by default: then those that take long to make are skipped.
int verify_all(std::vector<std::string> names, const DatasetRegistry& datasets,
               const std::string& cache, bool as_json) {
  const bool named = !names.empty();
  if (!named) names = datasets.names();
  auto list = json::array();
  for (const auto& name : names) {
    list.push_back(!named && takes_long(datasets.find(name), datasets, cache)
                       ? json{{"name", name},
                              {"state", "skipped"},
                              {"detail", "not made yet; name it to make it"}}
                       : verify(name, datasets, cache));
    const auto& told = list.back();
    if (!as_json)
      std::cout << fmt::format("{:<7}  {}: {}", told["state"].get<std::string>(), name,
                               told["detail"].get<std::string>())
                << std::endl;
  }
  if (as_json) std::cout << list.dump(2) << '\n';
  const auto is_wrong = [](const json& told) { return told["state"] == "wrong"; };
  return std::any_of(list.begin(), list.end(), is_wrong) ? 1 : 0;
}

void expect(const Args& rest, std::size_t least, std::size_t most, const char* what) {
  if (rest.size() < least || rest.size() > most) throw input_error("dataset: expected {}", what);
}

int dataset_command(const Given& given) {
  auto rest = given.positionals();
  if (rest.empty()) throw input_error("dataset: expected {}", in_words(kActions, "or"));
  const auto action = rest.front();
  place_among(kActions, action, "dataset: unknown action");
  rest.erase(rest.begin());
  const bool as_json = given.flag("json");
  if (as_json && action != "list" && action != "info" && action != "verify")
    throw input_error(
        "dataset {}: there is no --json: it prints only the path of the "
        "file that it writes",
        action);
  given.refuse_others_than(action, "for dataset " + action);
  if (action == "convert") {
    expect(rest, 2, 2, "convert INPUT OUTPUT");
    return convert_dataset(rest[0], rest[1], given);
  }
  const auto datasets = given.registry();
  const auto cache = given.cache();
  if (action == "verify") return verify_all(rest, datasets, cache, as_json);
  if (action == "list") {
    const auto list = datasets_json(datasets, cache);
    std::cout << (as_json ? list.dump(2) + '\n' : datasets_text(list));
  } else if (action == "info") {
    expect(rest, 1, rest.size() + 1, "info NAME...");
    print_info(rest, datasets, cache, as_json);
  } else if (action == "make") {
    expect(rest, 1, 2, "make NAME [FILE]");
    return make(datasets.find(rest[0]), rest.size() == 2 ? rest[1] : "", datasets, cache, given);
  } else {
    return fetch_datasets(rest, datasets, given);
  }
  return 0;
}

}  // namespace

Interface dataset_interface() {
  const Usage usage{
      "dataset list|info|fetch|make|convert|verify [NAME|FILE...]",
      "list: prints the data sets of the registry.\n"
      "info NAME...: prints size, density, fibers, tiles, skew, source, licence and checksum.\n"
      "fetch NAME... or fetch --paper ID: prints sizes and disk space, downloads the files over "
      "https and checks them. Called again, it resumes an interrupted download. Where a source "
      "publishes no checksum, the first fetch compares mode lengths, nonzeros and indices and "
      "records "
      "the checksum for later ones. It uses https_proxy. It reads files in $RETENSOR_SHARED_CACHE "
      "and does not copy them.\n"
      "make NAME [FILE]: obtains a data set, checks it against the registry and caches it. FILE "
      "(.tns or .tnsb) is a portable copy: in the cache folder of another machine, under the name "
      "of the data set, it is found there. --input PATH names your copy of the source where the "
      "registry says that the recipe needs one.\n"
      "convert INPUT OUTPUT: converts a tensor file, reads the result back and compares it. INPUT "
      "is a .tns, .mtx, .smtx, .tnsb, GenTen, .npz or HDF5 file (plain, gzip, zstd, or in a tar "
      "archive), or a folder of .mtx files, the slices of the last mode. Values that single "
      "precision would change stay in double precision.\n"
      "verify [NAME...]: compares data sets with the mode lengths, nonzeros and checksum of the "
      "registry. Without a name, it checks all data sets that are present or quick to make.",
      "retensor dataset make wordnet wordnet.tnsb", -1};
  Options add;
  add.locations();
  add("input", word("PATH"), "make: file or folder that the recipe reads");
  add_fetch_options(add);
  add_convert_options(add);
  add("json", flag(), "list, info, verify: print JSON instead of text");
  return {usage, add, dataset_command};
}

}  // namespace retensor::driver
