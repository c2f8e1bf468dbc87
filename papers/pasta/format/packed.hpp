// Nonzeros as they cross the bus: the indices of a nonzero side by side in as few words of 32 bits
// as hold them, then its value. A part of the tensor is an array of each word and one of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/core/host_device.hpp"
#include "common/core/types.hpp"
#include "common/io/cache.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::pasta {

/// Where an index lies in the words of its nonzero; it may end in the word after.
struct IndexField {
  unsigned word = 0, shift = 0, width = 0;
};

/// Of all modes, without gaps. A plain value, which kernels take.
struct PackedLayout {
  explicit PackedLayout(const Dims& dims);

  int order;
  unsigned words;  ///< of a nonzero; none where every mode has one index
  IndexField mode[kMaxOrder];

  /// The index of a mode from the words of a nonzero, which word(w) gives.
  template <class Words>
  RETENSOR_HOST_DEVICE Index index(int m, Words&& word) const {
    const IndexField f = mode[m];
    if (f.width == 0) return 0;
    std::uint64_t bits = word(f.word);
    if (f.shift + f.width > 32) bits |= std::uint64_t{word(f.word + 1)} << 32;
    return static_cast<Index>(bits >> f.shift & ((std::uint64_t{1} << f.width) - 1));
  }
};

/// Bytes of a nonzero that crosses the bus, its value in type T.
template <class T>
Count packed_bytes(const PackedLayout& layout) {
  return layout.words * sizeof(std::uint32_t) + sizeof(T);
}

/// Where the arrays of a tensor lie, in memory or in a file that is mapped.
struct Nonzeros {
  explicit Nonzeros(const Coo& x);
  /// Keeps the file mapped.
  explicit Nonzeros(std::shared_ptr<const MappedCache> file);

  Dims dims;
  Count nnz = 0;
  std::vector<const Index*> indices;  ///< by mode
  const std::byte* values = nullptr;
  DType dtype = DType::f32;
  std::shared_ptr<const MappedCache> file;
};

/// Writes nonzeros first .. first + count as a part with room for `room`, an even number, so that
/// values in type T behind the words lie aligned. Throws InputError for an index that its mode does
/// not have, before a kernel meets it.
template <class T>
void pack(const Nonzeros& x, const PackedLayout& layout, Count first, Count count, Count room,
          std::byte* part);

/// The first `sample` of the nonzeros of an outline that has them; else as many of `nnz` that lie
/// in the order of mode 0, as most files have them, their other indices uniform. Values are zero.
std::shared_ptr<const Coo> outline_sample(const Coo& x, Count sample, Count nnz);

}  // namespace retensor::pasta
