// Coordinate tensors: construction and invariants.
#include "common/tensor/coo.hpp"

#include <cmath>

#include "common/core/message.hpp"

namespace retensor {
namespace {

constexpr std::uint64_t kMaxModeLength = std::uint64_t{1} << 32;

void check_dims(const Dims& dims) {
  if (dims.empty() || dims.size() > static_cast<std::size_t>(kMaxOrder))
    throw input_error("order {} is not between 1 and {}", dims.size(), kMaxOrder);
  for (std::size_t m = 0; m < dims.size(); ++m)
    if (dims[m] > kMaxModeLength)
      throw input_error("mode {}: length {} passes 2^32", m + 1, dims[m]);
}

// The smallest x below n for which bad(x) holds, or n.
template <class Bad>
Count first_bad(Count n, Bad bad) {
  Count first = n;
#pragma omp parallel for reduction(min : first) schedule(static)
  for (Count x = 0; x < n; ++x)
    if (x < first && bad(x)) first = x;
  return first;
}

}  // namespace

Coo::Coo(Dims mode_lengths, DType type, Count nnz)
    : dims(std::move(mode_lengths)), values(type, nnz) {
  check_dims(dims);
  indices.assign(dims.size(), std::vector<Index>(nnz));
}

Count Coo::bytes() const {
  Count total = values.bytes();
  for (const auto& mode : indices) total += mode.size() * sizeof(Index);
  return total;
}

void Coo::check() const {
  check_dims(dims);
  if (indices.size() != dims.size())
    throw input_error("{} index arrays for order {}", indices.size(), dims.size());
  for (std::size_t m = 0; m < dims.size(); ++m) {
    if (indices[m].size() != nnz())
      throw input_error("mode {}: {} indices for {} values", m + 1, indices[m].size(), nnz());
  }
  for (std::size_t m = 0; m < dims.size(); ++m) {
    const auto& mode = indices[m];
    const Count x = first_bad(nnz(), [&](Count at) { return mode[at] >= dims[m]; });
    if (x < nnz())
      throw input_error("nonzero {} {}: index of mode {} is beyond its length {}", x + 1,
                        coordinate_text(*this, x), m + 1, dims[m]);
  }
  const Count x = values.visit([this](const auto& v) {
    return first_bad(nnz(), [&v](Count at) { return !std::isfinite(v[at]); });
  });
  if (x < nnz())
    throw input_error("nonzero {} {}: value {} is not finite", x + 1, coordinate_text(*this, x),
                      values.at(x));
}

std::string coordinate_text(const Coo& tensor, Count x) {
  std::string text = "(";
  for (const auto& mode : tensor.indices) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(std::uint64_t{mode.at(x)} + 1);
  }
  return text + ")";
}

}  // namespace retensor
