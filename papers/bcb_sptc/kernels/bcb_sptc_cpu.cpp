// The run of bcb_sptc.cpu; the algorithm stands in bcb_sptc_cpu.hpp.
#include "papers/bcb_sptc/kernels/bcb_sptc_cpu.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>

#include "common/numeric/rounding.hpp"
#include "papers/bcb_sptc/format/bits.hpp"

namespace retensor::bcb_sptc {
namespace {

constexpr Index kEdge = kFragmentEdge;

std::size_t at(int k) {
  return static_cast<std::size_t>(k);
}

/// Entries of `list`, ascending, that lie in different fragments.
Count fragments_of(std::span<const Index> list) {
  Count different = 0;
  for (std::size_t p = 0; p < list.size(); ++p)
    different += p == 0 || list[p] / kEdge != list[p - 1] / kEdge ? 1U : 0U;
  return different;
}

/// The values of a block at the places of their cells.
void unpack(const Bcb& bcb, Count block, std::span<float> cells) {
  std::ranges::fill(cells, 0.0f);
  Count value = bcb.value_start[block];
  for_each_bit(bcb.bitmap_of(block), [&](Index cell) { cells[cell] = bcb.values.at(value++); });
}

/// Where each mode of the result comes from: listed mode `place` of x or of y.
struct Source {
  bool from_x;
  int place;
};

std::vector<Source> sources_of(const Operands& operands) {
  std::vector<Source> sources;
  for (const auto& mode : operands.modes.result) {
    const auto& listed = (mode.from_x ? operands.x : operands.y).grid.modes();
    sources.push_back(
        {mode.from_x, static_cast<int>(std::ranges::find(listed, mode.mode) - listed.begin())});
  }
  return sources;
}

}  // namespace

/// Multiplies the pairs of one result block at a time.
class Worker {
 public:
  Worker(const Operands& operands, Arithmetic arithmetic, float alpha)
      : operands_(operands),
        arithmetic_(arithmetic),
        alpha_(alpha),
        sources_(sources_of(operands)),
        row_words_((operands.columns() + 63) / 64),
        x_cells_(operands.x.grid.cells()),
        y_cells_(operands.y.grid.cells()),
        bitmap_(operands.rows() * row_words_),
        column_bits_(row_words_),
        sums_(Count{operands.rows()} * operands.columns()),
        is_touched_(operands.rows()) {
    rows_.reserve(operands.rows());
    columns_.reserve(operands.columns());
  }

  struct Counts {
    Count entries = 0, mmas = 0;
  };
  /// Entries and products of a result block.
  Counts count(std::span<const Task> tasks) {
    Counts counts;
    restart();
    for (const Task task : tasks) {
      add_pattern(task);
      for_each_step(task,
                    [&](Index) { counts.mmas += fragments_of(rows_) * fragments_of(columns_); });
    }
    for (Index i = 0; i < operands_.rows(); ++i)
      if (is_touched_[i] != 0)
        for (const auto word : row_bits(i))
          counts.entries += static_cast<Count>(std::popcount(word));
    return counts;
  }

  /// Writes the entries of a result block from `entry` on.
  void multiply(std::span<const Task> tasks, Coo& out, Count entry) {
    restart();
    for (const Task task : tasks) {
      add_pattern(task);
      unpack(operands_.x, task.x, x_cells_);
      unpack(operands_.y, task.y, y_cells_);
      for_each_step(task, [&](Index first) { add_products(first); });
    }
    write(tasks.front(), out, entry);
  }

 private:
  std::span<std::uint64_t> row_bits(Index i) {
    return std::span(bitmap_).subspan(i * row_words_, row_words_);
  }
  std::span<float> row_sums(Index i) {
    return std::span(sums_).subspan(Count{i} * operands_.columns(), operands_.columns());
  }

  void restart() { std::ranges::fill(is_touched_, 0); }

  /// A row of the result block begins with zero when its first nonzero of x comes.
  void touch(Index i) {
    if (is_touched_[i] != 0) return;
    is_touched_[i] = 1;
    std::ranges::fill(row_bits(i), 0);
    std::ranges::fill(row_sums(i), 0.0f);
  }

  /// Adds row k of y's bitmap to row i of the result's for each nonzero (i, k) of x.
  void add_pattern(Task task) {
    const auto y = operands_.y.bitmap_of(task.y);
    for_each_bit(operands_.x.bitmap_of(task.x), [&](Index cell) {
      const Index i = cell / operands_.contracted();
      touch(i);
      add_row_of_y(y, cell & (operands_.contracted() - 1), row_bits(i));
    });
  }

  void add_row_of_y(std::span<const std::uint64_t> y, Index k, std::span<std::uint64_t> to) const {
    const Count columns = operands_.columns();
    for (Count w = 0; w < row_words_; ++w)
      to[w] |= bits_at(y, k * columns + w * 64, std::min<Count>(columns, 64));
  }

  /// Calls f(first) for each 16 contracted cells from `first` on in which both blocks hold
  /// nonzeros, with rows_ and columns_ those that hold one there.
  template <class F>
  void for_each_step(Task task, const F& f) {
    for (Index first = 0; first < operands_.contracted(); first += kEdge) {
      find_rows(task, first);
      if (rows_.empty()) continue;
      find_columns(task, first);
      if (!columns_.empty()) f(first);
    }
  }

  void find_rows(Task task, Index first) {
    const auto x = operands_.x.bitmap_of(task.x);
    const Count contracted = operands_.contracted(), width = std::min<Count>(contracted, kEdge);
    rows_.clear();
    for (Index i = 0; i < operands_.rows(); ++i)
      if (bits_at(x, i * contracted + first, width) != 0) rows_.push_back(i);
  }

