// A contraction as a product of two sparse matrices on the device, and the coordinates of its
// result. Included by .cu files alone.
#pragma once

#include "common/method/problem.hpp"
#include "papers/bcb_sptc/format/bcb_device.cuh"
#include "papers/bcb_sptc/format/matricised.hpp"
#include "papers/bcb_sptc/format/result_device.cuh"

namespace retensor::bcb_sptc {

/// Where the modes of the result come from: of each row or column of the matrix an index.
struct EntryMode {
  bool from_x;
  const Index* index;
  Index* out;
};
struct EntryModes {
  int order;
  EntryMode mode[kMaxOrder];

  __device__ void write(Count entry, Count row, Count column) const {
    for (int k = 0; k < order; ++k)
      mode[k].out[entry] = mode[k].index[mode[k].from_x ? row : column];
  }
};

/// Operands whose blocks are single cells.
inline OperandOptions cells_of(const Contraction& modes) {
  return {modes, {.edge_bits = 0, .values = ValueType::f32}};
}

/// The arrays of Matricised.
struct DeviceMatricised {
  DeviceMatricised(const Contraction& contraction, const Matricised& m);
  /// Made on the device of operands in the order of `cells_of`: what Matricised gives, bit for bit.
  DeviceMatricised(const Contraction& contraction, const SortedOperands& cells);

  /// Where the coordinates of `result` come from, whose arrays are there.
  EntryModes entry_modes(DeviceResult& result) const;

  Count bytes() const {
    return row_start.bytes() + x_group.bytes() + group_start.bytes() + y_column.bytes() +
           x_values.bytes() + y_values.bytes() + row_index.bytes() + column_index.bytes();
  }

  Contraction modes;
  Count rows = 0, groups = 0, columns = 0, products = 0;
  Buffer<std::uint32_t> row_start, x_group, group_start, y_column;
  Buffer<float> x_values, y_values;
  Buffer<Index> row_index, column_index;  ///< [free mode][row or column]
};

/// The operands of a problem, made on the device; on the host where the coordinates of one take
/// more than 128 bits.
DeviceMatricised matricised(const Problem& problem);

namespace kernels {

/// Of a nonzero of x.
struct ProductsOf {
  const std::uint32_t *x_group, *group_start;
  __host__ __device__ Count operator()(Count a) const {
    return group_start[x_group[a] + 1] - group_start[x_group[a]];
  }
};

/// A warp a row: the coordinates of entries whose columns are in compressed rows.
template <class Position, class Column>
__global__ void write_rows(Count rows, const Position* first_entry, const Column* column,
                           EntryModes modes) {
  constexpr unsigned kWarp = 32;
  device::for_each_of_warps<kThreads>(rows, [&](Count row) {
    for (Count e = static_cast<Count>(first_entry[row]) + threadIdx.x % kWarp;
         e < static_cast<Count>(first_entry[row + 1]); e += kWarp)
      modes.write(e, row, static_cast<Count>(column[e]));
  });
}

}  // namespace kernels
}  // namespace retensor::bcb_sptc
