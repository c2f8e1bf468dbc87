// Rows of dense operands in vector registers, for the kernels on the CPU: the shape of a product
// with rank and number of factors as constants where they are common, and stores past the caches.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "common/core/types.hpp"

// The compiler's own measure stops at the many instances of these short functions.
#define RETENSOR_INLINE [[gnu::always_inline]] inline

namespace retensor::pasta {

using Width = std::uint64_t;

#if defined(__AVX__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;
#endif

/// As many T as a vector register holds. A class, since an alias template drops the attribute.
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
  static constexpr std::size_t kWidth = kVectorBytes / sizeof(T);
};
template <class T>
using Vector = typename VectorOf<T>::type;

/// The vector at any element's address.
template <class T>
RETENSOR_INLINE Vector<T> vector_at(const T* from) {
  Vector<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T>
RETENSOR_INLINE void store(const Vector<T>& v, T* to) {
  std::memcpy(to, &v, sizeof v);
}

/// Writes past the caches where the processor can: a result beyond the last-level cache costs half
/// the traffic, since its lines are not read first. `to` lies on kVectorBytes; end_stream() follows
/// before other threads read.
template <class T>
RETENSOR_INLINE void stream(const Vector<T>& v, T* to) {
#if defined(__AVX__)
  if constexpr (std::is_same_v<T, float>)
    _mm256_stream_ps(to, v);
  else
    _mm256_stream_pd(to, v);
#else
  store(v, to);
#endif
}
inline void end_stream() {
#if defined(__AVX__)
  _mm_sfence();
#endif
}

/// Columns of rows that one pass computes.
struct Panel {
  Width first = 0, columns = 0;
  Width rank = 0;  ///< of the matrices, whose rows are so far apart
};

/// Columns and number of factors of a product. The panel has kColumns columns, all there are, or
/// where they are a bound more than kAbove and at most so many; 0: any number, of factors too.
template <int kColumns, int kFactors, int kAbove = kColumns>
struct Shape {
  static constexpr int kBound = kColumns, kMoreThan = kAbove, kConstantFactors = kFactors;
  static constexpr int kConstantRank = kAbove == kColumns ? kColumns : 0;
  Panel panel;
  std::size_t run_factors = kFactors;
  Width first() const { return kConstantRank > 0 ? 0 : panel.first; }
  Width columns() const { return kConstantRank > 0 ? kConstantRank : panel.columns; }
  Width rank() const { return kConstantRank > 0 ? kConstantRank : panel.rank; }
  std::size_t factors() const { return kFactors > 0 ? kFactors : run_factors; }
};

/// Most columns of a panel: a row's sums stay in eight registers of 32 bytes.
template <class T>
inline constexpr Width kMostColumns = 256 / sizeof(T);

/// Calls f with the shape of a panel: rank and columns as constants where they are 8, 16, 32 or 64.
template <class T, int kFactors, class F>
void with_panel(const Panel& panel, F&& f) {
  const Width columns = panel.columns;
  if (columns == panel.rank) {
    if (columns == 8) return f(Shape<8, kFactors>{panel});
    if (columns == 16) return f(Shape<16, kFactors>{panel});
    if (columns == 32) return f(Shape<32, kFactors>{panel});
  }
  if (columns <= 3) return f(Shape<3, kFactors, 0>{panel});
  if (columns <= 8) return f(Shape<8, kFactors, 3>{panel});
  if (columns <= 16) return f(Shape<16, kFactors, 8>{panel});
  if (columns <= 24) return f(Shape<24, kFactors, 16>{panel});
  if (columns <= 32) return f(Shape<32, kFactors, 24>{panel});
  if constexpr (kMostColumns < T >> 32) {
    if (panel.rank == 64) return f(Shape<64, kFactors>{panel});
    if (columns <= 48) return f(Shape<48, kFactors, 32>{panel});
    return f(Shape<64, kFactors, 48>{panel});
  }
}

/// Calls f with the shape of each panel of a rank, one after the other. The columns are shared out
/// evenly.
template <class T, int kFactors, class F>
void with_panels(Width rank, F&& f) {
  const Width panels = (rank + kMostColumns<T> - 1) / kMostColumns<T>;
  for (Width k = 0; k < panels; ++k) {
    const Width first = rank * k / panels;
    with_panel<T, kFactors>({first, rank * (k + 1) / panels - first, rank}, f);
  }
}

/// The same for a number of factors: a constant where they are one to three.
template <class T, class F>
void with_shape(Width rank, std::size_t factors, F&& f) {
  if (factors == 1) return with_panels<T, 1>(rank, f);
  if (factors == 2) return with_panels<T, 2>(rank, f);
  if (factors == 3) return with_panels<T, 3>(rank, f);
  return f(Shape<0, 0>{{0, rank, rank}, factors});
}

/// One row of each factor.
inline constexpr std::size_t kMaxFactors = kMaxOrder - 1;
template <class T, class S>
using Rows = std::array<const T*, S::kConstantFactors == 0 ? kMaxFactors : S::kConstantFactors>;

/// f(r, value * product of the rows' elements r) for every column of the panel.
template <class T, class S, class F>
inline void for_each_product(S shape, T value, const Rows<T, S>& rows, F&& f) {
  constexpr Width kChunk = 8;  // columns at a time: one vector
  for (Width first = 0; first < shape.columns(); first += kChunk) {
    const Width width = std::min(kChunk, shape.columns() - first);
    std::array<T, kChunk> product;
    product.fill(value);
    for (std::size_t k = 0; k < shape.factors(); ++k)
      for (Width r = 0; r < width; ++r) product[r] *= rows[k][first + r];
    for (Width r = 0; r < width; ++r) f(first + r, product[r]);
  }
}

/// A panel of an output row in vector registers while products are added to it. Where its columns
/// are no multiple of a vector's, the last vectors end with the panel and hold columns of those
/// before them again. Rows are given by the panel's first column.
template <class T, class S>
class RowSum {
 public:
  /// Goes on from what the row holds.
  RETENSOR_INLINE static RowSum of(S shape, const T* row) {
    RowSum sum(shape);
    each([&](auto i) { sum.sum_[i] = loaded(row + sum.column(i)); });
    return sum;
  }
  RETENSOR_INLINE static RowSum zero(S shape, const T*) {
    RowSum sum(shape);
    each([&](auto i) { sum.sum_[i] = Lanes{}; });
    return sum;
  }
  RETENSOR_INLINE void add(T value, const Rows<T, S>& rows) {
    each([&](auto i) {
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        sum_[i] += (value * ... * loaded(rows[K] + column(i)));
      }
      (std::make_index_sequence<S::kConstantFactors>());
    });
  }
  RETENSOR_INLINE void store(T* row) const {
    each([&](auto i) { std::memcpy(row + column(i), &sum_[i], sizeof sum_[i]); });
  }
  /// Stores the sum of a run so far; where `last` is 1, goes on with zero in the next row. Returns
  /// the row to go on with. Without a branch: ends of short runs can't be predicted.
  RETENSOR_INLINE T* store_running(T* row, std::uint8_t last) {
    store(row);
    const Bits keep = kKeep[last];
    each([&](auto i) {
      sum_[i] = reinterpret_cast<Lanes>(reinterpret_cast<BitVector>(sum_[i]) & keep);
    });
    return row + last * shape_.rank();
  }

 private:
  /// As many as the fewest columns have, at most those of a register.
  static constexpr std::size_t kWidth =
      std::min(VectorOf<T>::kWidth, std::bit_floor(std::size_t{S::kMoreThan} + 1));
  static constexpr std::size_t kVectors = S::kBound / kWidth;
  static_assert(S::kBound % kWidth == 0);
  typedef T Lanes __attribute__((vector_size(kWidth * sizeof(T))));
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  typedef Bits BitVector __attribute__((vector_size(kWidth * sizeof(T))));
  static constexpr Bits kKeep[] = {~Bits{0}, 0};

  RETENSOR_INLINE explicit RowSum(S shape) : shape_(shape) {}
  RETENSOR_INLINE static Lanes loaded(const T* from) {
    Lanes lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
  }
  // The first column of a vector.
  template <std::size_t kNumber>
  RETENSOR_INLINE Width column(std::integral_constant<std::size_t, kNumber>) const {
    constexpr Width kColumn = kNumber * kWidth;
    if constexpr (kColumn + kWidth <= S::kMoreThan) return kColumn;
    return std::min(kColumn, shape_.columns() - kWidth);
  }
  // Calls f with each vector's number as a constant: an indexed array would not stay in registers.
  template <class F>
  RETENSOR_INLINE static void each(F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(std::integral_constant<std::size_t, I>()), ...);
    }
    (std::make_index_sequence<kVectors>());
  }

  S shape_;
  Lanes sum_[kVectors];  // std::array would drop the attribute
};

/// Of four factors and more: adds to the row in memory.
template <class T>
class RowSum<T, Shape<0, 0>> {
  using S = Shape<0, 0>;

 public:
  static RowSum of(S shape, T* row) { return RowSum(shape, row, false); }
  static RowSum zero(S shape, T* row) { return RowSum(shape, row, true); }
  void add(T value, const Rows<T, S>& rows) {
    if (fresh_) std::fill_n(row_, shape_.rank(), T{0});
    fresh_ = false;
    for_each_product(shape_, value, rows, [this](Width r, T product) { row_[r] += product; });
  }
  void store(T*) const {}
  T* store_running(T* row, std::uint8_t last) {
    fresh_ = last != 0;
    row_ = row + last * shape_.rank();
    return row_;
  }

 private:
  RowSum(S shape, T* row, bool fresh) : shape_(shape), row_(row), fresh_(fresh) {}
  const S shape_;
  T* row_;
  bool fresh_;  // the row holds nothing yet
};

}  // namespace retensor::pasta
