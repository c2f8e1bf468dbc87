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

template <class... Args>
[[noreturn]] void broken(fmt::format_string<Args...> text, Args&&... args) {
  throw InputError("FLYCOO: " + fmt::format(text, std::forward<Args>(args)...));
}

void check_options(const Dims& dims, Count nnz, const Options& options) {
  if (dims.size() < 2) broken("found a tensor of order 1, expected order 2 to 8");
  if (options.align < 4 || options.align > 256 || options.align % 4 != 0)
    broken("found records aligned to {} bytes, expected a multiple of 4 up to 256", options.align);
  if (options.id_bits != 0 && options.id_bits != 32 && options.id_bits != 64)
    broken("found remap ids of {} bits, expected 32 or 64", options.id_bits);
  if (options.id_bits == 32 && nnz > Count{1} << 32)
    broken("{} nonzeros have more than 32 bits of remap ids", nnz);
}

// Nonzeros as numbers in the input: the nonzero of each position, or the position of each nonzero.
template <class Position>
using Positions = Uninitialised<Position>;

// Sorts the nonzeros, which are in `order`, into that of `mode`.
template <class Position>
void sort_for_mode(const Coo& x, const Flycoo& f, std::size_t mode,
                   const Positions<Position>& order, Sortable<Position>& entries) {
  const Index* const index = x.indices[mode].data();
  const std::uint32_t* const part = f.modes[mode].part.data();
  for_all(x.nnz(), [=, to = entries.all(), nonzero = order.all()](Count p) {
    to[p] = {index[nonzero[p]], nonzero[p]};
  });
  if (f.options.arrangement == Arrangement::row) entries.sort(bits_for(x.dims[mode]));
  for_all(x.nnz(), [=, all = entries.all()](Count p) { all[p].key = part[all[p].key]; });
  entries.sort(bits_for(f.options.kappa));
}

// The stream of a mode in whose order the nonzeros are `order`, towards positions `next`.
template <class Position>
void add_stream(const Positions<Position>& order, const Positions<Position>& next, Flycoo& f) {
  const RecordLayout layout = f.layout;
  const auto width = static_cast<Count>(layout.id_words);
  std::uint32_t* const stream = f.streams.emplace_back(f.nnz * width).data();
  for_all(f.nnz, [=, nonzero = order.all(), to = next.all()](Count p) {
    write_id(layout, stream + p * width, to[nonzero[p]]);
  });
}

// The records with position[m] of each nonzero in the order of mode m.
template <class Position, class T>
void add_records(const Coo& x, const std::vector<Positions<Position>>& position, Flycoo& f) {
  const RecordLayout layout = f.layout;
  f.records.resize(f.nnz * f.record_words());
  for_all(f.nnz, [&, layout, values = x.values.as<T>()](Count n) {
    std::uint32_t* const record =
        f.records.data() + position[0].all()[n] * static_cast<Count>(layout.words);
    for (int m = 0; m < layout.order && layout.id_word >= 0; ++m)
      set_remap_id(layout, record, m, position[static_cast<std::size_t>(m)].all()[n]);
    encode<T>(x, values, n, layout, record);
  });
}

// By mode the position of each nonzero in its order, and the streams, if the format has any.
template <class Position>
std::vector<Positions<Position>> positions_of(const Coo& x, Flycoo& f) {
  const bool streams = f.options.ids == Ids::stream;
  Sortable<Position> entries(f.nnz);
  Positions<Position> order(f.nnz);
  std::vector<Positions<Position>> position;
  for_all(f.nnz, [to = order.all()](Count p) { to[p] = static_cast<Position>(p); });
  for (std::size_t mode = 0; mode < f.dims.size(); ++mode) {
    sort_for_mode(x, f, mode, order, entries);
    const auto sorted = entries.all();
    const auto inverse = position.emplace_back(f.nnz).all();
    for_all(f.nnz, [=](Count p) { inverse[sorted[p].value] = static_cast<Position>(p); });
    if (streams && mode > 0) add_stream(order, position[mode], f);
    for_all(f.nnz, [=, to = order.all()](Count p) { to[p] = sorted[p].value; });
  }
  if (streams) add_stream(order, position[0], f);
  return position;
}

