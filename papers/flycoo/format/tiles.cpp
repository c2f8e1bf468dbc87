// COO -> tiles by stable counting sorts, and back; see tiles.hpp.
#include "papers/flycoo/format/tiles.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <utility>

#include "common/core/error.hpp"
#include "common/tensor/linear_index.hpp"
#include "papers/flycoo/format/counting_sort.hpp"
#include "papers/flycoo/format/flycoo.hpp"

namespace retensor::flycoo {
namespace {

constexpr std::uint32_t kMostSlots = 1u << 16;  // slots have 16 bits

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw InputError("FLYCOO tiles: " + fmt::format(text, std::forward<Args>(args)...));
}

void check_options(const Dims& dims, Count nnz, const TileOptions& options) {
  if (dims.size() < 2) refuse("found a tensor of order 1, expected order 2 to 8");
  if (nnz >> 32 != 0) refuse("found {} nonzeros, expected below 2^32", nnz);
  if (options.tile < 1 || options.tile > kMostSlots || options.processors < 1)
    refuse("found {} nonzeros a tile on {} processors, expected 1 to {} on at least 1",
           options.tile, options.processors, kMostSlots);
  if (options.unit < 1 || options.tile % options.unit != 0)
    refuse("found tiles of {} nonzeros, expected a multiple of {}", options.tile, options.unit);
}

using Numbers = Uninitialised<std::uint32_t>;
using Entry = Keyed<std::uint32_t>;

// Calls f(tile) for every tile on all threads.
template <class F>
void for_tiles(const TiledShape& f, const F& call) {
  for_all(f.tiles(), [&](Count t) { call(static_cast<std::uint32_t>(t)); });
}

// Walks are made one from the other, each by sorting the one before by its mode's rows. All orders
// inside tiles come from where the places of one walk lie on the other, sorted tile by tile.
class Builder {
 public:
  Builder(const Coo& x, Tiled& out)
      : out_(out),
        records_(x.nnz() * out.record_words()),
        walk_(x.nnz()),
        spare_(x.nnz()),
        entries_(x.nnz()) {
    out_.modes.resize(x.dims.size());
    dispatch(x.dtype(), [&]<class T>() {
      for_all(x.nnz(), [&, values = x.values.as<T>()](Count n) {
        std::uint32_t* const to = records_.all().data() + n * out_.record_words();
        std::fill_n(to, out_.record_words(), 0u);
        encode<T>(x, values, n, out_.layout, to);
      });
    });
    // Mode 0's walk, by the rows of mode 0, then of the last mode and so on down to mode 1: so the
    // last mode's walk hands it on again.
    for_all(x.nnz(), [walk = walk_.all()](Count p) { walk[p] = static_cast<std::uint32_t>(p); });
    for (int m = 0; m < out_.order(); ++m) next_walk(m);
  }

  void remapping() {
    allocate_streams();
    for (int m = 0; m < out_.order(); ++m) {
      look_along(m);
      hand_over(m, next_walk(m));
    }
    for (TiledMode& mode : out_.modes) name_slots(mode);
    release_sort();
    const auto& slot = out_.modes.front().walk;
    out_.records.push_back(placed([&](Count begin, Count p) { return begin + slot[p]; }));
  }

  void copies() {
    for (int m = 0; m < out_.order(); ++m) {
      if (m > 0) next_walk(m - 1);
      look_along(m);
      if (m + 1 == out_.order()) release_sort();
      out_.records.push_back(placed([](Count, Count p) { return p; }));
    }
  }

 private:
  const std::uint32_t* record(std::uint32_t nonzero) const {
    return records_.all().data() + nonzero * out_.record_words();
  }
  Index index(std::uint32_t nonzero, int mode) const {
    return record_index(out_.layout, record(nonzero), mode);
  }

  // The first touch of so much memory takes long, so threads share it; no exception may leave them.
  void allocate_streams() {
    const auto each = [&](TiledMode& mode, auto&& grow) {
      grow(mode.walk);
      grow(mode.leave);
      grow(mode.target);
    };
    for (TiledMode& mode : out_.modes) each(mode, [&](auto& a) { a.reserve(out_.nnz); });
    for_all(out_.modes.size(),
            [&](Count m) { each(out_.modes[m], [&](auto& a) { a.resize(out_.nnz); }); });
  }

