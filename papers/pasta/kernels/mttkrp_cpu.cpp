// MTTKRP on OpenMP: COO-MTTKRP-OMP (PASTA section III.B.1) and HiCOO-MTTKRP-OMP (Algorithm 3).
//
// A nonzero adds value * (factor row o ... o factor row) to one output row (eq. 3). The variants
// differ in who may touch that row: everyone, by atomics (the paper); each thread its private copy;
// or one owner. Rows of the common shapes stay in vector registers (vectors_cpu.hpp).
// Without atomics, neighbours in storage that meet in an output row are added up before it is
// written: a chain of stores and loads to one address would cost more than the arithmetic.
#include "papers/pasta/kernels/mttkrp_cpu.hpp"

#include <omp.h>

#include <algorithm>
#include <array>

#include "papers/pasta/kernels/vectors_cpu.hpp"

namespace retensor::pasta {
namespace {

using Signed = std::int64_t;

template <class T>
RETENSOR_INLINE void prefetch_row(const T* row, Width rank) {
  for (Width r = 0; r < rank; r += 64 / sizeof(T)) __builtin_prefetch(row + r);
}

// Tables beyond this are requested ahead of use; smaller ones are found in a core's own caches, and
// the requests would cost more than they hide (L2 of current server cores: 512 KiB to 2 MiB).
constexpr Count kNearBytes = Count{1} << 20;
// Nonzeros (blocks) ahead: covers a DRAM access at a few nanoseconds each.
constexpr Count kAhead = 16;

// Factor rows of coordinate nonzeros, with requests ahead where kFar. Pointers are copies, so that
// the compiler need not load them again after a store to the output.
template <class T, class S, bool kFar>
class CooRows {
 public:
  RETENSOR_INLINE CooRows(S shape, const MttkrpInput<T>& x)
      : shape_(shape), nonzeros_(x.value.size()) {
    for (std::size_t k = 0; k < shape_.factors(); ++k) {
      index_[k] = x.other[k].data();
      table_[k] = x.factor[k].data;
    }
  }
  RETENSOR_INLINE Rows<T, S> operator()(Count p) const {
    if (kFar && p + kAhead < nonzeros_)
      for (std::size_t k = 0; k < shape_.factors(); ++k)
        prefetch_row(row(k, p + kAhead), shape_.rank());
    Rows<T, S> rows;
    for (std::size_t k = 0; k < shape_.factors(); ++k) rows[k] = row(k, p);
    return rows;
  }

 private:
  RETENSOR_INLINE const T* row(std::size_t k, Count p) const {
    return table_[k] + index_[k][p] * shape_.rank();
  }

  const S shape_;
  const Count nonzeros_;
  std::array<const Index*, kMaxFactors> index_;
  Rows<T, S> table_;
};

// Calls f with the shape and the rows.
template <class T, class F>
void with_rows(const MttkrpInput<T>& x, Width rank, F&& f) {
  Count bytes = 0;
  for (const auto& factor : x.factor) bytes += factor.rows * factor.cols * sizeof(T);
  with_shape(rank, x.other.size(), [&](auto shape) {
    if (bytes > kNearBytes)
      f(shape, CooRows<T, decltype(shape), true>(shape, x));
    else
      f(shape, CooRows<T, decltype(shape), false>(shape, x));
  });
}

// Factor and output rows of the entries of one block at a time: base rows (Algorithm 3, line 3) and
// element indices.
template <class T, class S>
class BlockRows {
 public:
  RETENSOR_INLINE BlockRows(S shape, const HicooMttkrpInput<T>& x, T* out)
      : shape_(shape),
        bits_(x.block_bits),
        blocks_(x.block_row.size()),
        start_(x.block_start.data()),
        block_row_(x.block_row.data()),
        row_(x.row.data()),
        out_(out) {
    for (std::size_t k = 0; k < shape_.factors(); ++k) {
      block_other_[k] = x.block_other[k].data();
      element_[k] = x.other[k].data();
      table_[k] = x.factor[k].data;
    }
  }
  // Moves on to a block and requests the rows of the first entry of a later one: where blocks hold
  // few entries, these are most rows.
  RETENSOR_INLINE void enter(Count block) {
    if (block + kAhead < blocks_) {
      set(block + kAhead);
      for (std::size_t k = 0; k < shape_.factors(); ++k)
        prefetch_row(row(k, begin_), shape_.rank());
      prefetch_row(output(begin_), shape_.rank());
    }
    set(block);
  }
  RETENSOR_INLINE Rows<T, S> operator()(Count p) const {
    Rows<T, S> rows;
    for (std::size_t k = 0; k < shape_.factors(); ++k) rows[k] = row(k, p);
    return rows;
  }
  RETENSOR_INLINE T* output(Count p) const { return first_ + row_[p] * shape_.rank(); }
  Count begin() const { return begin_; }
  Count end() const { return end_; }

