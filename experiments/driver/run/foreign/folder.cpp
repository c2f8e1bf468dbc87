#include "experiments/driver/run/foreign/folder.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/core/message.hpp"
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

json shape_of(Result result) {
  if (const auto entries = entries_of(result))
    return {{"dims", entries->dims}, {"values", entries->width}};
  return shape_of(std::get<Matrix>(result));
}

json tensor_json(const Coo& tensor, const std::string& file) {
  return {{"dims", tensor.dims}, {"nnz", tensor.nnz()}, {"tensor", file}};
}

bool has_second(const Problem& problem) {
  return problem.operation() == Operation::tew || problem.operation() == Operation::contraction;
}

json problem_json(const Case& c, const Problem& problem) {
  auto operands = json::array();
  for (const auto& matrix : operands_of(problem)) operands.push_back(shape_of(matrix));
  const auto whole = driver::to_json(c, nullptr);
  auto described = tensor_json(problem.x(), "tensor." + c.foreign->format);
  described.update({{"protocol", kProtocol},
                    {"operation", whole["operation"]},
                    {"variant", problem.spec().variant},
                    {"mode", whole["mode"]},
                    {"rank", whole["rank"]},
                    {"dtype", whole["dtype"]},
                    {"operands", operands},
                    {"result", shape_of(empty_result(problem))},
                    {"params", whole["params"]}});
  if (problem.operation() == Operation::contraction) described["alpha"] = problem.spec().alpha;
  if (has_second(problem))
    described["second"] = tensor_json(problem.y(), "second." + c.foreign->format);
  return described;
}

void write_tensor(const std::string& path, const std::string& format, const Coo& tensor) {
  if (format == "tnsb") return write_cache(path, tensor);
  if (format == "mtx") return write_matrix_market(path, tensor);
  write_tns(path, tensor, TnsHeader::none);
}

void read_array(std::ifstream& in, auto& array) {
  in.read(reinterpret_cast<char*>(array.data()),
          static_cast<std::streamsize>(array.size() * sizeof array[0]));
}

void read_values(std::ifstream& in, std::uint64_t size, Matrix& into) {
  if (size != into.bytes())
    throw input_error("found a result of {} bytes, expected {}: {} x {} values of {}", size,
                      into.bytes(), into.rows(), into.cols(), retensor::name(into.dtype()));
  into.values().visit([&](auto& values) { read_array(in, values); });
}

/// The number of entries, their indices mode by mode, their values.
void read_entries(std::ifstream& in, std::uint64_t size, const EntriesView& into) {
  std::uint64_t count = 0;
  in.read(reinterpret_cast<char*>(&count), sizeof count);
  const auto each = into.dims.size() * sizeof(Index) + into.width * size_of(into.values->dtype());
  if (!in || (size - sizeof count) % each != 0 || (size - sizeof count) / each != count)
    throw input_error(
        "found a sparse result of {} bytes that says it has {} entries, expected 8 bytes and {} "
        "for each entry: {} indices and {} values of {}",
        size, count, each, into.dims.size(), into.width, retensor::name(into.values->dtype()));
  into.resize(count);
  for (auto& index : *into.indices) read_array(in, index);
  into.values->visit([&](auto& values) { read_array(in, values); });
}

}  // namespace

void write_values(const fs::path& path, const Matrix& matrix) {
  std::ofstream out(path, std::ios::binary);
  matrix.values().visit([&](const auto& values) {
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(matrix.bytes()));
  });
  out.close();
  if (!out) throw SystemError(path.string() + ": the file can't be written");
}

ProblemFolder::ProblemFolder(const Case& c, const Problem& problem) {
  const auto& format = c.foreign->format;
  write_tensor((scratch_.path() / ("tensor." + format)).string(), format, problem.x());
  if (has_second(problem))
    write_tensor((scratch_.path() / ("second." + format)).string(), format, problem.y());
  write_file(path() + "/problem.json", problem_json(c, problem).dump(2) + '\n');
}

std::string ProblemFolder::write_operands(const std::vector<Matrix>& dense) {
  const auto name = fmt::format("operands-{}", sets_++ % 2);
  fs::create_directories(scratch_.path() / name);
  for (std::size_t m = 0; m < dense.size(); ++m)
    write_values(scratch_.path() / name / fmt::format("{}.bin", m), dense[m]);
  return name;
}

void ProblemFolder::read_result(const std::string& name, Result& into) const {
  const auto path = scratch_.path() / name;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw input_error("wrote no file '{}'", name);
  const auto size = fs::file_size(path);
  std::ifstream in(path, std::ios::binary);
  if (const auto entries = entries_of(into))
    read_entries(in, size, *entries);
  else
    read_values(in, size, std::get<Matrix>(into));
  if (!in) throw input_error("the file '{}' can't be read", name);
}

void ProblemFolder::remove(const std::string& name) const {
  std::error_code ignored;
  fs::remove(scratch_.path() / name, ignored);
}

}  // namespace retensor::driver
