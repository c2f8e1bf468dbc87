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

[[noreturn]] void broken(int mode, const std::string& what) {
  throw InputError(fmt::format("FLYCOO tiles: mode {}, {}", mode, what));
}

void check_options(const Dims& dims, Count nnz, const TileOptions& options) {
  if (dims.size() < 2)
    throw InputError("FLYCOO tiles: found a tensor of order 1, expected order 2 to 8");
  if (nnz >> 32 != 0)
    throw InputError(fmt::format("FLYCOO tiles: found {} nonzeros, expected below 2^32", nnz));
  if (options.tile < 1 || options.tile > kMostSlots || options.processors < 1)
    throw InputError(
        fmt::format("FLYCOO tiles: found {} nonzeros a tile on {} processors, "
                    "expected 1 to {} on at least 1",
                    options.tile, options.processors, kMostSlots));
  if (options.unit < 1 || options.tile % options.unit != 0)
    throw InputError(
        fmt::format("FLYCOO tiles: found tiles of {} nonzeros, expected a multiple of {}",
                    options.tile, options.unit));
}

using Numbers = Uninitialised<std::uint32_t>;
using Entry = Keyed<std::uint32_t>;

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
    dispatch(x.dtype(), [&]<class T>() { encode<T>(x); });
  }

  void remapping() {
    allocate_streams();
    start();
    for (int m = 0; m < out_.order(); ++m) {
      look_along(m);
      hand_over(m, next_walk(m));
    }
    for (TiledMode& mode : out_.modes) name_slots(mode);
    const auto& slot = out_.modes.front().walk;
    out_.records.push_back(placed([&](Count begin, Count p) { return begin + slot[p]; }));
  }

  void copies() {
    start();
    for (int m = 0; m < out_.order(); ++m) {
      if (m > 0) next_walk(m - 1);
      look_along(m);
      out_.records.push_back(placed([](Count, Count p) { return p; }));
    }
  }

 private:
  static std::size_t at(int mode) { return static_cast<std::size_t>(mode); }
  int next(int mode) const { return (mode + 1) % out_.order(); }

  template <class T>
  void encode(const Coo& x) {
    const RecordLayout layout = out_.layout;
    const auto values = x.values.as<T>();
#pragma omp parallel for schedule(static)
    for (Count n = 0; n < values.size(); ++n) {
      std::uint32_t* const to = records_.all().data() + n * out_.record_words();
      std::fill_n(to, layout.words, 0u);
      for (int m = 0; m < layout.order; ++m) set_record_index(layout, to, m, x.indices[at(m)][n]);
      set_record_value(layout, to, values[n]);
    }
  }

  const std::uint32_t* record(std::uint32_t nonzero) const {
    return records_.all().data() + nonzero * out_.record_words();
  }
  Index index(std::uint32_t nonzero, int mode) const {
    return record_index(out_.layout, record(nonzero), mode);
  }

  // The first touch of so much memory takes long, so threads share it; no exception may leave them.
  void allocate_streams() {
    for (TiledMode& mode : out_.modes)
      mode.walk.reserve(out_.nnz), mode.leave.reserve(out_.nnz), mode.target.reserve(out_.nnz);
#pragma omp parallel for schedule(static, 1)
    for (TiledMode& mode : out_.modes)
      mode.walk.resize(out_.nnz), mode.leave.resize(out_.nnz), mode.target.resize(out_.nnz);
  }

  // Mode 0's walk, by the rows of mode 0, then of the last mode and so on down to mode 1: so the
  // last mode's walk hands it on again.
  void start() {
    const auto walk = walk_.all();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < walk.size(); ++p) walk[p] = static_cast<std::uint32_t>(p);
    for (int m = 0; m < out_.order(); ++m) next_walk(m);
  }

  // Goes on to the walk of the mode after `mode`; the value of entry p is the place on the old walk
  // of the nonzero at place p of the new one.
  std::span<const Entry> next_walk(int mode) {
    const auto old = walk_.all();
    const auto unsorted = entries_.all();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < old.size(); ++p)
      unsorted[p] = {index(old[p], next(mode)), static_cast<std::uint32_t>(p)};
    entries_.sort(bits_for(out_.dims[at(next(mode))]));
    const std::span<const Entry> from = entries_.all();
    const auto walk = spare_.all();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < walk.size(); ++p) walk[p] = old[from[p].value];
    std::swap(walk_, spare_);
    return from;
  }

  void look_along(int mode) {
    const auto walk = walk_.all();
    std::vector<Index> first, last;
    for (std::uint32_t t = 0; t < out_.tiles(); ++t) {
      first.push_back(index(walk[out_.begin(t)], mode));
      last.push_back(index(walk[out_.end(t) - 1], mode));
    }
    SharedRows& shared = out_.modes[at(mode)];
    shared = shared_rows(first, last);
    out_.modes[at(mode)].fibers = count_fibers(mode);
  }

  Count count_fibers(int mode) const {
    const auto nonzero = walk_.all();
    const std::vector<std::uint32_t> equal = bits_but_of(next(mode));
    Count fibers = nonzero.empty() ? 0 : 1;
#pragma omp parallel for schedule(static) reduction(+ : fibers)
    for (Count p = 1; p < nonzero.size(); ++p) {
      const std::uint32_t *const a = record(nonzero[p - 1]), *const b = record(nonzero[p]);
      std::uint32_t differ = 0;
      for (std::size_t w = 0; w < equal.size(); ++w) differ |= (a[w] ^ b[w]) & equal[w];
      fibers += differ != 0 ? 1 : 0;
    }
    return fibers;
  }

  // The bits of a record that hold the indices of all modes but `mode`.
  std::vector<std::uint32_t> bits_but_of(int mode) const {
    std::vector<std::uint32_t> bits(out_.record_words());
    for (int m = 0; m < out_.order(); ++m)
      if (m != mode) set_record_index(out_.layout, bits.data(), m, last_index(m));
    return bits;
  }
  Index last_index(int mode) const {
    return static_cast<Index>((Count{1} << out_.layout.index[mode].width) - 1);
  }

  // Remapping from `mode` to the next one. Both walks being known, a tile of the next mode is
  // filled in the order of this walk, and a tile of this mode leaves in the order of the places
  // filled.
  void hand_over(int mode, std::span<const Entry> from) {
    TiledMode& leaving = out_.modes[at(mode)];
    TiledMode& arriving = out_.modes[at(next(mode))];
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
#pragma omp parallel for schedule(static)
    for (std::uint32_t t = 0; t < out_.tiles(); ++t) {
      const Count begin = out_.begin(t), count = out_.end(t) - begin;
      const Count mine = Count{out_.tile} * static_cast<Count>(omp_get_thread_num());
      const auto tile = entries.all().subspan(mine, count);
      for (Count k = 0; k < count; ++k) tile[k] = {key(begin + k), static_cast<std::uint32_t>(k)};
      const auto sorted = stable_sort(tile, spare.all().subspan(mine, count), bits, 1);
      for (Count k = 0; k < count; ++k) use(begin, k, sorted[k]);
    }
  }

  // From the leaving nonzeros' places on the walk to their slots.
  void name_slots(TiledMode& mode) const {
#pragma omp parallel for schedule(static)
    for (std::uint32_t t = 0; t < out_.tiles(); ++t)
      for (Count p = out_.begin(t); p < out_.end(t); ++p)
        mode.leave[p] = mode.walk[out_.begin(t) + mode.leave[p]];
  }

  // The records of the walk's nonzeros, each at position(first place of its tile, place).
  template <class Position>
  Array<std::uint32_t> placed(Position&& position) const {
    Array<std::uint32_t> records(out_.nnz * out_.record_words());
    const auto walk = walk_.all();
#pragma omp parallel for schedule(static)
    for (std::uint32_t t = 0; t < out_.tiles(); ++t)
      for (Count p = out_.begin(t); p < out_.end(t); ++p)
        std::copy_n(record(walk[p]), out_.record_words(),
                    records.data() + position(out_.begin(t), p) * out_.record_words());
    return records;
  }

  Tiled& out_;
  // In the order of the input. All that is read of a nonzero lies in a cache line or two.
  Numbers records_;
  Numbers walk_, spare_;  // nonzeros, as numbers in the input, in the order of the current walk
  Sortable<std::uint32_t> entries_;
};

