#include "experiments/driver/run/foreign/folder.hpp"

#include <filesystem>
#include <fstream>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/core/error.hpp"
#include "common/io/cache.hpp"
#include "common/io/matrix_market.hpp"
#include "common/io/tns.hpp"
#include "experiments/driver/run/foreign/foreign_run.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int kProtocol = 1;

json shape_of(const Matrix& matrix) {
  return {matrix.rows(), matrix.cols()};
}

json problem_json(const Case& c, const Problem& problem) {
  auto operands = json::array();
  for (const auto& matrix : problem.dense()) operands.push_back(shape_of(matrix));
  const auto whole = driver::to_json(c, nullptr);
  return {{"protocol", kProtocol},    {"operation", whole["operation"]},
          {"mode", whole["mode"]},    {"rank", whole["rank"]},
          {"dtype", whole["dtype"]},  {"dims", problem.x().dims},
          {"nnz", problem.x().nnz()}, {"tensor", "tensor." + c.foreign->format},
          {"operands", operands},     {"result", shape_of(result_matrix(problem))},
          {"params", whole["params"]}};
}

void write_tensor(const std::string& path, const std::string& format, const Coo& tensor) {
  if (format == "tnsb") return write_cache(path, tensor);
  if (format == "mtx") return write_matrix_market(path, tensor);
  write_tns(path, tensor, TnsHeader::none);
}

void write_values(const fs::path& path, const Matrix& matrix) {
  std::ofstream out(path, std::ios::binary);
  matrix.values().visit([&](const auto& values) {
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(matrix.bytes()));
  });
  out.close();
  if (!out) throw SystemError(path.string() + ": the file can't be written");
}

}  // namespace

Matrix result_matrix(const Problem& problem) {
  const auto& dims = problem.x().dims;
  const auto mode = static_cast<std::size_t>(problem.mode());
  switch (problem.operation()) {
    case Operation::mttkrp_all:
      return {std::accumulate(dims.begin(), dims.end(), std::uint64_t{0}), problem.rank(),
              problem.dtype()};
    case Operation::spmm:
      return {dims[0], problem.rank(), problem.dtype()};
    case Operation::ttm_chain: {
      std::uint64_t columns = 1;
      for (std::size_t m = 0; m < dims.size(); ++m)
        if (m != mode) columns *= problem.dense()[m].cols();
      return {dims[mode], columns, problem.dtype()};
    }
    default:
      return {dims[mode], problem.rank(), problem.dtype()};
  }
}

ProblemFolder::ProblemFolder(const Case& c, const Problem& problem) {
  write_tensor((scratch_.path() / ("tensor." + c.foreign->format)).string(), c.foreign->format,
               problem.x());
  std::ofstream out(scratch_.path() / "problem.json");
  out << problem_json(c, problem).dump(2) << '\n';
  out.close();
  if (!out) throw SystemError(path() + "/problem.json: the file can't be written");
}

std::string ProblemFolder::write_operands(const std::vector<Matrix>& dense) {
  const auto name = fmt::format("operands-{}", sets_++ % 2);
  fs::create_directories(scratch_.path() / name);
  for (std::size_t m = 0; m < dense.size(); ++m)
    write_values(scratch_.path() / name / fmt::format("{}.bin", m), dense[m]);
  return name;
}

void ProblemFolder::read_matrix(const std::string& name, Matrix& into) const {
  const auto path = scratch_.path() / name;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw InputError(fmt::format("wrote no file '{}'", name));
  const auto size = fs::file_size(path);
  if (size != into.bytes())
    throw InputError(fmt::format("found a result of {} bytes, expected {}: {} x {} values of {}",
                                 size, into.bytes(), into.rows(), into.cols(),
                                 retensor::name(into.dtype())));
  std::ifstream in(path, std::ios::binary);
  into.values().visit([&](auto& values) {
    in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(size));
  });
  if (!in) throw InputError(fmt::format("the file '{}' can't be read", name));
}

void ProblemFolder::remove(const std::string& name) const {
  std::error_code ignored;
  fs::remove(scratch_.path() / name, ignored);
}

}  // namespace retensor::driver