// Fills the format of a tensor. What sorts is gone before the records are made.
template <class Position>
void build(const Coo& x, Flycoo& f) {
  const auto position = positions_of<Position>(x, f);
  dispatch(f.dtype, [&]<class T>() { add_records<Position, T>(x, position, f); });
}

void check_partitioning(const Flycoo& f, std::size_t mode) {
  const Partitioning& p = f.modes[mode];
  if (p.part.size() != f.dims[mode])
    broken("mode {} assigns {} indices, expected {}", mode, p.part.size(), f.dims[mode]);
  for (std::size_t i = 0; i < p.part.size(); ++i)
    if (p.part[i] >= f.options.kappa)
      broken("mode {} assigns index {} to partition {} of {}", mode, i, p.part[i], f.options.kappa);
  if (p.start.size() != Count{f.options.kappa} + 1 || p.start.front() != 0 ||
      p.start.back() != f.nnz || !std::is_sorted(p.start.begin(), p.start.end()))
    broken("the partition starts of mode {} do not run from 0 to {} in {} steps", mode, f.nnz,
           f.options.kappa);
}

void check_lengths(const Flycoo& f) {
  if (f.modes.size() != f.dims.size() || f.dims.size() != static_cast<std::size_t>(f.order()))
    broken("{} partitionings and records of order {} for order {}", f.modes.size(), f.order(),
           f.dims.size());
  if (f.records.size() != f.nnz * f.record_words())
    broken("{} words of records, expected {}", f.records.size(), f.nnz * f.record_words());
  const std::size_t streams = f.options.ids == Ids::stream ? f.dims.size() : 0;
  if (f.streams.size() != streams)
    broken("found {} streams of remap ids, expected {}", f.streams.size(), streams);
  for (const auto& stream : f.streams)
    if (stream.size() != f.nnz * static_cast<Count>(f.layout.id_words))
      broken("a stream of {} words for {} nonzeros", stream.size(), f.nnz);
  for (std::size_t m = 0; m < f.dims.size(); ++m) check_partitioning(f, m);
}

// That `records` stand in the order of `mode`.
void check_order(const Flycoo& f, int mode, const Array<std::uint32_t>& records) {
  const Partitioning& partitions = f.modes[static_cast<std::size_t>(mode)];
  std::vector<bool> taken(f.nnz);  // positions of the next mode's order
  for (std::uint32_t k = 0; k < partitions.kappa(); ++k)
    for (Count p = partitions.start[k]; p < partitions.start[k + 1]; ++p) {
      const std::uint32_t* const record = records.data() + p * f.record_words();
      const Index row = record_index(f.layout, record, mode);
      if (partitions.part[row] != k)
        broken("mode {}, position {}: index {} of partition {} stands in {}", mode, p, row,
               partitions.part[row], k);
      if (f.options.arrangement == Arrangement::row && p > partitions.start[k] &&
          row < record_index(f.layout, record - f.record_words(), mode))
        broken("mode {}, position {}: row {} follows a higher one", mode, p, row);
      if (f.layout.id_word >= 0 && remap_id(f.layout, record, mode) != p)
        broken("mode {}, position {}: remap id {}", mode, p, remap_id(f.layout, record, mode));
      const Count to = next_position(f.layout, record, f.stream(mode), p, f.next_mode(mode));
      if (to >= f.nnz || taken[to])
        broken("mode {}, position {}: {} for the next mode, {}", mode, p, to,
               to >= f.nnz ? "beyond the last position" : "which is taken");
      taken[to] = true;
    }
}

}  // namespace

