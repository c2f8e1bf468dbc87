// The generators of common/generate by the names and parameters that registries use. A registry
// gives all parameters by name; those of a target (dims, nnz, seed, values) are the same for every
// law.
#include "common/generate/generators.hpp"

#include <array>
#include <cmath>
#include <set>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/data/datasets.hpp"

namespace retensor::driver {
namespace {

using nlohmann::json;

/// Refuses what no count can be; a fraction below zero as a count is undefined behaviour.
void check_counts(const json& params) {
  static const std::set<std::string> fractions = {"clustering", "dense_fill", "dense_share",
                                                  "exponent",   "fill",       "initiator",
                                                  "noise",      "sigma",      "skew"};
  constexpr double kMost = 1e15;  // doubles tell whole numbers apart up to here
  const auto is_count = [](double v) { return v >= 0 && v <= kMost && v == std::floor(v); };
  for (const auto& [name, value] : params.items())
    for (const auto& number : value.is_array() ? value : json::array({value}))
      if (!fractions.contains(name) && number.is_number_float() && !is_count(number))
        throw input_error("found {} as {}, expected a whole number from 0", number.dump(), name);
}

Target target_of(const json& p) {
  Target target;
  p.at("dims").get_to(target.dims);
  p.at("nnz").get_to(target.nnz);
  target.seed = p.value("seed", target.seed);
  if (p.contains("values")) target.values = value_model_from_name(p["values"].get<std::string>());
  return target;
}

/// Either the binary initiator's skew and clustering or an initiator of one's own.
Coo make_kronecker(const json& p) {
  const auto target = target_of(p);
  if (p.contains("skew"))
    return kronecker(target, binary_initiator(static_cast<int>(target.dims.size()),
                                              p["skew"].get<double>(), p.value("clustering", 0.0)));
  return kronecker(
      target, {p.at("initiator_dims").get<Dims>(), p.at("initiator").get<std::vector<double>>()});
}

Coo make_power_law(const json& p) {
  PowerLaw law;
  if (p.contains("exponent"))
    law.exponents = p["exponent"].is_array() ? p["exponent"].get<std::vector<double>>()
                                             : std::vector{p["exponent"].get<double>()};
  law.slice_modes = p.value("slice_modes", law.slice_modes);
  law.run = p.value("run", law.run);
  law.group = p.value("group", law.group);
  return power_law(target_of(p), law);
}

TileSpread spread_from_name(const std::string& name) {
  constexpr std::array kNames = {"equal", "exponential", "power_law"};
  return static_cast<TileSpread>(place_among(kNames, name, "unknown spread"));
}

Coo make_tiled(const json& p) {
  TiledLaw law;
  law.edge = p.value("edge", law.edge);
  p.at("tiles").get_to(law.tiles);
  law.dense_share = p.value("dense_share", law.dense_share);
  law.dense_fill = p.value("dense_fill", law.dense_fill);
  law.spread = spread_from_name(p.value("spread", std::string("exponential")));
  law.exponent = p.value("exponent", law.exponent);
  return tiled(target_of(p), law);
}

/// The parameters of a target and the law's own.
std::vector<std::string> with_target(std::vector<std::string> own) {
  own.insert(own.begin(), {"dims", "nnz", "seed", "values"});
  return own;
}

}  // namespace

const std::map<std::string, Generator>& generators() {
  static const std::map<std::string, Generator> table = {
      {"uniform",
       {with_target({}),
        [](const json& p) {
          const auto t = target_of(p);
          return uniform(t.dims, t.nnz, t.seed, t.dtype, t.values);
        }}},
      {"matmul",
       {{"m", "n", "k"},
        [](const json& p) { return matmul_tensor(p.at("m"), p.at("n"), p.at("k")); }}},
      {"kronecker",
       {with_target({"skew", "clustering", "initiator_dims", "initiator"}), make_kronecker}},
      {"power_law", {with_target({"exponent", "slice_modes", "run", "group"}), make_power_law}},
      {"tiled",
       {with_target({"edge", "tiles", "dense_share", "dense_fill", "spread", "exponent"}),
        make_tiled}},
      {"banded",
       {with_target({"lower", "upper"}),
        [](const json& p) {
          return banded(target_of(p), {p.at("lower"), p.at("upper")});
        }}},
      {"block_diagonal",
       {with_target({"blocks"}),
        [](const json& p) { return block_diagonal(target_of(p), {p.at("blocks")}); }}},
      {"poisson_2d",
       {{"nx", "ny"}, [](const json& p) { return poisson_2d(p.at("nx"), p.at("ny")); }}},
      {"low_rank",
       {with_target({"rank", "noise"}),
        [](const json& p) {
          return low_rank(target_of(p), {p.at("rank"), p.value("noise", 0.0)});
        }}},
      {"sampled_uniform",
       {{"dims", "nnz", "seed"}, [](const json& p) { return sampled_uniform(target_of(p)); }}},
      {"sampled_zipf",
       {{"dims", "nnz", "seed", "exponent"},
        [](const json& p) { return sampled_zipf(target_of(p), p.at("exponent")); }}},
      {"sampled_clusters",
       {{"dims", "nnz", "seed", "centers", "sigma"},
        [](const json& p) {
          return sampled_clusters(target_of(p), {p.at("centers"), p.at("sigma")});
        }}},
      {"sampled_blocks",
       {{"dims", "nnz", "seed", "edge", "fill"},
        [](const json& p) {
          return sampled_blocks(target_of(p), {p.at("edge"), p.at("fill")});
        }}},
  };
  return table;
}

Coo generate(const std::string& generator, const json& params) {
  const auto at = generators().find(generator);
  if (at == generators().end()) throw InputError("unknown generator '" + generator + "'");
  check_counts(params);
  try {
    return at->second.make(params);
  } catch (const json::exception& e) {
    throw input_error("generator {}: {}", generator, e.what());
  }
}

}  // namespace retensor::driver
