// COO -> tiles on the device, with the steps of tiles.cpp. A nonzero's place is its position on a
// mode's walk. Each walk is the one before sorted by its mode's rows, which tells from what place
// on the old walk each place of the new one comes; sorted by the new walk's tiles, these are the
// order in which the tiles are filled, and sorted by the old walk's tiles again, that in which they
// leave.
#include <utility>
#include <vector>

#include "common/device/cub.cuh"
#include "common/tensor/linear_index.hpp"
#include "papers/flycoo/format/loops_device.cuh"
#include "papers/flycoo/format/records_device.cuh"
#include "papers/flycoo/format/tiles_device.cuh"

namespace retensor::flycoo {
namespace {

using device::Buffer;
using device::DeviceSort;
using Numbers = Buffer<std::uint32_t>;

// A struct, since device code cannot be defined in private functions.
struct Builder {
  Builder(const DeviceCoo& tensor, DeviceTiled& tiled)
      : out(tiled),
        n(static_cast<std::uint32_t>(tensor.nnz)),
        view(tensor),
        entries(n),
        walk(n),
        from(n),
        ends(2 * static_cast<Count>(out.order()) * out.tiles()),
        fibers(static_cast<Count>(out.order())) {
    out.modes.resize(out.dims.size());
    fibers.zero(nullptr);
  }

  void remapping() {
    start();
    for (int m = 0; m < out.order(); ++m) {
      look_along(m);
      next_walk(m);
      hand_over(m);
    }
    for (DeviceMode& mode : out.modes) name_slots(mode);
    encode(out.modes.front().walk.data());
    tell();
  }

  void copies() {
    start();
    for (int m = 0; m < out.order(); ++m) {
      if (m > 0) next_walk(m - 1);
      look_along(m);
      encode(nullptr);
    }
    tell();
  }

  static std::size_t at(int mode) { return static_cast<std::size_t>(mode); }
  int next(int mode) const { return (mode + 1) % out.order(); }

  void start() {
    std::uint32_t* const to = walk.data();
    for_each(n, [=] __device__(Count p) { to[p] = static_cast<std::uint32_t>(p); });
    for (int m = 0; m < out.order(); ++m) next_walk(m);
  }

  // Goes on to the walk of the mode after `mode`; `from` receives for each of its places the place
  // on the old walk.
  void next_walk(int mode) {
    std::uint32_t *const keys = entries.keys.data(), *const values = entries.values.data();
    const std::uint32_t* const old = walk.data();
    const Index* const rows = view.index[next(mode)];
    for_each(n, [=] __device__(Count p) {
      keys[p] = rows[old[p]];
      values[p] = static_cast<std::uint32_t>(p);
    });
    entries.sort(bits_for(out.dims[at(next(mode))]));
    std::swap(entries.values, from);
    const std::uint32_t* const places = from.data();
    std::uint32_t* const sorted = entries.keys.data();
    for_each(n, [=] __device__(Count p) { sorted[p] = old[places[p]]; });
    std::swap(entries.keys, walk);
  }

  // Rows at both ends of each tile, and fibers.
  void look_along(int mode) {
    const std::uint32_t* const nonzero = walk.data();
    const Index* const rows = view.index[mode];
    const std::uint32_t tiles = out.tiles();
    Index* const first = ends.data() + 2 * static_cast<Count>(mode) * tiles;
    Index* const last = first + tiles;
    const Count tile = out.tile, nnz = out.nnz;
    for_each(tiles, [=] __device__(Count t) {
      const Count end = (t + 1) * tile;
      first[t] = rows[nonzero[t * tile]];
      last[t] = rows[nonzero[(end < nnz ? end : nnz) - 1]];
    });
    const CooView all = view;
    const int order = out.order(), leaf = next(mode);
    add_each(
        n,
        [=] __device__(Count p) -> unsigned {
          bool begins = p == 0;
          for (int m = 0; m < order && !begins; ++m)
            begins = m != leaf && all.index[m][nonzero[p]] != all.index[m][nonzero[p - 1]];
          return begins;
        },
        fibers.data() + mode);
  }

  // After next_walk(mode): `from` leads from the next mode's walk to this one's.
  void hand_over(int mode) {
    arrive(out.modes[at(next(mode))]);
    leave(out.modes[at(mode)]);
  }

  // The tiles of the next mode are filled in the order of this walk. Afterwards `from` leads from
  // the storage filled to the places on this walk.
  void arrive(DeviceMode& arriving) {
    std::uint32_t *const keys = entries.keys.data(), *const values = entries.values.data();
    const std::uint32_t* const places = from.data();
    const std::uint32_t tile = out.tile;
    for_each(n, [=] __device__(Count p) { values[places[p]] = static_cast<std::uint32_t>(p); });
    for_each(n, [=] __device__(Count q) { keys[q] = values[q] / tile; });
    entries.sort(bits_for(out.tiles()));
    arriving.walk = Buffer<std::uint16_t>(n);
    std::uint16_t* const slot = arriving.walk.data();
    const std::uint32_t* const place = entries.values.data();
    std::uint32_t* const filled = entries.spare_values.data();
    for_each(n, [=] __device__(Count r) {
      slot[place[r]] = static_cast<std::uint16_t>(r % tile);
      filled[r] = places[place[r]];
    });
    std::swap(entries.spare_values, from);
  }