/// Checks one mode of a layout whose records stand in that mode's storage order.
class ModeCheck {
 public:
  ModeCheck(const Tiled& f, int mode, std::span<const std::uint32_t> records)
      : f_(f), mode_(mode), m_(f.modes[static_cast<std::size_t>(mode)]), records_(records) {}

  void check() const {
    const Count streams = f_.remaps() ? f_.nnz : 0;
    if (m_.walk.size() != streams || m_.leave.size() != streams || m_.target.size() != streams)
      broken(mode_, fmt::format("streams of {}, {} and {} entries, expected {}", m_.walk.size(),
                                m_.leave.size(), m_.target.size(), streams));
    if (m_.joined.size() != Count{f_.tiles()} + 1)
      broken(mode_, fmt::format("{} marks of joined tiles, expected {}", m_.joined.size(),
                                f_.tiles() + 1));
    if (f_.remaps()) check_streams();
    check_rows();
  }

 private:
  void check_streams() const {
    std::vector<bool> target(f_.nnz);
    for (std::uint32_t t = 0; t < f_.tiles(); ++t) {
      check_slots(t, m_.walk, "walk");
      check_slots(t, m_.leave, "leave");
      for (Count p = f_.begin(t); p < f_.end(t); ++p) {
        if (m_.target[p] >= f_.nnz || target[m_.target[p]])
          broken(mode_,
                 fmt::format("position {}: target {} is beyond the end or taken", p, m_.target[p]));
        target[m_.target[p]] = true;
        if (p > f_.begin(t) && m_.target[p] < m_.target[p - 1])
          broken(mode_, fmt::format("position {}: target {} follows {}", p, m_.target[p],
                                    m_.target[p - 1]));
      }
    }
  }

