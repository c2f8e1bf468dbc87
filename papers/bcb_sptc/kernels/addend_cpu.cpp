// The sum with Z on the host; addend_cpu.hpp has the algorithm.
#include "papers/bcb_sptc/kernels/addend_cpu.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "common/core/message.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::bcb_sptc {
namespace {

constexpr int kPositionBits = 32;
constexpr Count kMostEntries = std::numeric_limits<std::uint32_t>::max();

std::string text(const Dims& dims) {
  std::string line;
  for (const auto length : dims) line += (line.empty() ? "" : " x ") + std::to_string(length);
  return line;
}

}  // namespace

LinearIndex sum_index(const Dims& result_dims) {
  LinearIndex index(result_dims, natural_order(static_cast<int>(result_dims.size())));
  if (index.bits() > 128 - kPositionBits)
    throw input_error("a sum of tensors: a coordinate takes {} bits, expected at most {}",
                      index.bits(), 128 - kPositionBits);
  return index;
}

void check_addend(const Addend& addend, const Dims& result_dims, Count product_entries) {
  sum_index(result_dims);
  if (addend.z.dims != result_dims)
    throw InputError("Z: found dims " + text(addend.z.dims) + ", expected those of the result, " +
                     text(result_dims));
  if (addend.z.dtype() != DType::f32)
    throw input_error("Z: found values in double precision, expected single");
  addend.z.check();
  if (addend.z.nnz() + product_entries > kMostEntries)
    throw InputError("a sum of tensors: found " + std::to_string(addend.z.nnz() + product_entries) +
                     " entries of both, expected fewer than 2^32");
}

HostSum::HostSum(const Addend& addend, const Dims& result_dims, Count product_entries)
    : addend_(addend), index_(sum_index(result_dims)) {
  check_addend(addend, result_dims, product_entries);
  keys_.resize(product_entries + addend.z.nnz());
  sum_ = Coo(result_dims, DType::f32, keys_.size());
}

void HostSum::run(const Coo& product) {
  const Count first_of_z = product.nnz();
  const auto key = [&](const Coo& tensor, Count p, Count position) {
    std::array<Index, kMaxOrder> at{};
    for (std::size_t m = 0; m < tensor.dims.size(); ++m) at[m] = tensor.indices[m][p];
    return index_.encode<Uint128>(at) << kPositionBits | position;
  };
  for (Count p = 0; p < first_of_z; ++p) keys_[p] = key(product, p, p);
  for (Count p = first_of_z; p < keys_.size(); ++p) keys_[p] = key(addend_.z, p - first_of_z, p);
  std::sort(keys_.begin(), keys_.end());

  const auto values = sum_.values.as<float>();
  const auto beta = static_cast<float>(addend_.beta);
  entries_ = 0;
  for (Count k = 0; k < keys_.size(); ++k) {
    const Uint128 coordinate = keys_[k] >> kPositionBits;
    if (k == 0 || coordinate != keys_[k - 1] >> kPositionBits) {
      for (std::size_t m = 0; m < sum_.indices.size(); ++m)
        sum_.indices[m][entries_] = index_.decode(coordinate, static_cast<int>(m));
      values[entries_++] = 0;
    }
    const auto p = static_cast<Count>(keys_[k] & kMostEntries);
    values[entries_ - 1] += p < first_of_z ? product.values.as<float>()[p]
                                           : beta * addend_.z.values.as<float>()[p - first_of_z];
  }
}

}  // namespace retensor::bcb_sptc
