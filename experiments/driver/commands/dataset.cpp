// retensor dataset: list, info, fetch, make, convert, verify.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "common/io/cache.hpp"
#include "common/machine/machine.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/dataset.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/commands/table.hpp"
#include "experiments/driver/data/exchange.hpp"
#include "experiments/driver/data/facts.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

const std::vector<std::string> kActions = {"list", "info", "fetch", "make", "convert", "verify"};

double density(const Dataset& d) {
  if (std::find(d.dims.begin(), d.dims.end(), 0) != d.dims.end()) return std::nan("");
  double cells = 1;
  for (const auto length : d.dims) cells *= static_cast<double>(length);
  return static_cast<double>(d.nnz) / cells;
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

void info(const std::string& name, const DatasetRegistry& datasets, const std::string& cache) {
  const auto& d = datasets.with_facts(name);
  auto obstacle = datasets.obstacle(d, cache);
  std::vector<TableRow> rows = {
      {"name", d.name},
      {"kind", d.kind},
      {"form", d.form},
      {"dims", dims_text(d.dims)},
      {"nnz", std::to_string(d.nnz)},
      {"density", fmt::format("{:.4g}", density(d))},
      {"source", d.source},
      {"licence", d.licence},
      {"pass on", d.may_be_passed_on ? "allowed" : "not allowed or not stated"}};
  if (!d.cite.empty()) rows.push_back({"cite", d.cite});
  if (!d.aliases.empty()) rows.push_back({"also called", joined(d.aliases, ", ")});
  if (!d.fetch.url.empty()) rows.push_back({"address", d.fetch.url});
  if (generators().contains(d.recipe))
    rows.push_back({"generator", d.recipe + " " + d.recipe_params.dump()});
  if (!d.variant.empty()) add_stand_in(rows, d);
  if (d.paper.is_object())
    for (const auto& [paper, facts] : d.paper.items())
      rows.push_back({"as published", paper + " " + facts.dump()});
  if (takes_long(d, datasets, cache))
    obstacle = fmt::format("not made yet: retensor dataset make {}", name);
  if (!obstacle.empty()) {
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

/// Whether the set, made afresh or taken from the cache, is what the registry states.
bool verify(const std::string& name, const DatasetRegistry& datasets, const std::string& cache) {
  const auto& d = datasets.find(name);
  if (const auto obstacle = datasets.obstacle(d, cache); !obstacle.empty()) {
    std::cout << fmt::format("skipped  {}: {}\n", name, obstacle);
    return true;
  }
  try {
    datasets.obtain(d, cache)->check();
    std::cout << fmt::format("ok       {}: {}\n", name, datasets.checksum(d, cache));
    return true;
  } catch (const InputError& e) {
    std::cout << fmt::format("wrong    {}: {}\n", name, e.what());
    return false;
  }
}

/// A copy that can travel, for the user's own use where the terms say so.
void write_copy(const Dataset& d, const std::string& path, const Coo& tensor,
                const std::string& recipes) {
  const auto& format = exchange_format("", path);
  if (format.name != "tns" && format.name != "tnsb")
    throw InputError(fmt::format("{}: found ending '{}', expected .tns or .tnsb", path,
                                 fs::path(path).extension().string()));
  write_exchange(format, path, tensor, recipes);
  if (!d.may_be_passed_on)
    std::cerr << fmt::format("{}: for your own use only: {}\n", path, d.licence);
}

int make(Dataset d, const std::string& copy, const DatasetRegistry& datasets,
         const std::string& cache, const Given& given) {
  if (const auto input = given.text("input"); !input.empty()) {
    if (!d.needs_input)
      throw InputError(fmt::format("data set {} takes no --input: it is {}", d.name,
                                   d.recipe.empty() ? "a file" : "made by " + d.recipe));
    d.input = fs::absolute(given.get<std::string>("input")).lexically_normal().string();
  }
  const auto tensor = datasets.obtain(d, cache);
  if (!copy.empty()) write_copy(d, copy, *tensor, given.locations().recipes);
  std::cout << (copy.empty() ? datasets.cache_file(d, cache) : copy) << '\n';
  return 0;
}

/// The names; those that need to be asked for are listed as skipped.
std::vector<std::string> names_to_verify(const DatasetRegistry& datasets,
                                         const std::string& cache) {
  std::vector<std::string> names;
  for (const auto& [name, d] : datasets.all())
    if (takes_long(d, datasets, cache))
      std::cout << fmt::format("skipped  {}: not made yet; name it to make it\n", name);
    else
      names.push_back(name);
  return names;
}

int verify_all(std::vector<std::string> names, const DatasetRegistry& datasets,
               const std::string& cache) {
  if (names.empty()) names = names_to_verify(datasets, cache);
  bool all_ok = true;
  for (const auto& name : names) all_ok = verify(name, datasets, cache) && all_ok;
  return all_ok ? 0 : 1;
}

void expect(const Args& rest, std::size_t least, std::size_t most, const char* what) {
  if (rest.size() < least || rest.size() > most)
    throw InputError(fmt::format("dataset: expected {}", what));
}

}  // namespace

int dataset_command(const Args& args) {
  const Usage usage{
      "dataset list|info|fetch|make|convert|verify [NAME|FILE...]",
      "list: all data sets of the registry.\n"
      "info NAME...: size, density, fibers, tiles, skew, source, licence, checksum.\n"
      "fetch NAME... or fetch --paper ID: says sizes and disk space, downloads the files over "
      "https and verifies them; a call that was cut is continued by the next. Where a source "
      "publishes no checksum, the first fetch compares dims, nonzeros and indices and records "
      "the checksum for all later ones. https_proxy is heeded; what lies in the folder "
      "$RETENSOR_SHARED_CACHE is read there.\n"
      "make NAME [FILE]: obtains a data set, checks it against the registry and caches it; FILE "
      "(.tns "
      "or .tnsb) is a copy that can travel: put into the cache folder of another machine under the "
      "name of the data set, it is found there. --input PATH names your copy of the source where "
      "the registry says that the recipe needs one.\n"
      "convert INPUT OUTPUT: a tensor file in another format, read back and compared. INPUT is a "
      ".tns, .mtx, .smtx, .tnsb, GenTen, .npz or HDF5 file (plain, gzip, zstd, or in a tar "
      "archive), or a folder of .mtx files, the slices of the last mode.\n"
      "verify [NAME...]: compares data sets with dims, nonzeros and checksum of the registry; "
      "without a name all that are here or quickly made.",
      "retensor dataset make wordnet wordnet.tnsb", -1};
  po::options_description options;
  add_location_options(options);
  auto add = options.add_options();
  add("input", word("PATH"), "make: file or folder that the recipe reads");
  add_fetch_options(options);
  add_convert_options(options);
  const auto given = parse_options(usage, options, args);
  if (!given) return 0;
  auto rest = given->positionals();
  if (rest.empty())
    throw InputError("dataset: expected list, info, fetch, make, convert or verify");
  const auto action = rest.front();
  rest.erase(rest.begin());
  if (action == "convert") {
    expect(rest, 2, 2, "convert INPUT OUTPUT");
    return convert_dataset(rest[0], rest[1], *given);
  }
  const auto datasets = given->registry();
  const auto cache = given->cache();
  if (action == "verify") return verify_all(rest, datasets, cache);
  if (action == "list") {
    std::cout << datasets_text(datasets, cache);
  } else if (action == "info") {
    expect(rest, 1, rest.size() + 1, "info NAME...");
    for (const auto& name : rest) info(name, datasets, cache);
  } else if (action == "make") {
    expect(rest, 1, 2, "make NAME [FILE]");
    return make(datasets.find(rest[0]), rest.size() == 2 ? rest[1] : "", datasets, cache, *given);
  } else if (action == "fetch") {
    return fetch_datasets(rest, datasets, *given);
  } else {
    throw InputError(fmt::format("dataset: unknown action '{}', the nearest is '{}'", action,
                                 nearest(action, kActions)));
  }
  return 0;
}

}  // namespace retensor::driver
