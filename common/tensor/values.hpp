// A typed array whose element type is known at run time: the values of every tensor and matrix.
#pragma once

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/types.hpp"
#include "common/tensor/array.hpp"

namespace retensor {

class Values {
 public:
  Values() : Values(DType::f32, 0) {}
  /// n zeros of the given type.
  Values(DType type, Count n) {
    if (type == DType::f32)
      data_ = Array<float>(n);
    else
      data_ = Array<double>(n);
  }
  Values(Array<float> v) : data_(std::move(v)) {}   // NOLINT: an array is a Values
  Values(Array<double> v) : data_(std::move(v)) {}  // NOLINT
  /// Copies.
  Values(const std::vector<float>& v) : data_(Array<float>(v.begin(), v.end())) {}    // NOLINT
  Values(const std::vector<double>& v) : data_(Array<double>(v.begin(), v.end())) {}  // NOLINT

  /// Calls f with the Array<float> or Array<double>.
  template <class F>
  decltype(auto) visit(F&& f) {
    return std::visit(std::forward<F>(f), data_);
  }
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), data_);
  }

  DType dtype() const { return data_.index() == 0 ? DType::f32 : DType::f64; }
  Count size() const {
    return visit([](const auto& v) { return static_cast<Count>(v.size()); });
  }
  Count bytes() const { return size() * size_of(dtype()); }

  /// Element i as double, for code whose speed does not matter.
  double at(Count i) const {
    return visit([i](const auto& v) { return static_cast<double>(v.at(i)); });
  }
  void set(Count i, double x) {
    visit([i, x]<class T>(Array<T>& v) { v.at(i) = static_cast<T>(x); });
  }

  /// The elements; throws LogicError unless T is the stored type.
  template <class T>
  std::span<T> as() {
    auto* v = std::get_if<Array<T>>(&data_);
    if (v == nullptr) throw LogicError("values are not of the requested type");
    return *v;
  }
  template <class T>
  std::span<const T> as() const {
    const auto* v = std::get_if<Array<T>>(&data_);
    if (v == nullptr) throw LogicError("values are not of the requested type");
    return *v;
  }

  /// A copy in the given type (rounded to nearest even when narrowing).
  Values cast(DType type) const;

 private:
  std::variant<Array<float>, Array<double>> data_;
};

/// Calls f.template operator()<T>() with T = float or double.
template <class F>
decltype(auto) dispatch(DType type, F&& f) {
  return type == DType::f32 ? f.template operator()<float>() : f.template operator()<double>();
}

}  // namespace retensor
