#include "common/c_api/views.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/tensor/operations.hpp"

namespace {

template <class T>
std::string bytes_of(const T* data, std::size_t count) {
  return {reinterpret_cast<const char*>(data), count * sizeof(T)};
}

}  // namespace

void retensor_result::add(const std::string& name, retensor::Dims shape, retensor_dtype dtype,
                          std::string bytes) {
  Named& array = arrays_.emplace_back(Named{name, std::move(bytes), std::move(shape), {}});
  array.view = {array.bytes.data(), array.shape.data(),
                static_cast<std::int32_t>(array.shape.size()), dtype};
}

void retensor_result::add(const std::string& name, retensor::Dims shape,
                          std::vector<double> values) {
  add(name, std::move(shape), RETENSOR_F64, bytes_of(values.data(), values.size()));
}

void retensor_result::add(const std::string& name, retensor::Dims shape,
                          const retensor::Values& values) {
  values.visit([&]<class T>(const retensor::Array<T>& elements) {
    add(name, std::move(shape), sizeof(T) == 4 ? RETENSOR_F32 : RETENSOR_F64,
        bytes_of(elements.data(), elements.size()));
  });
}

void retensor_result::add(const retensor::Matrix& matrix, const std::string& name) {
  retensor::Matrix packed(matrix.rows(), matrix.cols(), matrix.dtype());
  retensor::dispatch(matrix.dtype(), [&]<class T>() {
    const auto from = matrix.view<T>();
    for (std::uint64_t i = 0; i < matrix.rows(); ++i)
      std::copy_n(from.row(i), matrix.cols(), packed.view<T>().row(i));
  });
  add(name, {matrix.rows(), matrix.cols()}, packed.values());
}

void retensor_result::add(const retensor::Coo& tensor) {
  add("dims", {tensor.dims.size()}, RETENSOR_U64, bytes_of(tensor.dims.data(), tensor.dims.size()));
  for (std::size_t m = 0; m < tensor.indices.size(); ++m)
    add(fmt::format("index{}", m), {tensor.nnz()}, RETENSOR_U32,
        bytes_of(tensor.indices[m].data(), tensor.indices[m].size()));
  add("values", {tensor.nnz()}, tensor.values);
}

void retensor_result::add(const retensor::Result& result) {
  using namespace retensor;
  if (const auto* matrix = std::get_if<Matrix>(&result)) {
    add(*matrix, "values");
  } else if (const auto* model = std::get_if<KruskalModel>(&result)) {
    add("weights", {model->weights.size()}, model->weights);
    for (std::size_t m = 0; m < model->factors.size(); ++m)
      add(model->factors[m], fmt::format("factor{}", m));
    add("fit", {model->fit.size()}, model->fit);
  } else if (const auto* semi_sparse = std::get_if<SemiSparseCoo>(&result)) {
    add(semi_sparse->to_coo());
  } else {
    add(std::get<Coo>(result));
  }
}

void retensor_result::add(const retensor::tucker::Model& model, const retensor::Dims& ranks) {
  add("core", ranks, model.core);
  for (std::size_t m = 0; m < model.factors.size(); ++m)
    add(model.factors[m], fmt::format("factor{}", m));
  add("fit", {model.fit.size()}, model.fit);
}

const std::string* retensor_result::name(std::size_t i) const {
  return i < arrays_.size() ? &arrays_[i].name : nullptr;
}

const retensor_array* retensor_result::array(std::size_t i) const {
  return i < arrays_.size() ? &arrays_[i].view : nullptr;
}

namespace retensor::c_api {
namespace {

template <class T>
Array<T> copied(const void* data, Count count) {
  const auto* elements = static_cast<const T*>(data);
  return {elements, elements + count};
}

Values values_of(const void* data, Count count, DType dtype) {
  return dispatch(dtype, [&]<class T>() { return Values(copied<T>(data, count)); });
}

}  // namespace

DType dtype_of(std::int32_t dtype) {
  if (dtype == RETENSOR_F32) return DType::f32;
  if (dtype == RETENSOR_F64) return DType::f64;
  throw input_error("found dtype {}, expected RETENSOR_F32 or RETENSOR_F64", dtype);
}

Coo tensor_of(const retensor_tensor* view, const char* name) {
  if (view == nullptr) throw input_error("expected a tensor {}", name);
  if (view->order < 1 || view->order > kMaxOrder)
    throw input_error("{}: found order {}, expected 1 to {}", name, view->order, kMaxOrder);
  if (view->dims == nullptr || view->indices == nullptr ||
      (view->values == nullptr && view->nnz > 0))
    throw input_error("{}: expected mode lengths, indices and values", name);
  if (view->nnz > 0 && std::any_of(view->indices, view->indices + view->order,
                                   [](const auto* mode) { return mode == nullptr; }))
    throw input_error("{}: expected indices of every mode", name);
  constexpr Count kMostNonzeros = Count{1} << 58;  // beyond it the address of an end would wrap
  if (view->nnz > kMostNonzeros) throw std::bad_alloc();
  Coo tensor(Dims(view->dims, view->dims + view->order), dtype_of(view->dtype));
  for (int m = 0; m < view->order; ++m)
    tensor.indices[static_cast<std::size_t>(m)].assign(view->indices[m],
                                                       view->indices[m] + view->nnz);
  tensor.values = values_of(view->values, view->nnz, tensor.dtype());
  tensor.check();
  dedupe(tensor, Duplicates::sum);
  return tensor;
}

Matrix matrix_of(const retensor_array& view) {
  if (view.data == nullptr || view.shape == nullptr)
    throw input_error("expected the data and the shape of a dense operand");
  if (view.order != 2)
    throw input_error("found a dense operand of order {}, expected a matrix", view.order);
  Matrix matrix(view.shape[0], view.shape[1], dtype_of(view.dtype));
  matrix.values() = values_of(view.data, matrix.rows() * matrix.cols(), matrix.dtype());
  return matrix;
}

}  // namespace retensor::c_api