RecordLayout record_layout(const Dims& dims, DType dtype, const Options& options, Count nnz) {
  RecordLayout layout;
  layout.order = static_cast<int>(dims.size());
  layout.id_words = options.id_bits == 64 || (options.id_bits == 0 && nnz >> 32 != 0) ? 2 : 1;
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

Coo decoded(const RecordShape& shape, std::span<const std::uint32_t> records) {
  const RecordLayout layout = shape.layout;
  Coo x(shape.dims, shape.dtype, records.size() / shape.record_words());
  dispatch(shape.dtype, [&]<class T>() {
    for_all(x.nnz(), [&, values = x.values.as<T>()](Count p) {
      const std::uint32_t* const record = records.data() + p * static_cast<Count>(layout.words);
      for (int m = 0; m < layout.order; ++m)
        x.indices[static_cast<std::size_t>(m)][p] = record_index(layout, record, m);
      values[p] = record_value<T>(layout, record);
    });
  });
  return x;
}

FlycooShape flycoo_shape(const Dims& dims, DType dtype, Count nnz, const Options& options) {
  check_options(dims, nnz, options);
  return {{dims, dtype, record_layout(dims, dtype, options, nnz), nnz}, options, {}};
}

Flycoo to_flycoo(const Coo& tensor, const Options& options) {
  Flycoo f{flycoo_shape(tensor.dims, tensor.dtype(), tensor.nnz(), options), {}, {}};
  for (std::size_t m = 0; m < f.dims.size(); ++m)
    f.modes.push_back(partition_mode(tensor.indices[m], f.dims[m], options.kappa,
                                     options.assignment, options.seed + m));
  if (tensor.nnz() <= Count{1} << 32)
    build<std::uint32_t>(tensor, f);
  else
    build<Count>(tensor, f);
  return f;
}

void remap(const Flycoo& tensor, int mode, std::span<const std::uint32_t> in,
           std::span<std::uint32_t> out) {
  const RecordLayout layout = tensor.layout;
  const int next = tensor.next_mode(mode);
  const Count words = tensor.record_words();
  for_all(tensor.nnz, [=, stream = tensor.stream(mode)](Count p) {
    const std::uint32_t* const record = in.data() + p * words;
    std::copy_n(record, words, out.data() + next_position(layout, record, stream, p, next) * words);
  });
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
  return decoded(*this, records);
}

void Flycoo::check() const {
  check_lengths(*this);
  to_coo().check();
  Array<std::uint32_t> in = records, out(records.size());
  for (int mode = 0; mode < order(); ++mode) {
    check_order(*this, mode, in);
    remap(*this, mode, in, out);
    std::swap(in, out);
  }
  if (in != records) broken("the records are not as they were after the last mode");
}

Executed FlycooShape::facts() const {
  const int id_words = options.ids == Ids::stream ? order() * layout.id_words : 0;
  Executed facts = {
      {"kappa", std::to_string(options.kappa)},
      {"partition", word_of(options.assignment)},
      {"order", word_of(options.arrangement)},
      {"indices", word_of(options.indices)},
      {"ids", word_of(options.ids)},
      {"record_bytes", std::to_string(record_bytes())},
      {"nonzero_bits", std::to_string(32 * (layout.words + id_words))},
      {"nonzero_bits_formula", fmt::format("{:.1f}", bits_per_nonzero(dims, nnz, dtype))},
      {"nonzero_bits_whole", std::to_string(whole_bits_per_nonzero(dims, nnz, dtype))}};
  double largest = 1;
  for (std::size_t m = 0; m < modes.size(); ++m) {
    const double ratio = modes[m].load_ratio();
    largest = std::max(largest, ratio);
    facts[fmt::format("load_ratio_{}", m)] = fmt::format("{:.4f}", ratio);
  }
  facts["load_ratio"] = fmt::format("{:.4f}", largest);
  return facts;
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
