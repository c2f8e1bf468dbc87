// COO -> tiles by stable counting sorts, and back; see tiles.hpp.
#include "papers/flycoo/tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/core/error.hpp"
#include "common/tensor/linear_index.hpp"
#include "papers/flycoo/counting_sort.hpp"
#include "papers/flycoo/format.hpp"

namespace retensor::flycoo {
namespace {

constexpr std::uint32_t kMostSlots = 1u << 16;  // slots have 16 bits

[[noreturn]] void broken(int mode, const std::string& what) {
  throw InputError(fmt::format("FLYCOO tiles: mode {}, {}", mode, what));
}

void check_options(const Coo& tensor, const TileOptions& options) {
  if (tensor.order() < 2)
    throw InputError("FLYCOO tiles: found a tensor of order 1, expected order 2 to 8");
  if (tensor.nnz() >> 32 != 0)
    throw InputError(
        fmt::format("FLYCOO tiles: found {} nonzeros, expected below 2^32", tensor.nnz()));
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

using Numbers = Uninitialised<std::uint32_t>;  // nonzeros as numbers in the input, or positions

Numbers inverse(const Numbers& order) {
  Numbers position(order.all().size());
  const auto from = order.all();
  const auto to = position.all();
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < from.size(); ++p) to[from[p]] = static_cast<std::uint32_t>(p);
  return position;
}

template <class Key>
Numbers sorted(const Numbers& from, std::uint32_t keys, Key&& key) {
  Numbers to(from.all().size());
  stable_counting_sort<std::uint32_t>(from.all(), to.all(), keys, key);
  return to;
}

class Builder {
 public:
  Builder(const Coo& x, Tiled& out, bool remap) : x_(x), out_(out), remap_(remap) {}

  void build() {
    const int order = out_.order();
    for (int m = 0; m < order; ++m) {
      walks_.push_back(m == 0 ? by_row(before_first(), 0) : by_row(walks_.back(), m));
      find_joined(out_.modes.emplace_back(), x_.indices[at(m)], walks_.back());
    }
    if (!remap_) {
      for (int m = 0; m < order; ++m) out_.records.push_back(encoded(walks_[at(m)]));
      return;
    }
    for (int m = 0; m < order; ++m) position_.push_back(inverse(walks_[at(m)]));
    for (int m = 0; m < order; ++m) storage_.push_back(arrived(m));
    out_.records.push_back(encoded(storage_.front()));
    for (int m = 0; m < order; ++m) add_streams(m);
  }

 private:
  static std::size_t at(int mode) { return static_cast<std::size_t>(mode); }
  std::uint32_t tile_of(int mode, std::uint32_t nonzero) const {
    return position_[at(mode)].all()[nonzero] / out_.tile;
  }

  // What the last mode's walk would hand to the first, so that ties are broken alike in all modes.
  Numbers before_first() const {
    Numbers order(x_.nnz());
    const auto to = order.all();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < to.size(); ++p) to[p] = static_cast<std::uint32_t>(p);
    for (int m = 1; m < out_.order(); ++m) order = by_row(order, m);
    return order;
  }

  Numbers by_row(const Numbers& from, int mode) const {
    constexpr int kDigitBits =
        11;  // 2048 places to write to at once: what a second-level TLB covers
    constexpr Index kDigits = Index{1} << kDigitBits;
    const auto& index = x_.indices[at(mode)];
    const auto pass = [&](const Numbers& order, int shift) {
      return sorted(order, kDigits,
                    [&](std::uint32_t n) { return index[n] >> shift & (kDigits - 1); });
    };
    Numbers order = pass(from, 0);
    for (int shift = kDigitBits; shift < bits_for(out_.dims[at(mode)]); shift += kDigitBits)
      order = pass(order, shift);
    return order;
  }

  void find_joined(TiledMode& mode, const std::vector<Index>& index, const Numbers& walk) const {
    const std::uint32_t tiles = out_.tiles();
    const auto nonzero = walk.all();
    mode.joined.assign(tiles + 1, 0);
    for (std::uint32_t t = 1; t < tiles; ++t) {
      const Count p = Count{t} * out_.tile;
      const Index row = index[nonzero[p]];
      if (index[nonzero[p - 1]] != row) continue;
      mode.joined[t] = 1;
      if (mode.cut.empty() || mode.cut.back().row != row) mode.cut.push_back({row, t - 1, t});
      mode.cut.back().last = t;
    }
  }

  // The storage order of a mode: its tiles filled in the order in which the pass over the mode
  // before walks through its own tiles.
  Numbers arrived(int mode) const {
    const int before = (mode + out_.order() - 1) % out_.order();
    return sorted(walks_[at(before)], out_.tiles(),
                  [&](std::uint32_t n) { return tile_of(mode, n); });
  }

