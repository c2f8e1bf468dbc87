// A contraction's matrices on the device: copied from the host, or made of cells, which are blocks
// of one cell each. Rows, groups and columns are the parts of their indices, as in the task list.
//
// Bytes that a nonzero moves, coordinates of b bits: the sort by them 8 + 24 ceil(b / 8), for y
// another by its columns; the cells 32; the search for a group 16 a step, from the caches.
#include "papers/bcb_sptc/format/matricised_device.cuh"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/tensor/linear_index.hpp"
#include "papers/bcb_sptc/format/options.hpp"
#include "papers/bcb_sptc/format/task_list_device.cuh"

namespace retensor::bcb_sptc {
namespace {

Buffer<Index> joined(const std::vector<std::vector<Index>>& parts) {
  std::vector<Index> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return Buffer<Index>(all);
}

__global__ void find_groups(Count n, Indices x, kernels::Groups groups, std::uint32_t* group) {
  for_each_of_grid(n, [&](Count p) { group[p] = groups.find(x.trailing(p)); });
}

struct HasGroup {
  const std::uint32_t* group;
  __host__ __device__ bool operator()(std::uint32_t p) const { return group[p] != kNoGroup; }
};

struct BeginsRow {
  Indices x;
  const std::uint32_t* kept;
  __host__ __device__ bool operator()(std::uint32_t a) const {
    return a == 0 || x.leading(kept[a]) != x.leading(kept[a - 1]);
  }
};

template <class T>
Buffer<T> taken(Count n, const Buffer<std::uint32_t>& where, const T* from) {
  Buffer<T> to(n);
  if (n > 0)
    RETENSOR_CUDA_LAUNCH(kernels::gather<T>, grid_for(n), kThreads, 0, nullptr, n, where.data(),
                         from, to.data());
  return to;
}

const float* values_of(const DeviceBcb& cells) {
  return reinterpret_cast<const float*>(cells.values.data());
}

bool has_long_keys(const Dims& dims) {
  int bits = 0;
  for (const Count length : dims) bits += bits_for(length);
  return bits > 128;
}

}  // namespace

DeviceMatricised::DeviceMatricised(const Contraction& contraction, const Matricised& m)
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
      y_values(m.y_values),
      row_index(joined(m.row_index)),
      column_index(joined(m.column_index)) {}

DeviceMatricised::DeviceMatricised(const Contraction& contraction, const SortedOperands& cells)
    : modes(contraction) {
  const DeviceBcb x = to_bcb(cells.x), y = to_bcb(cells.y);
  Cub cub;
  Parts y_groups = leading_parts(y, cub), y_columns = trailing_parts(y, cub);
  const Buffer<Uint128> group_key = keys_of_leading(y, y_groups);
  groups = y_groups.count;
  columns = y_columns.count;
  group_start = std::move(y_groups.block);
  column_index = origins_of(y, y_columns, false);
  y_column = std::move(y_columns.rank);
  y_values = copied(values_of(y), y.nnz);

  Buffer<std::uint32_t> group(x.nnz), kept(x.nnz), first(x.nnz);
  Buffer<Count> found;
  RETENSOR_CUDA_LAUNCH(find_groups, grid_for(x.nnz), kThreads, 0, nullptr, x.nnz, Indices(x),
                       (kernels::Groups{groups, group_key.data(), group_start.data()}),
                       group.data());
  cub.select(x.nnz, HasGroup{group.data()}, kept, found, nullptr);
  const Count nonzeros = element_at(found, 0);
  cub.select(nonzeros, BeginsRow{Indices(x), kept.data()}, first, found, nullptr);
  rows = element_at(found, 0);
  row_start = with_end(first, rows, nonzeros);
  x_group = taken(nonzeros, kept, group.data());
  x_values = taken(nonzeros, kept, values_of(x));
  const Parts x_rows{rows, {}, taken<std::uint32_t>(rows, first, kept.data())};
  row_index = origins_of(x, x_rows, true);
  if (nonzeros > 0)
    products = cub.reduce(nonzeros, kernels::ProductsOf{x_group.data(), group_start.data()},
                          device::kernels::Add{}, Count{0});
}

EntryModes DeviceMatricised::entry_modes(DeviceResult& result) const {
  EntryModes list{};
  list.order = static_cast<int>(modes.result.size());
  for (std::size_t k = 0; k < modes.result.size(); ++k) {
    const auto source = modes.result[k];
    const auto& free = source.from_x ? modes.free_x : modes.free_y;
    const auto place = static_cast<Count>(std::ranges::find(free, source.mode) - free.begin());
    list.mode[k] = {
        source.from_x,
        source.from_x ? row_index.data() + place * rows : column_index.data() + place * columns,
        result.indices[k].data()};
  }
  return list;
}

DeviceMatricised matricised(const Problem& problem) {
  const Contraction modes = contraction_of(problem);
  if (has_long_keys(problem.x().dims) || has_long_keys(problem.y().dims))
    return {modes, Matricised(modes, problem.x(), problem.y())};
  return {modes, SortedOperands(DeviceCoos(problem.x(), problem.y()), cells_of(modes))};
}

}  // namespace retensor::bcb_sptc