  // A tile leaves in the order of the storage filled; `leave` has places on the walk at first.
  void leave(DeviceMode& leaving) {
    std::uint32_t *const keys = entries.keys.data(), *const values = entries.values.data();
    const std::uint32_t* const filled = from.data();
    const std::uint32_t tile = out.tile;
    for_each(n, [=] __device__(Count r) {
      keys[r] = filled[r] / tile;
      values[r] = static_cast<std::uint32_t>(r);
    });
    entries.sort(bits_for(out.tiles()));
    leaving.leave = Buffer<std::uint16_t>(n);
    leaving.target = Buffer<std::uint32_t>(n);
    std::uint16_t* const place = leaving.leave.data();
    std::uint32_t* const target = leaving.target.data();
    const std::uint32_t* const sorted = entries.values.data();
    for_each(n, [=] __device__(Count p) {
      target[p] = sorted[p];
      place[p] = static_cast<std::uint16_t>(filled[sorted[p]] % tile);
    });
  }

  // From the leaving nonzeros' places on the walk to their slots.
  void name_slots(DeviceMode& mode) {
    const std::uint16_t* const slot = mode.walk.data();
    std::uint16_t* const leave = mode.leave.data();
    const Count tile = out.tile;
    for_each(n, [=] __device__(Count p) { leave[p] = slot[p / tile * tile + leave[p]]; });
  }

  // The records of the walk's nonzeros in their slots, without any in the order of the walk.
  void encode(const std::uint16_t* slot) {
    out.records.push_back(zero_records(out.nnz * out.record_words()));
    std::uint32_t* const records = out.records.back().data();
    const std::uint32_t* const nonzero = walk.data();
    const RecordLayout layout = out.layout;
    const CooView all = view;
    const Count tile = out.tile;
    for_each(n, [=] __device__(Count p) {
      const Count position = slot == nullptr ? p : p / tile * tile + slot[p];
      all.encode(layout, nonzero[p], records + position * static_cast<Count>(layout.words));
    });
  }

  // What the host finds from a few numbers a tile.
  void tell() {
    const std::vector<Index> rows = ends.to_host();
    const std::vector<unsigned long long> counted = fibers.to_host();
    const Count tiles = out.tiles();
    for (int m = 0; m < out.order(); ++m) {
      const std::span<const Index> mine = std::span(rows).subspan(2 * at(m) * tiles, 2 * tiles);
      const SharedRows shared = shared_rows(mine.first(tiles), mine.last(tiles));
      DeviceMode& mode = out.modes[at(m)];
      mode.joined = Buffer<std::uint8_t>(shared.joined);
      mode.cut = Buffer<CutRow>(shared.cut);
      mode.fibers = counted[at(m)];
    }
  }

  DeviceTiled& out;
  const std::uint32_t n;
  const CooView view;
  DeviceSort entries;
  Numbers walk, from;  // nonzeros in the order of the current walk; their places on the one before
  Buffer<Index> ends;  // by mode and tile
  Buffer<unsigned long long> fibers;  // by mode
};

Count bytes_of_arrays(const TiledShape& shape, const TileOptions& options) {
  const Count records = shape.record_words() * sizeof(std::uint32_t);
  constexpr Count kStreams = 2 * sizeof(std::uint16_t) + sizeof(std::uint32_t);
  const auto order = static_cast<Count>(shape.order());
  return shape.nnz * (options.remap ? records + order * kStreams : order * records);
}

}  // namespace

Count DeviceTiled::bytes() const {
  Count total = 0;
  for (const DeviceMode& mode : modes) total += mode.bytes();
  for (const auto& copy : records) total += copy.bytes();
  return total;
}

DeviceTiled upload(const Tiled& tensor) {
  DeviceTiled f{tensor, {}, {}};
  for (const TiledMode& m : tensor.modes)
    f.modes.push_back({Buffer<std::uint16_t>(std::span(m.walk)),
                       Buffer<std::uint16_t>(std::span(m.leave)),
                       Buffer<std::uint32_t>(std::span(m.target)), Buffer<std::uint8_t>(m.joined),
                       Buffer<CutRow>(m.cut), m.fibers});
  for (const auto& copy : tensor.records) f.records.push_back(upload_records(copy));
  return f;
}

DeviceTiled to_tiled(const DeviceCoo& tensor, const TileOptions& options) {
  DeviceTiled f{tiled_shape(tensor.dims, tensor.dtype, tensor.nnz, options), {}, {}};
  constexpr Count kWorking = 6 * sizeof(std::uint32_t);  // a nonzero's, in the arrays of Builder
  require_memory(f.nnz, bytes_of_arrays(f, options) + f.nnz * kWorking);
  Builder builder(tensor, f);
  if (options.remap)
    builder.remapping();
  else
    builder.copies();
  return f;
}

}  // namespace retensor::flycoo
