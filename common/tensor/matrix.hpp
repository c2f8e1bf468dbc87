// Row-major dense matrices with a leading dimension.
#pragma once

#include <cstdint>

#include "common/core/types.hpp"
#include "common/tensor/values.hpp"

namespace retensor {

/// Non-owning view: element (i, j) stands at data[i * ld + j].
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::uint64_t rows = 0, cols = 0, ld = 0;
  T& operator()(std::uint64_t i, std::uint64_t j) const { return data[i * ld + j]; }
  T* row(std::uint64_t i) const { return data + i * ld; }
};

/// Owning row-major matrix, rows x cols, ld >= cols; the padding holds zeros.
class Matrix {
 public:
  Matrix() = default;
  /// A zero matrix; ld = 0 means ld = cols. Throws InputError when ld < cols or the size overflows.
  Matrix(std::uint64_t rows, std::uint64_t cols, DType type, std::uint64_t ld = 0);

  std::uint64_t rows() const { return rows_; }
  std::uint64_t cols() const { return cols_; }
  std::uint64_t ld() const { return ld_; }
  DType dtype() const { return values_.dtype(); }
  Count bytes() const { return values_.bytes(); }
  Values& values() { return values_; }
  const Values& values() const { return values_; }

  double at(std::uint64_t i, std::uint64_t j) const { return values_.at(i * ld_ + j); }
  void set(std::uint64_t i, std::uint64_t j, double x) { values_.set(i * ld_ + j, x); }

  /// Throws LogicError unless T is the stored type.
  template <class T>
  MatrixView<T> view() {
    return {values_.as<T>().data(), rows_, cols_, ld_};
  }
  template <class T>
  MatrixView<const T> view() const {
    return {values_.as<T>().data(), rows_, cols_, ld_};
  }

 private:
  std::uint64_t rows_ = 0, cols_ = 0, ld_ = 0;
  Values values_;
};

}  // namespace retensor
