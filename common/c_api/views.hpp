// The C interface's views as tensors and matrices, and results as arrays with names.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "common/c_api/retensor.h"
#include "common/decompose/hooi.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/result.hpp"

/// Arrays with names, which own what their views show.
struct retensor_result {
 public:
  void add(const std::string& name, retensor::Dims shape, std::vector<double> values);
  void add(const std::string& name, retensor::Dims shape, const retensor::Values& values);
  void add(const retensor::Matrix& matrix, const std::string& name);
  void add(const retensor::Coo& tensor);
  void add(const retensor::Result& result);
  void add(const retensor::tucker::Model& model, const retensor::Dims& ranks);

  const std::string* name(std::size_t i) const;
  const retensor_array* array(std::size_t i) const;

  std::string executed;

 private:
  struct Named {
    std::string name;
    std::string bytes;
    retensor::Dims shape;
    retensor_array view;
  };
  void add(const std::string& name, retensor::Dims shape, retensor_dtype dtype, std::string bytes);

  std::deque<Named> arrays_;  // they stay where they are, for views refer to them
};

namespace retensor::c_api {

/// Copies; throw InputError for a null view, an unknown dtype or an impossible order or index.
Coo tensor_of(const retensor_tensor* view, const char* name);
Matrix matrix_of(const retensor_array& view);
DType dtype_of(std::int32_t dtype);

}  // namespace retensor::c_api
