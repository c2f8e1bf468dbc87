// FLYCOO for GPUs (section 3): one copy of the tensor whose nonzeros carry their position in every
// mode's order, so that the pass over one mode can leave the tensor in the next mode's order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/core/types.hpp"
#include "common/method/method.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/coo.hpp"
#include "papers/flycoo/format/options.hpp"
#include "papers/flycoo/format/partition.hpp"
#include "papers/flycoo/format/record.hpp"

namespace retensor::flycoo {

/// The format but for its arrays, which lie on the host or on a device.
struct FlycooShape : RecordShape {
  Options options;
  std::vector<Partitioning> modes;  ///< one per mode

  Count record_bytes() const { return record_words() * sizeof(std::uint32_t); }
  /// What a row tells of the format: its options, bytes of a record, bits of a nonzero as stored
  /// and by section 3.5.1, the load ratio of each mode and the largest.
  Executed facts() const;
};

struct Flycoo : FlycooShape {
  Array<std::uint32_t> records;  ///< in mode 0's order: T_in of the first pass
  /// With Ids::stream one per mode, else empty: entry p of stream d (layout.id_words words) is the
  /// position in the order of mode d + 1, after the last mode 0, of the nonzero at position p of
  /// mode d's order.
  std::vector<Array<std::uint32_t>> streams;

  /// Stream of a mode; nullptr where ids stand in the records.
  const std::uint32_t* stream(int mode) const;
  /// What a run reads: the records once, the streams, 8 (kappa + 1) bytes of partition starts a
  /// mode. The tables of the partition of each index serve check() alone.
  Count bytes() const;
  /// The second copy of the records, T_out, that a run with remapping writes.
  Count copy_bytes() const { return records.size() * sizeof(std::uint32_t); }
  /// The nonzeros in mode 0's order.
  Coo to_coo() const;
  /// Throws InputError naming the first mode, partition or nonzero that breaks an invariant: array
  /// lengths; partition starts from 0 to nnz; indices inside the mode lengths; in every mode's
  /// order each partition contiguous and (Arrangement::row) ascending by output index; remap ids a
  /// permutation that agrees with that order; after the last mode the records as they were.
  void check() const;
};

/// The record of a tensor's nonzeros: ids, indices and value in the order of section 3.5's tuple,
/// then padding.
RecordLayout record_layout(const Dims& dims, DType dtype, const Options& options, Count nnz);
/// Writes the indices and the value of nonzero n to a record of zeros; `values` are the tensor's.
template <class T>
void encode(const Coo& x, std::span<const T> values, Count n, const RecordLayout& layout,
            std::uint32_t* record) {
  for (int m = 0; m < layout.order; ++m)
    set_record_index(layout, record, m, x.indices[static_cast<std::size_t>(m)][n]);
  set_record_value(layout, record, values[n]);
}
/// The nonzeros that `records` holds, in its order.
Coo decoded(const RecordShape& shape, std::span<const std::uint32_t> records);

/// The shape that to_flycoo gives a tensor, still without partitions; throws as it does.
FlycooShape flycoo_shape(const Dims& dims, DType dtype, Count nnz, const Options& options);

/// The format of a tensor of order 2 to 8. Throws InputError for another order or options out of
/// range. Parallel on all threads of OpenMP; the result does not depend on their number.
Flycoo to_flycoo(const Coo& tensor, const Options& options);

/// Algorithm 3 for all nonzeros: `in` holds the records in the order of `mode`, `out` receives them
/// in the next mode's order; both nnz * layout.words words.
void remap(const Flycoo& tensor, int mode, std::span<const std::uint32_t> in,
           std::span<std::uint32_t> out);

/// Bits of a nonzero by section 3.5.1: N log2 nnz + sum of log2 I_h + bits of the value.
double bits_per_nonzero(const Dims& dims, Count nnz, DType dtype);
/// The same with each logarithm rounded up, as fields need.
Count whole_bits_per_nonzero(const Dims& dims, Count nnz, DType dtype);

}  // namespace retensor::flycoo
