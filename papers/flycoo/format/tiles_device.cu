// COO -> tiles on the device, with the steps of tiles.cpp. A nonzero's place is its position on a
// mode's walk. Each walk is the one before sorted by its mode's rows, which tells from what place
// on the old walk each place of the new one comes; sorted by the new walk's tiles, these are the
// order in which the tiles are filled, and sorted by the old walk's tiles again, that in which they
// leave.
#include <algorithm>
#include <utility>
#include <vector>

#include "common/device/device_sort.cuh"
#include "common/tensor/linear_index.hpp"
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
    start();
  }

  void remapping() {
    for (int m = 0; m < out.order(); ++m) {
      look_along(m);
      next_walk(m);
      arrive(out.modes[at(out.next_mode(m))]);
      leave(out.modes[at(m)]);
    }
    end_of_sorts();
    for (DeviceMode& mode : out.modes) name_slots(mode);
    encode(out.modes.front().walk.data());
    tell();
  }

  void copies() {
    for (int m = 0; m < out.order(); ++m) {
      if (m > 0) next_walk(m - 1);
      look_along(m);
      if (m == out.order() - 1) end_of_sorts();
      encode(nullptr);
    }
    tell();
  }

  static std::size_t at(int mode) { return static_cast<std::size_t>(mode); }

  void start() {
    for_each(n, [to = walk.data()] __device__(Count p) { to[p] = static_cast<std::uint32_t>(p); });
    for (int m = 0; m < out.order(); ++m) next_walk(m);
  }

  // Of all arrays the walk stays: the last records may lie where the others did.
  void end_of_sorts() {
    entries = DeviceSort(0);
    from = Numbers();
  }

  // Goes on to the walk of the mode after `mode`; `from` receives for each of its places the place
  // on the old walk.
  void next_walk(int mode) {
    const int next = out.next_mode(mode);
    const std::uint32_t* const old = walk.data();
    for_each(n, [keys = entries.keys.data(), rows = view.index[next], old,
                 values = entries.values.data()] __device__(Count p) {
      keys[p] = rows[old[p]];
      values[p] = static_cast<std::uint32_t>(p);
    });
    entries.sort(bits_for(out.dims[at(next)]));
    std::swap(entries.values, from);
    for_each(n, [sorted = entries.keys.data(), old, places = from.data()] __device__(Count p) {
      sorted[p] = old[places[p]];
    });
    std::swap(entries.keys, walk);
  }

  // Rows at both ends of each tile, and fibers.
  void look_along(int mode) {
    const std::uint32_t* const nonzero = walk.data();
    const std::uint32_t tiles = out.tiles();
    Index* const first = ends.data() + 2 * static_cast<Count>(mode) * tiles;
    for_each(tiles, [tile = Count{out.tile}, first, rows = view.index[mode], nonzero,
                     last = first + tiles, nnz = out.nnz] __device__(Count t) {
      const Count end = (t + 1) * tile;
      first[t] = rows[nonzero[t * tile]];
      last[t] = rows[nonzero[(end < nnz ? end : nnz) - 1]];
    });
    add_each(
        n,
        [order = out.order(), leaf = out.next_mode(mode), all = view,
         nonzero] __device__(Count p) -> unsigned {
          bool begins = p == 0;
          for (int m = 0; m < order && !begins; ++m)
            begins = m != leaf && all.index[m][nonzero[p]] != all.index[m][nonzero[p - 1]];
          return begins;
        },
        fibers.data() + mode);
  }

  // The tiles of the next mode are filled in the order of this walk; `from` leads from the next
  // mode's walk to this one's. Afterwards it leads from the storage filled to the places on this
  // walk.
  void arrive(DeviceMode& arriving) {
    const std::uint32_t* const places = from.data();
    const std::uint32_t tile = out.tile;
    std::uint32_t* const values = entries.values.data();
    for_each(n, [=] __device__(Count p) { values[places[p]] = static_cast<std::uint32_t>(p); });
    for_each(n, [keys = entries.keys.data(), values, tile] __device__(Count q) {
      keys[q] = values[q] / tile;
    });
    entries.sort(bits_for(out.tiles()));
    arriving.walk = Buffer<std::uint16_t>(n);
    for_each(n, [slot = arriving.walk.data(), place = entries.values.data(), tile,
                 filled = entries.spare_values.data(), places] __device__(Count r) {
      slot[place[r]] = static_cast<std::uint16_t>(r % tile);
      filled[r] = places[place[r]];
    });
    std::swap(entries.spare_values, from);
  }

  // A tile leaves in the order of the storage filled; `leave` has places on the walk at first.
  void leave(DeviceMode& leaving) {
    const std::uint32_t* const filled = from.data();
    const std::uint32_t tile = out.tile;
    for_each(n, [keys = entries.keys.data(), filled, tile,
                 values = entries.values.data()] __device__(Count r) {
      keys[r] = filled[r] / tile;
      values[r] = static_cast<std::uint32_t>(r);
    });
    entries.sort(bits_for(out.tiles()));
    leaving.leave = Buffer<std::uint16_t>(n);
    leaving.target = Buffer<std::uint32_t>(n);
    for_each(n, [target = leaving.target.data(), sorted = entries.values.data(),
                 place = leaving.leave.data(), filled, tile] __device__(Count p) {
      target[p] = sorted[p];
      place[p] = static_cast<std::uint16_t>(filled[sorted[p]] % tile);
    });
  }

  // From the leaving nonzeros' places on the walk to their slots.
  void name_slots(DeviceMode& mode) {
    for_each(
        n, [leave = mode.leave.data(), slot = mode.walk.data(), tile = Count{out.tile}] __device__(
               Count p) { leave[p] = slot[p / tile * tile + leave[p]]; });
  }

  // The records of the walk's nonzeros in their slots, without any in the order of the walk.
  void encode(const std::uint16_t* slot) {
    RecordBuffer& made = out.records.emplace_back(zero_records(out.nnz * out.record_words()));
    for_each(n, [slot, tile = Count{out.tile}, all = view, layout = out.layout,
                 nonzero = walk.data(), records = made.data()] __device__(Count p) {
      const Count position = slot == nullptr ? p : p / tile * tile + slot[p];
      all.encode(layout, nonzero[p], records + position * static_cast<Count>(layout.words));
    });
  }

  // What the host finds from a few numbers a tile.
  void tell() {
    const std::vector<Index> rows = ends.to_host();
    const std::vector<unsigned long long> counted = fibers.to_host();
    const Count tile = out.tile, tiles = out.tiles();
    for (int m = 0; m < out.order(); ++m) {
      const Index* const first = rows.data() + 2 * at(m) * tiles;
      const SharedRows shared = shared_rows(
          out, [&](Count p) { return first[p % tile == 0 ? p / tile : tiles + p / tile]; });
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
  Buffer<Index> ends;  // by mode: of each tile's first nonzero, then of each one's last
  Buffer<unsigned long long> fibers;  // by mode
};

// What the layout and the arrays that make it take at most at a time.
Count most_bytes(const TiledShape& shape, const TileOptions& options) {
  const Count records = shape.record_words() * sizeof(std::uint32_t);
  constexpr Count kStreams = 2 * sizeof(std::uint16_t) + sizeof(std::uint32_t);
  // Of Builder, a nonzero's: all while the last records are not made, then the walk.
  constexpr Count kSorting = 6 * sizeof(std::uint32_t), kWalk = sizeof(std::uint32_t);
  const auto order = static_cast<Count>(shape.order());
  const Count before = options.remap ? order * kStreams : (order - 1) * records;
  return shape.nnz * (before + std::max(kSorting, records + kWalk));
}

}  // namespace

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
  require_memory(f.nnz, most_bytes(f, options));
  Builder builder(tensor, f);
  if (options.remap)
    builder.remapping();
  else
    builder.copies();
  return f;
}

}  // namespace retensor::flycoo
