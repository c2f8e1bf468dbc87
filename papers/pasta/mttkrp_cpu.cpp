// MTTKRP on OpenMP: COO-MTTKRP-OMP (PASTA section III.B.1) and HiCOO-MTTKRP-OMP (Algorithm 3).
//
// A nonzero adds value * (factor row o ... o factor row) to one output row (eq. 3). The variants
// differ in who may touch that row: everyone, by atomics (the paper); each thread its private copy;
// or one owner. Rank and number of factors are compile-time constants for the common shapes, so
// that a row stays in vector registers; any other shape takes the generic form (rank 0 or others
// 0).
#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "papers/pasta/kernels.hpp"

namespace retensor::pasta {
namespace {

using Signed = std::int64_t;
using Width = std::uint64_t;

// Nonzeros ahead whose factor rows are requested: covers a DRAM access at a few nanoseconds each.
constexpr Count kAhead = 12;

constexpr std::size_t kMaxOthers = kMaxOrder - 1;

template <class T>
using Rows = std::array<const T*, kMaxOthers>;

// Adds value * product of `others` rows, element by element.
template <class T, int kRank, int kOthers>
inline void add_product(T* __restrict out, T value, const Rows<T>& rows, std::size_t others,
                        Width rank) {
  const Width width = kRank > 0 ? kRank : rank;
  if constexpr (kOthers > 0) {
#pragma omp simd
    for (Width r = 0; r < width; ++r) {
      T product = value;
      for (std::size_t k = 0; k < kOthers; ++k) product *= rows[k][r];
      out[r] += product;
    }
  } else {
    for (Width r = 0; r < width; ++r) {
      T product = value;
      for (std::size_t k = 0; k < others; ++k) product *= rows[k][r];
      out[r] += product;
    }
  }
}

template <class T, int kRank, int kOthers>
inline void add_product_atomic(T* out, T value, const Rows<T>& rows, std::size_t others,
                               Width rank) {
  const Width width = kRank > 0 ? kRank : rank;
  for (Width r = 0; r < width; ++r) {
    T product = value;
    for (std::size_t k = 0; k < (kOthers > 0 ? kOthers : others); ++k) product *= rows[k][r];
#pragma omp atomic
    out[r] += product;
  }
}

// Calls f with the compile-time shape: ranks 16 and 32, two and three factors.
template <class F>
void with_shape(Width rank, std::size_t others, F&& f) {
  const auto with_rank = [&]<int kRank>() {
    if (others == 2) return f.template operator()<kRank, 2>();
    if (others == 3) return f.template operator()<kRank, 3>();
    return f.template operator()<kRank, 0>();
  };
  if (rank == 16) return with_rank.template operator()<16>();
  if (rank == 32) return with_rank.template operator()<32>();
  return with_rank.template operator()<0>();
}

template <class T>
inline void prefetch_row(const T* row, Width rank) {
  for (Width r = 0; r < rank; r += 64 / sizeof(T)) __builtin_prefetch(row + r);
}

// Factor rows of coordinate nonzeros.
template <class T>
class CooRows {
 public:
  explicit CooRows(const MttkrpInput<T>& x) : x_(x), n_(x.value.size()) {}
  Rows<T> operator()(Count p, Width rank) const {
    Rows<T> rows{};
    for (std::size_t k = 0; k < x_.other.size(); ++k) {
      rows[k] = x_.factor[k].row(x_.other[k][p]);
      if (p + kAhead < n_) prefetch_row(x_.factor[k].row(x_.other[k][p + kAhead]), rank);
    }
    return rows;
  }

 private:
  const MttkrpInput<T>& x_;
  const Count n_;
};

// Base rows of one block (Algorithm 3, line 3) and the rows of its entries.
template <class T>
class BlockRows {
 public:
  BlockRows(const HicooMttkrpInput<T>& x, Count block) : x_(x) {
    for (std::size_t k = 0; k < x.factor.size(); ++k)
      base_[k] = x.factor[k].row(std::uint64_t{x.block_other[k][block]} << x.block_bits);
  }
  Rows<T> operator()(Count p) const {
    Rows<T> rows{};
    for (std::size_t k = 0; k < x_.factor.size(); ++k)
      rows[k] = base_[k] + x_.other[k][p] * x_.factor[k].ld;
    return rows;
  }