  void find_columns(Task task, Index first) {
    const auto y = operands_.y.bitmap_of(task.y);
    const Index end = std::min(operands_.contracted(), first + kEdge);
    std::ranges::fill(column_bits_, 0);
    for (Index k = first; k < end; ++k) add_row_of_y(y, k, column_bits_);
    columns_.clear();
    for_each_bit(column_bits_, [&](Index j) { columns_.push_back(j); });
  }

  /// Adds the products over 16 contracted cells for all rows_ and columns_.
  void add_products(Index first) {
    for (std::size_t r = 0; r < rows_.size(); r += kEdge) {
      const auto rows = std::span(rows_).subspan(r, std::min<std::size_t>(kEdge, rows_.size() - r));
      const Fragment a = left_fragment(rows, first);
      for (std::size_t c = 0; c < columns_.size(); c += kEdge)
        add_product(
            a, rows, first,
            std::span(columns_).subspan(c, std::min<std::size_t>(kEdge, columns_.size() - c)));
    }
  }

  Fragment left_fragment(std::span<const Index> rows, Index first) const {
    const Index contracted = operands_.contracted(), width = std::min(contracted, kEdge);
    Fragment a{};
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (Index k = 0; k < width; ++k)
        a[i * kEdge + k] = x_cells_[Count{rows[i]} * contracted + first + k];
    return a;
  }

  Fragment right_fragment(std::span<const Index> columns, Index first) const {
    const Index width = std::min(operands_.contracted(), kEdge);
    Fragment b{};
    for (Index k = 0; k < width; ++k)
      for (std::size_t j = 0; j < columns.size(); ++j)
        b[k * kEdge + j] = y_cells_[Count{first + k} * operands_.columns() + columns[j]];
    return b;
  }

  void add_product(const Fragment& a, std::span<const Index> rows, Index first,
                   std::span<const Index> columns) {
    Fragment c{};
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < columns.size(); ++j)
        c[i * kEdge + j] = row_sums(rows[i])[columns[j]];
    multiply_add(arithmetic_, a, right_fragment(columns, first), c);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < columns.size(); ++j)
        row_sums(rows[i])[columns[j]] = c[i * kEdge + j];
  }

  void write(Task any, Coo& out, Count entry) {
    const auto values = out.values.as<float>();
    find_origins(any);
    for (Index i = 0; i < operands_.rows(); ++i) {
      if (is_touched_[i] == 0) continue;
      const auto sums = row_sums(i);
      for_each_bit(row_bits(i), [&](Index j) {
        for (std::size_t k = 0; k < sources_.size(); ++k)
          out.indices[k][entry] = origin_[k] | within(sources_[k], i, j);
        values[entry++] = alpha_ * sums[j];
      });
    }
  }

  void find_origins(Task task) {
    const auto x = operands_.x.block_index.at(task.x), y = operands_.y.block_index.at(task.y);
    for (std::size_t k = 0; k < sources_.size(); ++k)
      origin_[k] = sources_[k].from_x ? operands_.x.grid.origin(x, sources_[k].place)
                                      : operands_.y.grid.origin(y, sources_[k].place);
  }

  /// Of free cell i of x, which leads there, or j of y, which trails.
  Index within(Source source, Index i, Index j) const {
    return source.from_x ? operands_.x.grid.within(i * operands_.contracted(), source.place)
                         : operands_.y.grid.within(j, source.place);
  }

  const Operands& operands_;
  const Arithmetic arithmetic_;
  const float alpha_;
  const std::vector<Source> sources_;  // of each mode of the result
  const Count row_words_;              // of the result's bitmap
  std::vector<float> x_cells_, y_cells_;
  std::vector<std::uint64_t> bitmap_, column_bits_;
  std::vector<float> sums_;
  std::vector<char> is_touched_;  // rows of the result block
  std::vector<Index> rows_, columns_;
  std::array<Index, kMaxOrder> origin_{};
};

Multiplication::Multiplication(const Operands& operands, const TaskList& tasks,
                               Arithmetic arithmetic, float alpha, int threads)
    : tasks_(tasks) {
  for (int t = 0; t < threads; ++t)
    workers_.push_back(std::make_unique<Worker>(operands, arithmetic, alpha));
}

Multiplication::~Multiplication() = default;

void Multiplication::find_pattern() {
  start_.assign(tasks_.results() + 1, 0);
  Count mmas = 0;
#pragma omp parallel num_threads(static_cast <int>(workers_.size())) reduction(+ : mmas)
  {
    Worker& worker = *workers_[at(omp_get_thread_num())];
#pragma omp for schedule(dynamic, 1)
    for (Count r = 0; r < tasks_.results(); ++r) {
      const auto counts = worker.count(tasks_.tasks_of(r));
      start_[r + 1] = counts.entries;
      mmas += counts.mmas;
    }
  }
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  mmas_ = mmas;
}

void Multiplication::run(Coo& out) {
#pragma omp parallel num_threads(static_cast <int>(workers_.size()))
  {
    Worker& worker = *workers_[at(omp_get_thread_num())];
#pragma omp for schedule(dynamic, 1)
    for (Count r = 0; r < tasks_.results(); ++r)
      worker.multiply(tasks_.tasks_of(r), out, start_[r]);
  }
}

Count drop_zeros(Coo& tensor, Count entries) {
  const auto values = tensor.values.as<float>();
  Count kept = 0;
  for (Count p = 0; p < entries; ++p) {
    if (values[p] == 0.0f) continue;
    for (auto& index : tensor.indices) index[kept] = index[p];
    values[kept++] = values[p];
  }
  return kept;
}

}  // namespace retensor::bcb_sptc
