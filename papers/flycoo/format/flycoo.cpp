// COO -> FLYCOO by stable counting sorts, and back; see flycoo.hpp.
//
// A mode's order is that of the mode before, sorted stably by partition (arrangement `arrival`), or
// by output index and then by partition (`row`).
#include "papers/flycoo/format/flycoo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "common/core/error.hpp"
#include "common/tensor/linear_index.hpp"
#include "papers/flycoo/format/counting_sort.hpp"

namespace retensor::flycoo {
namespace {

int id_words(const Options& options, Count nnz) {
  if (options.id_bits != 0) return options.id_bits / 32;
  return nnz >= Count{1} << 32 ? 2 : 1;
}

void check_options(const Dims& dims, Count nnz, const Options& options) {
  if (dims.size() < 2) throw InputError("FLYCOO: found a tensor of order 1, expected order 2 to 8");
  if (options.align < 4 || options.align > 256 || options.align % 4 != 0)
    throw InputError(
        fmt::format("FLYCOO: found records aligned to {} bytes, expected a multiple of 4 up to 256",
                    options.align));
  if (options.id_bits != 0 && options.id_bits != 32 && options.id_bits != 64)
    throw InputError(
        fmt::format("FLYCOO: found remap ids of {} bits, expected 32 or 64", options.id_bits));
  if (options.id_bits == 32 && nnz > Count{1} << 32)
    throw InputError(fmt::format("FLYCOO: {} nonzeros have more than 32 bits of remap ids", nnz));
}

// Fills the format of a tensor. Positions of nonzeros are 32-bit where these hold them.
template <class Position>
class Builder {
 public:
  Builder(const Coo& x, Flycoo& out)
      : x_(x), out_(out), entries_(x.nnz()), position_(x.dims.size()) {}

  void build() {
    const bool streams = out_.options.ids == Ids::stream;
    Positions previous = input_order();
    for (std::size_t mode = 0; mode < position_.size(); ++mode) {
      Positions sorted = sort(previous, mode);
      position_[mode] = inverse(sorted);
      if (streams && mode > 0) add_stream(previous, position_[mode]);
      previous = std::move(sorted);
    }
    if (streams) add_stream(previous, position_[0]);
    dispatch(out_.dtype, [this]<class T>() { this->template encode<T>(); });
  }

 private:
  /// Nonzeros as numbers in the input: the nonzero of each position, or the position of each.
  using Positions = Uninitialised<Position>;

  Positions input_order() const {
    Positions order(x_.nnz());
    const auto to = order.all();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < to.size(); ++p) to[p] = static_cast<Position>(p);
    return order;
  }

  Positions sort(const Positions& previous, std::size_t mode) {
    const auto& index = x_.indices[mode];
    const auto& part = out_.modes[mode].part;
    const auto nonzero = previous.all();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < nonzero.size(); ++p) entries_.all()[p] = {index[nonzero[p]], nonzero[p]};
    if (out_.options.arrangement == Arrangement::row) entries_.sort(bits_for(x_.dims[mode]));
    const auto entries = entries_.all();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < entries.size(); ++p) entries[p].key = part[entries[p].key];
    entries_.sort(bits_for(out_.options.kappa));
    Positions sorted(x_.nnz());
    const auto to = sorted.all();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < to.size(); ++p) to[p] = entries_.all()[p].value;
    return sorted;
  }

  Positions inverse(const Positions& order) const {
    Positions position(x_.nnz());
    const auto from = order.all();
    const auto to = position.all();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < from.size(); ++p) to[from[p]] = static_cast<Position>(p);
    return position;
  }

  // The stream of a mode in whose order the nonzeros are `order`, towards positions `next`.
  void add_stream(const Positions& order, const Positions& next) const {
    const auto width = static_cast<Count>(out_.layout.id_words);
    auto& stream = out_.streams.emplace_back(x_.nnz() * width);
    const auto nonzero = order.all();
    const auto to = next.all();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < nonzero.size(); ++p)
      write_id(out_.layout, stream.data() + p * width, to[nonzero[p]]);
  }

  template <class T>
  void encode() const {
    const RecordLayout layout = out_.layout;
    const auto values = x_.values.as<T>();
    out_.records.resize(x_.nnz() * static_cast<Count>(layout.words));
#pragma omp parallel for schedule(static)
    for (Count n = 0; n < values.size(); ++n) {
      std::uint32_t* const record =
          out_.records.data() + position_[0].all()[n] * static_cast<Count>(layout.words);
      for (int m = 0; m < layout.order; ++m) {
        const auto mode = static_cast<std::size_t>(m);
        if (layout.id_word >= 0) set_remap_id(layout, record, m, position_[mode].all()[n]);
        set_record_index(layout, record, m, x_.indices[mode][n]);
      }
      set_record_value(layout, record, values[n]);
    }
  }

  const Coo& x_;
  Flycoo& out_;
  Sortable<Position> entries_;
  std::vector<Positions> position_;  // of each nonzero in each mode's order
};