  // Before the last records are made, what needs most memory is what the walks were made with.
  void release_sort() { entries_ = Sortable<std::uint32_t>(0); }

  // Goes on to the walk of the mode after `mode`; the value of entry p is the place on the old walk
  // of the nonzero at place p of the new one.
  std::span<const Entry> next_walk(int mode) {
    const int next = out_.next_mode(mode);
    const auto old = walk_.all(), walk = spare_.all();
    for_all(out_.nnz, [=, this, to = entries_.all()](Count p) {
      to[p] = {index(old[p], next), static_cast<std::uint32_t>(p)};
    });
    entries_.sort(bits_for(out_.dims[static_cast<std::size_t>(next)]));
    const std::span<const Entry> from = entries_.all();
    for_all(out_.nnz, [=](Count p) { walk[p] = old[from[p].value]; });
    std::swap(walk_, spare_);
    return from;
  }

  // The rows that tiles share and the fibers along the walk of a mode.
  void look_along(int mode) {
    const auto walk = walk_.all();
    TiledMode& along = out_.modes[static_cast<std::size_t>(mode)];
    static_cast<SharedRows&>(along) =
        shared_rows(out_, [&](Count p) { return index(walk[p], mode); });
    const std::vector<std::uint32_t> equal = bits_but_of(out_.next_mode(mode));
    Count fibers = walk.empty() ? 0 : 1;
#pragma omp parallel for schedule(static) reduction(+ : fibers)
    for (Count p = 1; p < walk.size(); ++p) {
      const std::uint32_t *const a = record(walk[p - 1]), *const b = record(walk[p]);
      std::uint32_t differ = 0;
      for (std::size_t w = 0; w < equal.size(); ++w) differ |= (a[w] ^ b[w]) & equal[w];
      fibers += differ != 0 ? 1 : 0;
    }
    along.fibers = fibers;
  }

  // The bits of a record that hold the indices of all modes but `mode`.
  std::vector<std::uint32_t> bits_but_of(int mode) const {
    std::vector<std::uint32_t> bits(out_.record_words());
    for (int m = 0; m < out_.order(); ++m) {
      const auto last = static_cast<Index>((Count{1} << out_.layout.index[m].width) - 1);
      if (m != mode) set_record_index(out_.layout, bits.data(), m, last);
    }
    return bits;
  }

  // Remapping from `mode` to the next one. Both walks being known, a tile of the next mode is
  // filled in the order of this walk, and a tile of this mode leaves in the order of the places
  // filled.
  void hand_over(int mode, std::span<const Entry> from) {
    TiledMode& leaving = out_.modes[static_cast<std::size_t>(mode)];
    TiledMode& arriving = out_.modes[static_cast<std::size_t>(out_.next_mode(mode))];
    const auto filled = spare_.all();  // by each place of this walk
    sort_tiles([&](Count p) { return from[p].value; },
               [&](Count begin, Count slot, const Entry& e) {
                 filled[e.key] = static_cast<std::uint32_t>(begin + slot);
                 arriving.walk[begin + e.value] = static_cast<std::uint16_t>(slot);
               });
    sort_tiles([&](Count p) { return filled[p]; },
               [&](Count begin, Count k, const Entry& e) {
                 leaving.target[begin + k] = e.key;
                 leaving.leave[begin + k] = static_cast<std::uint16_t>(e.value);
               });
  }

  // Calls use(begin, k, entry) for the k-th entry of each tile by ascending key(place), its value
  // being the place in the tile.
  template <class Key, class Use>
  void sort_tiles(Key&& key, Use&& use) const {
    const int bits = bits_for(out_.nnz);
    const Count room = Count{out_.tile} * static_cast<Count>(omp_get_max_threads());
    Uninitialised<Entry> entries(room), spare(room);
    for_tiles(out_, [&](std::uint32_t t) {
      const Count begin = out_.begin(t), count = out_.end(t) - begin;
      const Count mine = Count{out_.tile} * static_cast<Count>(omp_get_thread_num());
      const auto tile = entries.all().subspan(mine, count);
      for (Count k = 0; k < count; ++k) tile[k] = {key(begin + k), static_cast<std::uint32_t>(k)};
      const auto sorted = stable_sort(tile, spare.all().subspan(mine, count), bits, 1);
      for (Count k = 0; k < count; ++k) use(begin, k, sorted[k]);
    });
  }