 private:
  RETENSOR_INLINE void set(Count block) {
    begin_ = start_[block];
    end_ = start_[block + 1];
    first_ = out_ + base(block_row_[block]);
    for (std::size_t k = 0; k < shape_.factors(); ++k)
      base_[k] = table_[k] + base(block_other_[k][block]);
  }
  RETENSOR_INLINE Count base(Index block) const { return (Count{block} << bits_) * shape_.rank(); }
  RETENSOR_INLINE const T* row(std::size_t k, Count p) const {
    return base_[k] + element_[k][p] * shape_.rank();
  }

  const S shape_;
  const int bits_;
  const Count blocks_;
  const Count* const start_;
  const Index* const block_row_;
  const std::uint8_t* const row_;
  T* const out_;
  std::array<const Index*, kMaxFactors> block_other_;
  std::array<const std::uint8_t*, kMaxFactors> element_;
  Rows<T, S> table_, base_;
  T* first_ = nullptr;
  Count begin_ = 0, end_ = 0;
};

// Adds the nonzeros from p on, as long as they are below `end` and in one row, to that row at `to`;
// returns the first one beyond.
template <class T, class S, class RowIndex, class RowsOf>
RETENSOR_INLINE Count add_run(S shape, const RowIndex* row, const T* value, const RowsOf& rows,
                              Count p, Count end, T* to) {
  const RowIndex first = row[p];
  auto sum = RowSum<T, S>::of(shape, to);
  do sum.add(value[p], rows(p));
  while (++p < end && row[p] == first);
  sum.store(to);
  return p;
}

}  // namespace

template <class T>
void mttkrp_sequential(const MttkrpInput<T>& x, MatrixView<T> out, std::span<T> product) {
  const Width rank = out.cols;
  T* const __restrict term = product.data();
  const std::size_t inner = x.other.empty() ? 0 : x.other.size() - 1;
  for (Count p = 0; p < x.value.size(); ++p) {
    std::fill_n(term, rank, x.value[p]);
    for (std::size_t k = 0; k < inner; ++k) {
      const T* const __restrict row = x.factor[k].row(x.other[k][p]);
      for (Width r = 0; r < rank; ++r) term[r] *= row[r];
    }
    T* const __restrict to = out.row(x.row[p]);
    if (x.other.empty()) {
      for (Width r = 0; r < rank; ++r) to[r] += term[r];
    } else {
      const T* const __restrict row = x.factor[inner].row(x.other[inner][p]);
      for (Width r = 0; r < rank; ++r) to[r] += term[r] * row[r];
    }
  }
}

template <class T>
void mttkrp_atomic(const MttkrpInput<T>& x, MatrixView<T> out, int threads) {
  const auto n = static_cast<Signed>(x.value.size());
  with_rows(x, out.cols, [&](auto shape, auto rows) {
#pragma omp parallel for num_threads(threads) schedule(static) firstprivate(rows)
    for (Signed i = 0; i < n; ++i) {
      const auto p = static_cast<Count>(i);
      T* const to = out.data + x.row[p] * shape.rank();
      for_each_product(shape, x.value[p], rows(p), [to](Width r, T product) {
#pragma omp atomic
        to[r] += product;
      });
    }
  });
}

template <class T>
void mttkrp_private(const MttkrpInput<T>& x, MatrixView<T> out, std::span<T> partial, int threads) {
  const auto n = static_cast<Signed>(x.value.size());
  with_rows(x, out.cols, [&](auto shape, auto rows) {
#pragma omp parallel num_threads(threads) firstprivate(rows)
    {
      const Index* const row = x.row.data();
      const T* const value = x.value.data();
      T* const mine =
          partial.data() + static_cast<Count>(omp_get_thread_num()) * out.rows * shape.rank();
#pragma omp for schedule(static)
      for (Signed i = 0; i < n; ++i) {
        const auto p = static_cast<Count>(i);
        T* const to = mine + row[p] * shape.rank();
        auto sum = RowSum<T, decltype(shape)>::of(shape, to);
        sum.add(value[p], rows(p));
        sum.store(to);
      }
    }
  });
}

template <class T>
void reduce_partials(std::span<const T> partial, MatrixView<T> out, int threads) {
  const auto rows = static_cast<Signed>(out.rows);
  const Count copy = out.rows * out.cols;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (Signed i = 0; i < rows; ++i) {
    T* __restrict row = out.row(static_cast<Count>(i));
    const T* first = partial.data() + static_cast<Count>(i) * out.cols;
    std::copy_n(first, out.cols, row);
    for (Count at = copy; at < partial.size(); at += copy)
      for (Width r = 0; r < out.cols; ++r) row[r] += first[at + r];
  }
}

template <class T>
void mttkrp_owner(const MttkrpInput<T>& x, std::span<const Count> run_start, MatrixView<T> out,
                  MatrixView<T> carry) {
  const Count runs = run_start.size() - 1, n = run_start[runs];
  const int parts = static_cast<int>(carry.rows);
  // Where a part begins: nonzero and the run that holds it.
  const auto begin = [&](int part) { return n * static_cast<Count>(part) / carry.rows; };
  const auto run_at = [&](Count p) {
    const auto after = std::upper_bound(run_start.begin(), run_start.end(), p);
    return static_cast<Count>(after - run_start.begin()) - 1;
  };
  const auto cut_run = [&](int part) {
    const Count p = begin(part);
    return p < begin(part + 1) && run_start[run_at(p)] < p;
  };
  // Clears the rows between that of the nonzero before p and `end`.
  const auto clear_to = [&](Count p, Count end) {
    const Count first = p == 0 ? 0 : Count{x.row[p - 1]} + 1;
    std::fill(out.row(first), out.row(end), T{0});
  };
  with_rows(x, out.cols, [&](auto shape, auto rows) {
  // The runtime may grant fewer threads than asked for; the parts are then shared out.
#pragma omp parallel for num_threads(parts) schedule(static, 1) firstprivate(rows)
    for (int part = 0; part < parts; ++part) {
      const T* const value = x.value.data();
      const Count end = begin(part + 1);
      Count p = begin(part);
      for (Count run = run_at(p); p < end; ++run) {
        const bool begun = p > run_start[run];
        T* const to =
            begun ? carry.row(static_cast<Count>(part)) : out.data + x.row[p] * shape.rank();
        if (!begun) clear_to(p, x.row[p]);
        auto sum = RowSum<T, decltype(shape)>::zero(shape, to);
        for (const Count last = std::min(end, run_start[run + 1]); p < last; ++p)
          sum.add(value[p], rows(p));
        sum.store(to);
      }
    }
  });
  clear_to(n, out.rows);
  for (int part = 0; part < parts; ++part)
    if (cut_run(part)) {
      T* const to = out.row(x.row[begin(part)]);
      for (Width r = 0; r < out.cols; ++r) to[r] += carry(static_cast<Count>(part), r);
    }
}

template <class T>
void hicoo_mttkrp_atomic(const HicooMttkrpInput<T>& x, MatrixView<T> out, int threads) {
  const auto blocks = static_cast<Signed>(x.block_row.size());
  with_shape(out.cols, x.factor.size(), [&](auto shape) {
#pragma omp parallel num_threads(threads)
    {
      BlockRows<T, decltype(shape)> rows(shape, x, out.data);
#pragma omp for schedule(dynamic, 16)
      for (Signed b = 0; b < blocks; ++b) {
        rows.enter(static_cast<Count>(b));
        for (Count p = rows.begin(); p < rows.end(); ++p) {
          T* const to = rows.output(p);
          for_each_product(shape, x.value[p], rows(p), [to](Width r, T product) {
#pragma omp atomic
            to[r] += product;
          });
        }
      }
    }
  });
}

template <class T>
void hicoo_mttkrp_parts(const HicooMttkrpInput<T>& x, std::span<const MatrixView<T>> outputs,
                        const BlockParts& parts) {
  with_shape(outputs[0].cols, x.factor.size(), [&](auto shape) {
#pragma omp parallel for num_threads(parts.count()) schedule(static, 1)
    for (int part = 0; part < parts.count(); ++part) {
      const auto at = static_cast<std::size_t>(part);
      const std::uint8_t* const row = x.row.data();
      const T* const value = x.value.data();
      BlockRows<T, decltype(shape)> rows(shape, x, outputs[at].data);
      for (Count range = parts.start[at]; range < parts.start[at + 1]; ++range)
        for (Count block = parts.ranges[range].first; block < parts.ranges[range].last; ++block) {
          rows.enter(block);
          for (Count p = rows.begin(); p < rows.end();)
            p = add_run(shape, row, value, rows, p, rows.end(), rows.output(p));
        }
    }
  });
}

#define RETENSOR_INSTANTIATE(T)                                                                \
  template void mttkrp_sequential(const MttkrpInput<T>&, MatrixView<T>, std::span<T>);         \
  template void mttkrp_atomic(const MttkrpInput<T>&, MatrixView<T>, int);                      \
  template void mttkrp_private(const MttkrpInput<T>&, MatrixView<T>, std::span<T>, int);       \
  template void reduce_partials(std::span<const T>, MatrixView<T>, int);                       \
  template void mttkrp_owner(const MttkrpInput<T>&, std::span<const Count>, MatrixView<T>,     \
                             MatrixView<T>);                                                   \
  template void hicoo_mttkrp_atomic(const HicooMttkrpInput<T>&, MatrixView<T>, int);           \
  template void hicoo_mttkrp_parts(const HicooMttkrpInput<T>&, std::span<const MatrixView<T>>, \
                                   const BlockParts&);
RETENSOR_INSTANTIATE(float)
RETENSOR_INSTANTIATE(double)
#undef RETENSOR_INSTANTIATE

}  // namespace retensor::pasta