[[noreturn]] void broken(const std::string& what) {
  throw InputError("FLYCOO: " + what);
}

void check_partitioning(const Flycoo& f, std::size_t mode) {
  const Partitioning& p = f.modes[mode];
  if (p.part.size() != f.dims[mode])
    broken(
        fmt::format("mode {} assigns {} indices, expected {}", mode, p.part.size(), f.dims[mode]));
  for (std::size_t i = 0; i < p.part.size(); ++i)
    if (p.part[i] >= f.options.kappa)
      broken(fmt::format("mode {} assigns index {} to partition {} of {}", mode, i, p.part[i],
                         f.options.kappa));
  if (p.start.size() != Count{f.options.kappa} + 1 || p.start.front() != 0 ||
      p.start.back() != f.nnz || !std::is_sorted(p.start.begin(), p.start.end()))
    broken(fmt::format("the partition starts of mode {} do not run from 0 to {} in {} steps", mode,
                       f.nnz, f.options.kappa));
}

void check_lengths(const Flycoo& f) {
  if (f.modes.size() != f.dims.size() || f.layout.order != f.order())
    broken(fmt::format("{} partitionings and records of order {} for order {}", f.modes.size(),
                       f.layout.order, f.order()));
  if (f.records.size() != f.nnz * f.record_words())
    broken(fmt::format("{} words of records, expected {}", f.records.size(),
                       f.nnz * f.record_words()));
  const std::size_t streams = f.options.ids == Ids::stream ? f.dims.size() : 0;
  if (f.streams.size() != streams)
    broken(fmt::format("found {} streams of remap ids, expected {}", f.streams.size(), streams));
  for (const auto& stream : f.streams)
    if (stream.size() != f.nnz * static_cast<Count>(f.layout.id_words))
      broken(fmt::format("a stream of {} words for {} nonzeros", stream.size(), f.nnz));
  for (std::size_t m = 0; m < f.dims.size(); ++m) check_partitioning(f, m);
}

// Records in the order of `mode` as they should be.
class ModeOrder {
 public:
  ModeOrder(const Flycoo& f, int mode, std::span<const std::uint32_t> records)
      : f_(f), mode_(mode), records_(records), taken_(f.nnz) {}

  void check() {
    const Partitioning& partitioning = f_.modes[static_cast<std::size_t>(mode_)];
    for (std::uint32_t k = 0; k < partitioning.kappa(); ++k)
      for (Count p = partitioning.start[k]; p < partitioning.start[k + 1]; ++p) {
        const Index row = record_index(f_.layout, record(p), mode_);
        if (partitioning.part[row] != k)
          broken(fmt::format("mode {}, position {}: index {} of partition {} stands in {}", mode_,
                             p, row, partitioning.part[row], k));
        if (f_.options.arrangement == Arrangement::row && p > partitioning.start[k] &&
            row < record_index(f_.layout, record(p - 1), mode_))
          broken(fmt::format("mode {}, position {}: row {} follows a higher one", mode_, p, row));
        check_ids(p);
      }
  }

 private:
  void check_ids(Count p) {
    if (f_.layout.id_word >= 0 && remap_id(f_.layout, record(p), mode_) != p)
      broken(fmt::format("mode {}, position {}: remap id {}", mode_, p,
                         remap_id(f_.layout, record(p), mode_)));
    const Count to = next_position(f_.layout, record(p), f_.stream(mode_), p, f_.next_mode(mode_));
    if (to >= f_.nnz || taken_[to])
      broken(fmt::format("mode {}, position {}: {} for the next mode, {}", mode_, p, to,
                         to >= f_.nnz ? "beyond the last position" : "which is taken"));
    taken_[to] = true;
  }
  const std::uint32_t* record(Count p) const {
    return records_.data() + p * static_cast<Count>(f_.layout.words);
  }

  const Flycoo& f_;
  const int mode_;
  const std::span<const std::uint32_t> records_;
  std::vector<bool> taken_;  // positions of the next mode's order
};

}  // namespace

Arrangement arrangement_from_name(std::string_view text) {
  if (text == "arrival") return Arrangement::arrival;
  if (text == "row") return Arrangement::row;
  throw InputError(fmt::format("unknown arrangement '{}', expected arrival or row", text));
}

Indices indices_from_name(std::string_view text) {
  if (text == "plain") return Indices::plain;
  if (text == "packed") return Indices::packed;
  throw InputError(fmt::format("unknown indices '{}', expected plain or packed", text));
}

Ids ids_from_name(std::string_view text) {
  if (text == "record") return Ids::record;
  if (text == "stream") return Ids::stream;
  throw InputError(fmt::format("unknown ids '{}', expected record or stream", text));
}