  // From the leaving nonzeros' places on the walk to their slots.
  void name_slots(TiledMode& mode) const {
    for_tiles(out_, [&](std::uint32_t t) {
      for (Count p = out_.begin(t); p < out_.end(t); ++p)
        mode.leave[p] = mode.walk[out_.begin(t) + mode.leave[p]];
    });
  }

  // The records of the walk's nonzeros, each at position(first place of its tile, place).
  template <class Position>
  Array<std::uint32_t> placed(Position&& position) const {
    Array<std::uint32_t> records(out_.nnz * out_.record_words());
    const auto walk = walk_.all();
    for_tiles(out_, [&](std::uint32_t t) {
      for (Count p = out_.begin(t); p < out_.end(t); ++p)
        std::copy_n(record(walk[p]), out_.record_words(),
                    records.data() + position(out_.begin(t), p) * out_.record_words());
    });
    return records;
  }

  Tiled& out_;
  // In the order of the input. All that is read of a nonzero lies in a cache line or two.
  Numbers records_;
  Numbers walk_, spare_;  // nonzeros, as numbers in the input, in the order of the current walk
  Sortable<std::uint32_t> entries_;
};

// What is wrong with a mode names it.
template <class... Args>
[[noreturn]] void broken(int mode, fmt::format_string<Args...> text, Args&&... args) {
  refuse("mode {}, {}", mode, fmt::format(text, std::forward<Args>(args)...));
}

void check_lengths(const Tiled& f, int mode, const TiledMode& m) {
  const Count streams = f.remaps() ? f.nnz : 0;
  if (m.walk.size() != streams || m.leave.size() != streams || m.target.size() != streams)
    broken(mode, "streams of {}, {} and {} entries, expected {}", m.walk.size(), m.leave.size(),
           m.target.size(), streams);
  if (m.joined.size() != Count{f.tiles()} + 1)
    broken(mode, "{} marks of joined tiles, expected {}", m.joined.size(), f.tiles() + 1);
}

// That the slots of each tile are a permutation.
void check_slots(const Tiled& f, int mode, const Array<std::uint16_t>& slots, const char* what) {
  std::vector<bool> taken(f.nnz);
  for (Count p = 0; p < slots.size(); ++p) {
    const auto t = static_cast<std::uint32_t>(p / f.tile);
    const Count slot = f.begin(t) + slots[p];
    if (slot >= f.end(t) || taken[slot])
      broken(mode, "position {}: {} slot {} is beyond the tile or taken", p, what, slots[p]);
    taken[slot] = true;
  }
}

// That the targets are a permutation, ascending in each tile.
void check_targets(const Tiled& f, int mode, const Array<std::uint32_t>& target) {
  std::vector<bool> taken(f.nnz);
  for (Count p = 0; p < target.size(); ++p) {
    if (target[p] >= f.nnz || taken[target[p]])
      broken(mode, "position {}: target {} is beyond the end or taken", p, target[p]);
    taken[target[p]] = true;
    if (p % f.tile != 0 && target[p] < target[p - 1])
      broken(mode, "position {}: target {} follows {}", p, target[p], target[p - 1]);
  }
}

// That rows ascend along the walk, and what is told of them; index(p, m) is that of place p.
template <class IndexOf>
void check_rows(const Tiled& f, int mode, const TiledMode& m, const IndexOf& index) {
  const auto same_fiber = [&](Count p, Count q) {
    bool same = true;
    for (int k = 0; k < f.order() && same; ++k)
      same = k == f.next_mode(mode) || index(p, k) == index(q, k);
    return same;
  };
  Count fibers = f.nnz > 0 ? 1 : 0;
  for (Count p = 1; p < f.nnz; ++p) {
    fibers += same_fiber(p - 1, p) ? 0 : 1;
    if (index(p, mode) < index(p - 1, mode))
      broken(mode, "position {}: row {} follows {}", p, index(p, mode), index(p - 1, mode));
  }
  const SharedRows found = shared_rows(f, [&](Count p) { return index(p, mode); });
  const auto wrong = std::mismatch(found.joined.begin(), found.joined.end(), m.joined.begin());
  if (wrong.first != found.joined.end())
    broken(mode, "tile {}: its mark of a joined row is wrong", wrong.first - found.joined.begin());
  if (found.cut != m.cut) broken(mode, "the rows that tiles share are not those listed");
  if (fibers != m.fibers) broken(mode, "{} fibers are stated, {} found", m.fibers, fibers);
}

// Checks one mode of a layout whose records stand in that mode's storage order.
void check_mode(const Tiled& f, int mode, const Array<std::uint32_t>& records) {
  const TiledMode& m = f.modes[static_cast<std::size_t>(mode)];
  check_lengths(f, mode, m);
  check_slots(f, mode, m.walk, "walk");
  check_slots(f, mode, m.leave, "leave");
  check_targets(f, mode, m.target);
  check_rows(f, mode, m, [&](Count p, int of) {
    const Count slot = f.remaps() ? p / f.tile * f.tile + m.walk[p] : p;
    return record_index(f.layout, records.data() + slot * f.record_words(), of);
  });
}

}  // namespace