  void check_slots(std::uint32_t t, const Array<std::uint16_t>& slots, const char* what) const {
    std::vector<bool> taken(f_.end(t) - f_.begin(t));
    for (Count p = f_.begin(t); p < f_.end(t); ++p) {
      if (slots[p] >= taken.size() || taken[slots[p]])
        broken(mode_, fmt::format("position {}: {} slot {} is beyond the tile or taken", p, what,
                                  slots[p]));
      taken[slots[p]] = true;
    }
  }

  Index index(Count p, int mode) const {
    const Count slot = f_.remaps() ? p / f_.tile * f_.tile + m_.walk[p] : p;
    return record_index(f_.layout, records_.data() + slot * f_.record_words(), mode);
  }
  Index row(Count p) const { return index(p, mode_); }
  bool same_fiber(Count p, Count q) const {
    for (int m = 0; m < f_.order(); ++m)
      if (m != (mode_ + 1) % f_.order() && index(p, m) != index(q, m)) return false;
    return true;
  }

  void check_rows() const {
    if (m_.joined.front() != 0 || m_.joined.back() != 0)
      broken(mode_, "the first tile or the end is marked as joined");
    std::vector<CutRow> cut;
    Count fibers = f_.nnz > 0 ? 1 : 0;
    for (Count p = 1; p < f_.nnz; ++p) {
      fibers += same_fiber(p - 1, p) ? 0 : 1;
      if (row(p) < row(p - 1))
        broken(mode_, fmt::format("position {}: row {} follows {}", p, row(p), row(p - 1)));
      if (p % f_.tile != 0) continue;
      const auto t = static_cast<std::uint32_t>(p / f_.tile);
      const bool joined = row(p) == row(p - 1);
      if (m_.joined[t] != (joined ? 1 : 0))
        broken(mode_, fmt::format("tile {}: its mark of a joined row is wrong", t));
      if (!joined) continue;
      if (cut.empty() || cut.back().row != row(p)) cut.push_back({row(p), t - 1, t});
      cut.back().last = t;
    }
    const auto same = [](const CutRow& a, const CutRow& b) {
      return a.row == b.row && a.first == b.first && a.last == b.last;
    };
    if (!std::equal(cut.begin(), cut.end(), m_.cut.begin(), m_.cut.end(), same))
      broken(mode_, "the rows that tiles share are not those listed");
    if (fibers != m_.fibers)
      broken(mode_, fmt::format("{} fibers are stated, {} found", m_.fibers, fibers));
  }