RecordLayout record_layout(const Dims& dims, DType dtype, const Options& options, Count nnz) {
  RecordLayout layout;
  layout.order = static_cast<int>(dims.size());
  layout.id_words = id_words(options, nnz);
  int word = 0;
  if (options.ids == Ids::record) {
    layout.id_word = 0;
    word = layout.order * layout.id_words;
  }
  int bit = 0;
  for (std::size_t m = 0; m < dims.size(); ++m) {
    const int width = options.indices == Indices::plain ? 32 : bits_for(dims[m]);
    layout.index[m] = {word + bit / 32, bit % 32, width};
    bit += width;
  }
  layout.value_word = word + (bit + 31) / 32;
  layout.value_words = static_cast<int>(size_of(dtype) / sizeof(std::uint32_t));
  const int words = layout.value_word + layout.value_words;
  const int unit = options.align / static_cast<int>(sizeof(std::uint32_t));
  layout.words = (words + unit - 1) / unit * unit;
  return layout;
}

Coo decoded(const Dims& dims, DType dtype, const RecordLayout& layout,
            std::span<const std::uint32_t> records) {
  const auto words = static_cast<Count>(layout.words);
  Coo x(dims, dtype, records.size() / words);
  dispatch(dtype, [&]<class T>() {
    const auto values = x.values.as<T>();
#pragma omp parallel for schedule(static)
    for (Count p = 0; p < values.size(); ++p) {
      const std::uint32_t* const record = records.data() + p * words;
      for (int m = 0; m < layout.order; ++m)
        x.indices[static_cast<std::size_t>(m)][p] = record_index(layout, record, m);
      values[p] = record_value<T>(layout, record);
    }
  });
  return x;
}

FlycooShape flycoo_shape(const Dims& dims, DType dtype, Count nnz, const Options& options) {
  check_options(dims, nnz, options);
  return {dims, dtype, options, record_layout(dims, dtype, options, nnz), nnz, {}};
}

Flycoo to_flycoo(const Coo& tensor, const Options& options) {
  Flycoo f{flycoo_shape(tensor.dims, tensor.dtype(), tensor.nnz(), options), {}, {}};
  for (std::size_t m = 0; m < f.dims.size(); ++m)
    f.modes.push_back(partition_mode(tensor.indices[m], f.dims[m], options.kappa,
                                     options.assignment, options.seed + m));
  if (tensor.nnz() <= Count{1} << 32)
    Builder<std::uint32_t>(tensor, f).build();
  else
    Builder<Count>(tensor, f).build();
  return f;
}

void remap(const Flycoo& tensor, int mode, std::span<const std::uint32_t> in,
           std::span<std::uint32_t> out) {
  const RecordLayout layout = tensor.layout;
  const std::uint32_t* const stream = tensor.stream(mode);
  const int next = tensor.next_mode(mode);
  const auto words = static_cast<Count>(layout.words);
#pragma omp parallel for schedule(static)
  for (Count p = 0; p < tensor.nnz; ++p) {
    const std::uint32_t* const record = in.data() + p * words;
    std::copy_n(record, words, out.data() + next_position(layout, record, stream, p, next) * words);
  }
}

const std::uint32_t* Flycoo::stream(int mode) const {
  return streams.empty() ? nullptr : streams[static_cast<std::size_t>(mode)].data();
}

Count Flycoo::bytes() const {
  Count words = records.size();
  for (const auto& stream : streams) words += stream.size();
  Count total = words * sizeof(std::uint32_t);
  for (const auto& mode : modes) total += mode.start.size() * sizeof(Count);
  return total;
}

Coo Flycoo::to_coo() const {
  return decoded(dims, dtype, layout, records);
}

void Flycoo::check() const {
  check_lengths(*this);
  to_coo().check();
  Array<std::uint32_t> in = records, out(records.size());
  for (int mode = 0; mode < order(); ++mode) {
    ModeOrder(*this, mode, in).check();
    remap(*this, mode, in, out);
    std::swap(in, out);
  }
  if (in != records) broken("the records are not as they were after the last mode");
}

double bits_per_nonzero(const Dims& dims, Count nnz, DType dtype) {
  const auto bits = [](std::uint64_t n) {
    return n <= 1 ? 0.0 : std::log2(static_cast<double>(n));
  };
  double sum =
      static_cast<double>(dims.size()) * bits(nnz) + 8.0 * static_cast<double>(size_of(dtype));
  for (const auto length : dims) sum += bits(length);
  return sum;
}

Count whole_bits_per_nonzero(const Dims& dims, Count nnz, DType dtype) {
  Count sum = dims.size() * static_cast<Count>(bits_for(nnz)) + 8 * size_of(dtype);
  for (const auto length : dims) sum += static_cast<Count>(bits_for(length));
  return sum;
}

}  // namespace retensor::flycoo