 private:
  const HicooMttkrpInput<T>& x_;
  Rows<T> base_{};
};

// Adds all entries of a block to the rows that start at `out` (row 0 of the block's output rows).
template <class T, int kRank, int kOthers>
inline void add_block(const HicooMttkrpInput<T>& x, Count block, T* out, Width ld, Width rank) {
  const BlockRows<T> rows(x, block);
  for (Count p = x.block_start[block]; p < x.block_start[block + 1]; ++p)
    add_product<T, kRank, kOthers>(out + x.row[p] * ld, x.value[p], rows(p), x.factor.size(), rank);
}

}  // namespace

template <class T>
void mttkrp_atomic(const MttkrpInput<T>& x, MatrixView<T> out, int threads) {
  const auto n = static_cast<Signed>(x.value.size());
  const CooRows<T> rows(x);
  with_shape(out.cols, x.other.size(), [&]<int kRank, int kOthers>() {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (Signed i = 0; i < n; ++i) {
      const auto p = static_cast<Count>(i);
      add_product_atomic<T, kRank, kOthers>(out.row(x.row[p]), x.value[p], rows(p, out.cols),
                                            x.other.size(), out.cols);
    }
  });
}

template <class T>
void mttkrp_private(const MttkrpInput<T>& x, MatrixView<T> out, std::span<T> partial, int threads) {
  const auto n = static_cast<Signed>(x.value.size());
  const Width rank = out.cols;
  const CooRows<T> rows(x);
  with_shape(rank, x.other.size(), [&]<int kRank, int kOthers>() {
#pragma omp parallel num_threads(threads)
    {
      T* mine = partial.data() + static_cast<Count>(omp_get_thread_num()) * out.rows * rank;
#pragma omp for schedule(static)
      for (Signed i = 0; i < n; ++i) {
        const auto p = static_cast<Count>(i);
        add_product<T, kRank, kOthers>(mine + x.row[p] * rank, x.value[p], rows(p, rank),
                                       x.other.size(), rank);
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
#pragma omp simd
      for (Width r = 0; r < out.cols; ++r) row[r] += first[at + r];
  }
}

template <class T>
void mttkrp_owner(const MttkrpInput<T>& x, MatrixView<T> out, std::span<const Count> bounds,
                  int threads) {
  const CooRows<T> rows(x);
  const std::size_t others = x.other.size();
  with_shape(out.cols, others, [&]<int kRank, int kOthers>() {
  // The runtime may grant fewer threads than asked for; the parts are then shared out.
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; ++part) {
      const Count end = bounds[static_cast<std::size_t>(part) + 1];
      for (Count p = bounds[static_cast<std::size_t>(part)]; p < end;) {
        const Index row = x.row[p];
        T* at = out.row(row);
        if constexpr (kRank > 0) {
          std::array<T, kRank> sum{};  // stays in registers while the row lasts
          for (; p < end && x.row[p] == row; ++p)
            add_product<T, kRank, kOthers>(sum.data(), x.value[p], rows(p, kRank), others, kRank);
          std::copy(sum.begin(), sum.end(), at);
        } else {
          for (; p < end && x.row[p] == row; ++p)
            add_product<T, kRank, kOthers>(at, x.value[p], rows(p, out.cols), others, out.cols);
        }
      }
    }
  });
}

template <class T>
void hicoo_mttkrp_atomic(const HicooMttkrpInput<T>& x, MatrixView<T> out, int threads) {
  const auto blocks = static_cast<Signed>(x.block_row.size());
  with_shape(out.cols, x.factor.size(), [&]<int kRank, int kOthers>() {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (Signed b = 0; b < blocks; ++b) {
      const auto block = static_cast<Count>(b);
      const BlockRows<T> rows(x, block);
      T* first = out.row(std::uint64_t{x.block_row[block]} << x.block_bits);
      for (Count p = x.block_start[block]; p < x.block_start[block + 1]; ++p)
        add_product_atomic<T, kRank, kOthers>(first + x.row[p] * out.ld, x.value[p], rows(p),
                                              x.factor.size(), out.cols);
    }
  });
}

template <class T>
void hicoo_mttkrp_owner(const HicooMttkrpInput<T>& x, MatrixView<T> out,
                        std::span<const Count> blocks, std::span<const Count> bounds, int threads) {
  with_shape(out.cols, x.factor.size(), [&]<int kRank, int kOthers>() {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; ++part)
      for (Count at = bounds[static_cast<std::size_t>(part)];
           at < bounds[static_cast<std::size_t>(part) + 1]; ++at) {
        const Count block = blocks[at];
        T* first = out.row(std::uint64_t{x.block_row[block]} << x.block_bits);
        add_block<T, kRank, kOthers>(x, block, first, out.ld, out.cols);
      }
  });
}

template <class T>
void hicoo_mttkrp_private(const HicooMttkrpInput<T>& x, MatrixView<T> out, std::span<T> partial,
                          std::span<const Count> bounds, int threads) {
  const Width rank = out.cols;
  with_shape(rank, x.factor.size(), [&]<int kRank, int kOthers>() {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; ++part) {
      T* mine = partial.data() + static_cast<Count>(part) * out.rows * rank;
      for (Count block = bounds[static_cast<std::size_t>(part)];
           block < bounds[static_cast<std::size_t>(part) + 1]; ++block) {
        T* first = mine + (std::uint64_t{x.block_row[block]} << x.block_bits) * rank;
        add_block<T, kRank, kOthers>(x, block, first, rank, rank);
      }
    }
  });
}

#define RETENSOR_INSTANTIATE(T)                                                                  \
  template void mttkrp_atomic(const MttkrpInput<T>&, MatrixView<T>, int);                        \
  template void mttkrp_private(const MttkrpInput<T>&, MatrixView<T>, std::span<T>, int);         \
  template void reduce_partials(std::span<const T>, MatrixView<T>, int);                         \
  template void mttkrp_owner(const MttkrpInput<T>&, MatrixView<T>, std::span<const Count>, int); \
  template void hicoo_mttkrp_atomic(const HicooMttkrpInput<T>&, MatrixView<T>, int);             \
  template void hicoo_mttkrp_owner(const HicooMttkrpInput<T>&, MatrixView<T>,                    \
                                   std::span<const Count>, std::span<const Count>, int);         \
  template void hicoo_mttkrp_private(const HicooMttkrpInput<T>&, MatrixView<T>, std::span<T>,    \
                                     std::span<const Count>, int);
RETENSOR_INSTANTIATE(float)
RETENSOR_INSTANTIATE(double)
#undef RETENSOR_INSTANTIATE

}  // namespace retensor::pasta