  const Tiled& f_;
  const int mode_;
  const TiledMode& m_;
  const std::span<const std::uint32_t> records_;
};

}  // namespace

std::uint32_t tile_size(Count nnz, const TileOptions& options) {
  const Count at_once = Count{options.tile} * options.processors;
  const Count tiles = std::max<Count>((nnz + at_once - 1) / at_once, 1) * options.processors;
  const Count size = std::max<Count>((nnz + tiles - 1) / tiles, 1);
  return static_cast<std::uint32_t>((size + options.unit - 1) / options.unit * options.unit);
}

TiledShape tiled_shape(const Dims& dims, DType dtype, Count nnz, const TileOptions& options) {
  check_options(dims, nnz, options);
  TiledShape shape;
  shape.dims = dims;
  shape.dtype = dtype;
  shape.nnz = nnz;
  shape.layout = record_layout(dims, dtype, {.indices = Indices::packed, .ids = Ids::stream}, nnz);
  shape.tile = tile_size(nnz, options);
  return shape;
}

SharedRows shared_rows(std::span<const Index> first, std::span<const Index> last) {
  SharedRows shared;
  shared.joined.assign(first.size() + 1, 0);
  for (std::uint32_t t = 1; t < first.size(); ++t) {
    if (first[t] != last[t - 1]) continue;
    shared.joined[t] = 1;
    if (shared.cut.empty() || shared.cut.back().row != first[t])
      shared.cut.push_back({first[t], t - 1, t});
    shared.cut.back().last = t;
  }
  return shared;
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
  const Count words = tensor.record_words();
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < tensor.nnz; ++p) {
    const Count slot = p / tensor.tile * tensor.tile + m.leave[p];
    std::copy_n(in.data() + slot * words, words, out.data() + m.target[p] * words);
  }
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
  return decoded(dims, dtype, layout, records.front());
}

void Tiled::check() const {
  if (modes.size() != dims.size() || (records.size() != 1 && records.size() != dims.size()))
    throw InputError(fmt::format("FLYCOO tiles: {} modes and {} copies for order {}", modes.size(),
                                 records.size(), order()));
  for (const auto& copy : records)
    if (copy.size() != nnz * record_words())
      throw InputError(fmt::format("FLYCOO tiles: {} words of records, expected {}", copy.size(),
                                   nnz * record_words()));
  for (const auto& copy : records) decoded(dims, dtype, layout, copy).check();
  if (!remaps()) {
    for (int m = 0; m < order(); ++m)
      ModeCheck(*this, m, records[static_cast<std::size_t>(m)]).check();
    return;
  }
  Array<std::uint32_t> in = records.front(), out(in.size());
  for (int m = 0; m < order(); ++m) {
    ModeCheck(*this, m, in).check();
    remap(*this, m, in, out);
    std::swap(in, out);
  }
  if (in != records.front())
    throw InputError("FLYCOO tiles: the records are not as they were after the last mode");
}

}  // namespace retensor::flycoo