  void add_streams(int m) const {
    TiledMode& mode = out_.modes[at(m)];
    const int next = (m + 1) % out_.order();
    const Numbers slot = inverse(storage_[at(m)]), to = inverse(storage_[at(next)]);
    const Numbers leaving =
        sorted(storage_[at(next)], out_.tiles(), [&](std::uint32_t n) { return tile_of(m, n); });
    const Count n = x_.nnz();
    mode.walk.resize(n), mode.leave.resize(n), mode.target.resize(n);
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < n; ++p) {
      mode.walk[p] = static_cast<std::uint16_t>(slot.all()[walks_[at(m)].all()[p]] % out_.tile);
      mode.leave[p] = static_cast<std::uint16_t>(slot.all()[leaving.all()[p]] % out_.tile);
      mode.target[p] = to.all()[leaving.all()[p]];
    }
  }

  Array<std::uint32_t> encoded(const Numbers& order) const {
    const RecordLayout layout = out_.layout;
    Array<std::uint32_t> records(x_.nnz() * out_.record_words());
    dispatch(out_.dtype, [&]<class T>() {
      const auto values = x_.values.as<T>();
#pragma omp parallel for schedule(static)
      for (Count p = 0; p < values.size(); ++p) {
        std::uint32_t* const record = records.data() + p * static_cast<Count>(layout.words);
        const std::uint32_t n = order.all()[p];
        for (int m = 0; m < layout.order; ++m)
          set_record_index(layout, record, m, x_.indices[at(m)][n]);
        set_record_value(layout, record, values[n]);
      }
    });
    return records;
  }

  const Coo& x_;
  Tiled& out_;
  const bool remap_;
  // By mode: nonzeros by output row and their positions there; nonzeros in storage order.
  std::vector<Numbers> walks_, position_, storage_;
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
  Count begin(std::uint32_t tile) const { return Count{tile} * f_.tile; }
  Count end(std::uint32_t tile) const { return std::min(begin(tile) + f_.tile, f_.nnz); }

  void check_streams() const {
    std::vector<bool> target(f_.nnz);
    for (std::uint32_t t = 0; t < f_.tiles(); ++t) {
      check_slots(t, m_.walk, "walk");
      check_slots(t, m_.leave, "leave");
      for (Count p = begin(t); p < end(t); ++p) {
        if (m_.target[p] >= f_.nnz || target[m_.target[p]])
          broken(mode_,
                 fmt::format("position {}: target {} is beyond the end or taken", p, m_.target[p]));
        target[m_.target[p]] = true;
        if (p > begin(t) && m_.target[p] < m_.target[p - 1])
          broken(mode_, fmt::format("position {}: target {} follows {}", p, m_.target[p],
                                    m_.target[p - 1]));
      }
    }
  }

  void check_slots(std::uint32_t t, const Array<std::uint16_t>& slots, const char* what) const {
    std::vector<bool> taken(end(t) - begin(t));
    for (Count p = begin(t); p < end(t); ++p) {
      if (slots[p] >= taken.size() || taken[slots[p]])
        broken(mode_, fmt::format("position {}: {} slot {} is beyond the tile or taken", p, what,
                                  slots[p]));
      taken[slots[p]] = true;
    }
  }

  Index row(Count p) const {
    const Count slot = f_.remaps() ? p / f_.tile * f_.tile + m_.walk[p] : p;
    return record_index(f_.layout, records_.data() + slot * f_.record_words(), mode_);
  }

  void check_rows() const {
    std::vector<CutRow> cut;
    for (Count p = 1; p < f_.nnz; ++p) {
      if (row(p) < row(p - 1))
        broken(mode_, fmt::format("position {}: row {} follows {}", p, row(p), row(p - 1)));
      if (p % f_.tile != 0) continue;
      const auto t = static_cast<std::uint32_t>(p / f_.tile);
      const bool joined = row(p) == row(p - 1);
      if ((m_.joined[t] != 0) != joined)
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

Tiled to_tiled(const Coo& tensor, const TileOptions& options) {
  check_options(tensor, options);
  Tiled f;
  f.dims = tensor.dims;
  f.dtype = tensor.dtype();
  f.nnz = tensor.nnz();
  f.layout =
      record_layout(f.dims, f.dtype, {.indices = Indices::packed, .ids = Ids::stream}, f.nnz);
  f.tile = tile_size(f.nnz, options);
  Builder(tensor, f, options.remap).build();
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
  to_coo().check();
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
