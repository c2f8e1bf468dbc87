// The project's own registry against the sizes that the papers print.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "experiments/driver/datasets.hpp"
#include "experiments/driver/locations.hpp"

using namespace retensor;
using namespace retensor::driver;

namespace {

const DatasetRegistry& registry() {
  static const auto loaded = DatasetRegistry::load(default_registry());
  return loaded;
}

/// 65000 of "65K", 3.72e-9 of "3.72E-9".
double printed(const std::string& text) {
  std::size_t used = 0;
  const double number = std::stod(text, &used);
  const auto unit = text.substr(used);
  REQUIRE((unit.empty() || unit == "K" || unit == "M"));
  return number * (unit == "M" ? 1e6 : unit == "K" ? 1e3 : 1);
}

std::vector<double> printed_dims(const std::string& text) {
  std::vector<double> dims;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (word != "x") dims.push_back(printed(word));
  return dims;
}

double density(const Dataset& d) {
  auto density = static_cast<double>(d.nnz);
  for (const auto length : d.dims) density /= static_cast<double>(length);
  return density;
}

bool close(double a, double b, double tolerance) {
  return std::abs(a / b - 1) <= tolerance;
}

bool agrees(const Dataset& d, const nlohmann::json& quoted) {
  constexpr double kRounding = 0.03;
  const auto dims = printed_dims(quoted["dims"].get<std::string>());
  REQUIRE(dims.size() == d.dims.size());
  bool all = close(static_cast<double>(d.nnz), printed(quoted["nnz"]), kRounding) &&
             close(density(d), printed(quoted["density"]), kRounding);
  for (std::size_t m = 0; m < dims.size(); ++m)
    all = all && close(static_cast<double>(d.dims[m]), dims[m], kRounding);
  return all;
}

}  // namespace

TEST_CASE("synthetic tensors of PASTA have the printed sizes or say which reading was taken") {
  int found = 0;
  for (const auto& [name, d] : registry().all()) {
    if (d.kind != "generated" || !d.paper.contains("pasta")) continue;
    CAPTURE(name);
    const auto& quoted = d.paper["pasta"];
    CHECK(agrees(d, quoted) != quoted.contains("reading"));
    CHECK(d.recipe == (name.starts_with("reg") ? "kronecker" : "power_law"));
    CHECK(d.recipe_params["nnz"] == d.nnz);
    CHECK(d.recipe_params["dims"] == nlohmann::json(d.dims));
    ++found;
  }
  CHECK(found == 15);
}

TEST_CASE("small synthetic tensors of PASTA are made with their exact sizes") {
  for (const char* name : {"regS", "irrS4d"}) {
    const auto& d = registry().find(name);
    const auto tensor = generate(d.recipe, d.recipe_params);
    CHECK_NOTHROW(check_against_registry(d, tensor));
    CHECK_NOTHROW(tensor.check());
  }
}
