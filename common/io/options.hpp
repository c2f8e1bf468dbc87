// What a caller may ask of every reader.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/core/types.hpp"
#include "common/tensor/operations.hpp"

namespace retensor {

/// Half of the machine's memory, since the tensor needs room beside its text; at most 64 GiB.
std::uint64_t most_unpacked_bytes();

/// What the first index of a mode is called. FROSTT counts from one, a few of its files from zero;
/// `by_content`: from zero where any index is zero.
enum class IndexBase { one, zero, by_content };

struct ReadOptions {
  DType dtype = DType::f32;
  bool keep_type = false;  ///< values of a binary tensor keep the type that it states
  /// With `error` the nonzeros keep the order of the file; `sum` and `last` return natural order.
  Duplicates duplicates = Duplicates::error;
  /// Mode lengths that the file must agree with; empty: taken from the file.
  Dims dims;
  /// Of .tns files; the other formats state theirs.
  IndexBase index_base = IndexBase::one;
  /// An archive that unpacks to more bytes is refused.
  std::uint64_t max_unpacked_bytes = most_unpacked_bytes();
  /// Text that a thread parses at a time.
  std::size_t chunk_bytes = std::size_t{1} << 20;
};

}  // namespace retensor
