// What goes to external code and comes back, for each operation.

#include <numeric>

#include "common/advise/facts.hpp"
#include "common/core/message.hpp"
#include "common/tensor/einsum.hpp"
#include "experiments/driver/run/foreign/foreign_run.hpp"

namespace retensor::driver {

namespace {

Matrix column(const Values& values) {
  Matrix matrix(values.size(), 1, values.dtype());
  matrix.values() = values;
  return matrix;
}

Dims dims_without(Dims dims, int mode) {
  dims.erase(dims.begin() + mode);
  return dims;
}

std::uint64_t chain_columns(const Problem& problem) {
  std::uint64_t columns = 1;
  for (std::size_t m = 0; m < problem.dense().size(); ++m)
    if (static_cast<int>(m) != problem.mode()) columns *= problem.dense()[m].cols();
  return columns;
}

/// Each mode as long as the longer of the two (Problem).
Dims longer(Dims a, const Dims& b) {
  for (std::size_t m = 0; m < a.size(); ++m) a[m] = std::max(a[m], b[m]);
  return a;
}

Result empty_ttm(const Problem& problem) {
  const auto& dims = problem.x().dims;
  SemiSparseCoo result;
  result.dims = dims;
  result.dims[static_cast<std::size_t>(problem.mode())] = problem.rank();
  result.dense_modes = {problem.mode()};
  result.indices.resize(dims.size() - 1);
  result.values = Values(problem.dtype(), 0);
  return result;
}

}  // namespace

std::vector<Matrix> operands_of(const Problem& problem) {
  switch (problem.operation()) {
    case Operation::tew:
    case Operation::contraction:
      return {column(problem.y().values)};
    case Operation::ts: {
      Values scalar(problem.dtype(), 1);
      scalar.set(0, problem.spec().scalar);
      return {column(scalar)};
    }
    default:
      return problem.dense();
  }
}

Result empty_result(const Problem& problem) {
  const auto& dims = problem.x().dims;
  const auto type = problem.dtype();
  switch (problem.operation()) {
    case Operation::mttkrp_all:
      return Matrix(std::accumulate(dims.begin(), dims.end(), std::uint64_t{0}), problem.rank(),
                    type);
    case Operation::spmm:
      return Matrix(dims[0], problem.rank(), type);
    case Operation::ttm_chain:
      return Matrix(dims[static_cast<std::size_t>(problem.mode())], chain_columns(problem), type);
    case Operation::ttm:
      return empty_ttm(problem);
    case Operation::ttv:
      return Coo(dims_without(dims, problem.mode()), type);
    case Operation::ts:
      return Coo(dims, type);
    case Operation::tew:
      return Coo(longer(dims, problem.y().dims), type);
    case Operation::contraction:
      return Coo(Contraction(problem.spec().variant, dims, problem.y().dims)
                     .result_dims(dims, problem.y().dims),
                 type);
    default:
      return Matrix(dims[static_cast<std::size_t>(problem.mode())], problem.rank(), type);
  }
}

std::optional<EntriesView> entries_of(Result& result) {
  if (auto* x = std::get_if<Coo>(&result)) return EntriesView{x->dims, &x->indices, &x->values, 1};
  if (auto* s = std::get_if<SemiSparseCoo>(&result))
    return EntriesView{dims_without(s->dims, s->dense_modes.front()), &s->indices, &s->values,
                       s->dense_volume()};
  return std::nullopt;
}

void EntriesView::resize(Count entries) const {
  if (const auto places = cells_in(dims); static_cast<double>(entries) > places)
    throw input_error("found {} entries, expected at most {:g}", entries, places);
  for (auto& index : *indices) index.resize(entries);
  *values = Values(values->dtype(), entries * width);
}

}  // namespace retensor::driver
