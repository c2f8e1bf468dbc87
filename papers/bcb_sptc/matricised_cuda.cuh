// A contraction as a product of two sparse matrices on the device, and the coordinates of its
// result. Included by .cu files alone.
#pragma once

#include <algorithm>
#include <vector>

#include "papers/bcb_sptc/matricised.hpp"
#include "papers/bcb_sptc/path_cuda.cuh"

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

/// The arrays of Matricised.
struct DeviceMatricised {
  DeviceMatricised(const Contraction& contraction, const Matricised& m)
      : modes(contraction),
        rows(m.rows()),
        groups(m.groups()),
        columns(m.columns),
        products(m.products),
        row_start(m.row_start),
        x_group(m.x_group),
        group_start(m.group_start),
        y_column(m.y_column),
        x_values(m.x_values),
        y_values(m.y_values) {
    for (const auto& index : m.row_index) row_index.emplace_back(index);
    for (const auto& index : m.column_index) column_index.emplace_back(index);
  }

  /// Where the coordinates of `result` come from, whose arrays are there.
  EntryModes entry_modes(DeviceResult& result) const {
    EntryModes list{};
    list.order = static_cast<int>(modes.result.size());
    for (std::size_t k = 0; k < modes.result.size(); ++k) {
      const auto source = modes.result[k];
      const auto& free = source.from_x ? modes.free_x : modes.free_y;
      const auto place =
          static_cast<std::size_t>(std::ranges::find(free, source.mode) - free.begin());
      list.mode[k] = {source.from_x, (source.from_x ? row_index : column_index)[place].data(),
                      result.indices[k].data()};
    }
    return list;
  }

  Count bytes() const {
    Count bytes = row_start.bytes() + x_group.bytes() + group_start.bytes() + y_column.bytes() +
                  x_values.bytes() + y_values.bytes();
    for (const auto& index : row_index) bytes += index.bytes();
    for (const auto& index : column_index) bytes += index.bytes();
    return bytes;
  }

  Contraction modes;
  Count rows, groups, columns, products;
  Buffer<std::uint32_t> row_start, x_group, group_start, y_column;
  Buffer<float> x_values, y_values;
  std::vector<Buffer<Index>> row_index, column_index;  ///< by free mode
};

namespace kernels {

/// A warp a row: the coordinates of entries whose columns are in compressed rows.
template <class Position, class Column>
__global__ void write_rows(Count rows, const Position* first_entry, const Column* column,
                           EntryModes modes) {
  constexpr unsigned kWarp = 32;
  const Count step = Count{gridDim.x} * (kThreads / kWarp);
  for (Count row = Count{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp; row < rows;
       row += step)
    for (Count e = static_cast<Count>(first_entry[row]) + threadIdx.x % kWarp;
         e < static_cast<Count>(first_entry[row + 1]); e += kWarp)
      modes.write(e, row, static_cast<Count>(column[e]));
}

}  // namespace kernels
}  // namespace retensor::bcb_sptc
