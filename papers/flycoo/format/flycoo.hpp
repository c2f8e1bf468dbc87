// FLYCOO for GPUs (section 3): one copy of the tensor whose nonzeros carry their position in every
// mode's order, so that the pass over one mode can leave the tensor in the next mode's order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/array.hpp"
#include "common/tensor/coo.hpp"
#include "papers/flycoo/format/partition.hpp"
#include "papers/flycoo/format/record.hpp"

namespace retensor::flycoo {

/// Order of the nonzeros inside a partition, which the paper leaves open.
enum class Arrangement {
  arrival,  ///< as the pass over the mode before meets them; in mode 0 as the input has them
  row       ///< by output index, then arrival
};
enum class Indices {
  plain,  ///< 32 bits each
  packed  ///< ceil(log2 I_m) bits each, side by side
};
enum class Ids {
  record,  ///< all ids in the record (section 3.5)
  stream   ///< an array per mode that its pass reads in sequence: only one id moves at a time
};
/// Throw InputError for anything but the two names.
Arrangement arrangement_from_name(std::string_view text);
Indices indices_from_name(std::string_view text);
Ids ids_from_name(std::string_view text);

struct Options {
  std::uint32_t kappa = 1;  ///< partitions of each mode: the processors that share the work
  Assignment assignment = Assignment::least_loaded;
  Arrangement arrangement = Arrangement::arrival;
  Indices indices = Indices::plain;
  Ids ids = Ids::record;
  int align = 4;           ///< bytes, a multiple of 4, whose multiple a record takes
  int id_bits = 0;         ///< 32 or 64; 0: 64 from 2^32 nonzeros on
  std::uint64_t seed = 1;  ///< of Assignment::random
};

/// The format but for its arrays, which lie on the host or on a device.
struct FlycooShape {
  Dims dims;
  DType dtype = DType::f32;
  Options options;
  RecordLayout layout;
  Count nnz = 0;
  std::vector<Partitioning> modes;  ///< one per mode

  int order() const { return static_cast<int>(dims.size()); }
  int next_mode(int mode) const { return (mode + 1) % order(); }
  Count record_words() const { return static_cast<Count>(layout.words); }
  Count record_bytes() const { return record_words() * sizeof(std::uint32_t); }
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
/// The nonzeros that `records` holds, in its order.
Coo decoded(const Dims& dims, DType dtype, const RecordLayout& layout,
            std::span<const std::uint32_t> records);

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
