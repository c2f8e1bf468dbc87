// retensor tucker: a Tucker decomposition with the TTM-chain of a method.
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <boost/algorithm/string/join.hpp>

#include "common/core/error.hpp"
#include "common/cpd/text_params.hpp"
#include "common/generate/generators.hpp"
#include "common/io/tns.hpp"
#include "common/method/registry.hpp"
#include "common/tensor/semi_sparse.hpp"
#include "common/tucker/hooi.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/data/datasets.hpp"

namespace retensor::driver {
namespace {

/// Values of a dense tensor, its last mode fastest, as a file of coordinates.
void write_dense(const std::filesystem::path& path, const Dims& dims, const Values& values) {
  SemiSparseCoo dense{dims, {}, {}, values};
  for (int m = 0; m < dense.order(); ++m) dense.dense_modes.push_back(m);
  write_tns(path.string(), dense.to_coo());
}

void write_model(const std::filesystem::path& folder, const tucker::Settings& settings,
                 const tucker::Model& model) {
  std::filesystem::create_directories(folder);
  write_dense(folder / "core.tns", settings.ranks, model.core);
  for (std::size_t m = 0; m < model.factors.size(); ++m) {
    const Matrix& factor = model.factors[m];
    write_dense(folder / fmt::format("factor-{}.tns", m), {factor.rows(), factor.cols()},
                factor.values());
  }
}

/// Ids of the methods that have a TTM-chain here: the driver names no method.
std::vector<std::string> chain_methods(const Registry& registry) {
  ProblemSpec spec;
  spec.operation = Operation::ttm_chain;
  const Problem problem(spec, std::make_shared<const Coo>(uniform({16, 16, 16}, 1, 1, spec.dtype)));
  std::vector<std::string> ids;
  for (const auto& method : registry.methods())
    if (method->supports(problem, method->params().resolve({})).ok) ids.emplace_back(method->id());
  return ids;
}

tucker::Settings settings_of(const Given& given) {
  tucker::Settings settings;
  settings.ranks = given.get<Dims>("ranks");
  if (settings.ranks.empty()) throw InputError("expected --ranks, one for each mode");
  settings.max_sweeps = given.get<int>("sweeps");
  if (settings.max_sweeps < 1)
    throw InputError(fmt::format("--sweeps: found {}, expected 1 or more", settings.max_sweeps));
  settings.tolerance = given.get<double>("tolerance");
  settings.seed = given.get<std::uint64_t>("seed");
  return settings;
}

po::options_description all_options() {
  const tucker::Settings standard;
  po::options_description options;
  auto add = options.add_options();
  add("ranks", po::value<Dims>()->multitoken()->value_name("R..."),
      "lengths of the core, one for each mode");
  add("method", word("ID"), "method of ttm_chain");
  add("params", word("TEXT"), "its parameters, \"name=value name=value\"");
  add("sweeps", number("N", standard.max_sweeps), "most sweeps");
  add("tolerance", po::value<double>()->value_name("X")->default_value(standard.tolerance, "1e-5"),
      "smallest gain of the fit that continues");
  add("seed", number("N", standard.seed), "of the first factors");
  add("output", word("FOLDER"), "writes core.tns and factor-0.tns, factor-1.tns, ...");
  add_location_options(options);
  return options;
}

}  // namespace

int tucker_command(const Args& args) {
  const Registry registry = all_methods();
  const auto methods = chain_methods(registry);
  const Usage usage{
      "tucker TENSOR",
      "Decomposes a tensor (data set or file) by higher-order orthogonal iteration with the "
      "TTM-chain of a method and prints the fit after each sweep: 1 - |X - model| / |X|.",
      fmt::format("retensor tucker wordnet --ranks 8 4 8 --method {} --output out/tucker",
                  methods.empty() ? "ID" : methods.front()),
      1};
  const auto given = parse_options(usage, all_options(), args);
  if (!given) return 0;
  const auto name = given->positional("a data set or file");
  const auto settings = settings_of(*given);
  const auto method = given->text("method");
  if (method.empty())
    throw InputError(
        fmt::format("expected --method, one of {}", boost::algorithm::join(methods, ", ")));
  const auto datasets = given->registry();
  const auto tensor = datasets.obtain(datasets.with_facts(name), given->cache());

  tucker::Hooi hooi(tensor, settings, registry.find(method), cpd::params_in(given->text("params")));
  std::cout << "sweep  fit\n";
  while (!hooi.finished()) {
    hooi.sweep();
    const auto& fit = hooi.model().fit;
    std::cout << fmt::format("{:<5}  {:.6f}\n", fit.size(), fit.back()) << std::flush;
  }
  if (const auto output = given->text("output"); !output.empty())
    write_model(output, settings, hooi.model());
  return 0;
}

}  // namespace retensor::driver