std::uint32_t tile_size(Count nnz, const TileOptions& options) {
  const Count at_once = Count{options.tile} * options.processors;
  const Count tiles = std::max<Count>((nnz + at_once - 1) / at_once, 1) * options.processors;
  const Count size = std::max<Count>((nnz + tiles - 1) / tiles, 1);
  return static_cast<std::uint32_t>((size + options.unit - 1) / options.unit * options.unit);
}

RecordLayout tiled_layout(const Dims& dims, DType dtype) {
  return record_layout(dims, dtype, {.indices = Indices::packed, .ids = Ids::stream}, 0);
}

TiledShape tiled_shape(const Dims& dims, DType dtype, Count nnz, const TileOptions& options) {
  check_options(dims, nnz, options);
  return {{dims, dtype, tiled_layout(dims, dtype), nnz}, tile_size(nnz, options)};
}

Tiled to_tiled(const Coo& tensor, const TileOptions& options) {
  Tiled f{tiled_shape(tensor.dims, tensor.dtype(), tensor.nnz(), options), {}, {}};
  Builder builder(tensor, f);
  if (options.remap)
    builder.remapping();
  else
    builder.copies();
  return f;
}

void remap(const Tiled& tensor, int mode, std::span<const std::uint32_t> in,
           std::span<std::uint32_t> out) {
  const TiledMode& m = tensor.modes[static_cast<std::size_t>(mode)];
  const Count words = tensor.record_words(), tile = tensor.tile;
  for_all(tensor.nnz, [=, &m](Count p) {
    const Count slot = p / tile * tile + m.leave[p];
    std::copy_n(in.data() + slot * words, words, out.data() + m.target[p] * words);
  });
}

Count Tiled::bytes() const {
  Count total = 0;
  for (const auto& copy : records) total += copy.size() * sizeof(std::uint32_t);
  for (const auto& m : modes)
    total += m.walk.size() * sizeof(std::uint16_t) + m.leave.size() * sizeof(std::uint16_t) +
             m.target.size() * sizeof(std::uint32_t) + m.joined.size() +
             m.cut.size() * sizeof(CutRow);
  return total;
}

Coo Tiled::to_coo() const {
  return decoded(*this, records.front());
}

void Tiled::check() const {
  if (modes.size() != dims.size() || (records.size() != 1 && records.size() != dims.size()))
    refuse("{} modes and {} copies for order {}", modes.size(), records.size(), order());
  for (const auto& copy : records)
    if (copy.size() != nnz * record_words())
      refuse("{} words of records, expected {}", copy.size(), nnz * record_words());
  for (const auto& copy : records) decoded(*this, copy).check();
  Array<std::uint32_t> in = records.front(), out(in.size());
  for (int m = 0; m < order(); ++m) {
    check_mode(*this, m, remaps() ? in : records[static_cast<std::size_t>(m)]);
    if (!remaps()) continue;
    remap(*this, m, in, out);
    std::swap(in, out);
  }
  if (in != records.front()) refuse("the records are not as they were after the last mode");
}

}  // namespace retensor::flycoo
