// The generators of common/generate by the names and parameters that registries use.
#include <functional>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "experiments/driver/datasets.hpp"

namespace retensor::driver {
namespace {

using nlohmann::json;

struct Generator {
  std::vector<std::string> params;
  std::function<Coo(const json&)> make;
};

Coo make_uniform(const json& p) {
  const auto values = value_model_from_name(p.value("values", std::string("uniform")));
  return uniform(p.at("dims").get<Dims>(), p.at("nnz").get<Count>(), p.value("seed", 1ULL),
                 DType::f32, values);
}

Coo make_matmul(const json& p) {
  const auto size = [&p](const char* name) { return p.at(name).get<std::uint64_t>(); };
  return matmul_tensor(size("m"), size("n"), size("k"));
}

const std::map<std::string, Generator>& generators() {
  static const std::map<std::string, Generator> table = {
      {"uniform", {{"dims", "nnz", "seed", "values"}, make_uniform}},
      {"matmul", {{"m", "n", "k"}, make_matmul}},
  };
  return table;
}

}  // namespace

const std::map<std::string, std::vector<std::string>>& generator_params() {
  static const auto names = [] {
    std::map<std::string, std::vector<std::string>> result;
    for (const auto& [name, generator] : generators()) result[name] = generator.params;
    return result;
  }();
  return names;
}

Coo generate(const std::string& generator, const json& params) {
  try {
    return generators().at(generator).make(params);
  } catch (const json::exception& e) {
    throw InputError(fmt::format("generator {}: {}", generator, e.what()));
  }
}

}  // namespace retensor::driver
