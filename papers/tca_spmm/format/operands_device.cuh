// S in CSR and D in either order of its elements on the device. Included by .cu files alone.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "common/device/cuda.cuh"
#include "common/numeric/rounding.hpp"
#include "common/tensor/csr.hpp"
#include "papers/tca_spmm/format/operands.hpp"

namespace retensor::tca_spmm {

using device::Buffer;

/// Elements as bytes on the device; floats rounded to halves where `element` says so.
inline Buffer<std::byte> upload_elements(std::span<const float> from, Element element) {
  if (element == Element::single) return Buffer<std::byte>(std::as_bytes(from));
  std::vector<std::uint16_t> halves(from.size());
  std::transform(from.begin(), from.end(), halves.begin(), to_fp16_bits);
  return Buffer<std::byte>(std::as_bytes(std::span<const std::uint16_t>(halves)));
}

/// S as CSR on the device.
struct DeviceCsr {
  DeviceCsr(const Csr& s, Element element)
      : row_start(s.row_start),
        columns(s.columns),
        values(upload_elements(s.values.as<float>(), element)) {}

  Buffer<Count> row_start;
  Buffer<Index> columns;
  Buffer<std::byte> values;
};

inline Count rounded_up(Count n, Count unit) {
  return (n + unit - 1) / unit * unit;
}

/// D, K x N, padded by zeros: its leading dimension to whole 16-byte vectors, K to a multiple of
/// `row_unit`.
struct DeviceDense {
  DeviceDense(const Matrix& d, DenseOrder dense_order, Element element, Count row_unit = 1)
      : order(dense_order), rows(rounded_up(d.rows(), row_unit)), cols(d.cols()) {
    const bool by_row = order == DenseOrder::row_major;
    stride = rounded_up(by_row ? cols : rows, 16 / size_of(element));
    std::vector<float> elements((by_row ? rows : cols) * stride);
    const auto from = d.view<float>();
    for (std::uint64_t i = 0; i < from.rows; ++i)
      for (std::uint64_t j = 0; j < cols; ++j)
        elements[by_row ? i * stride + j : j * stride + i] = from(i, j);
    values = upload_elements(elements, element);
  }

  /// Of a matrix of halves.
  const std::uint16_t* halves() const {
    return reinterpret_cast<const std::uint16_t*>(values.data());
  }

  DenseOrder order;
  std::uint64_t rows, cols;
  Count stride = 0;  ///< elements between rows, or columns where these are contiguous
  Buffer<std::byte> values;
};

}  // namespace retensor::tca_spmm
