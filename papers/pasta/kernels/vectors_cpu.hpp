// Rows of dense operands in vector registers, for the kernels on the CPU: the shape of a product
// with rank and number of factors as constants where they are common, and stores past the caches.
#pragma once

#include <algorithm>
#include <array>
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

/// Rank and number of factors of a product: constants, or run-time values where the constant is 0.
template <int kRank, int kFactors>
struct Shape {
  static constexpr int kConstantRank = kRank, kConstantFactors = kFactors;
  Width run_rank = kRank;
  std::size_t run_factors = kFactors;
  Width rank() const { return kRank > 0 ? kRank : run_rank; }
  std::size_t factors() const { return kFactors > 0 ? kFactors : run_factors; }
};

/// Calls f with the shape of kFactors factors, the rank as a constant where it is 8, 16, 32 or 64.
template <int kFactors, class F>
void with_rank(Width rank, F&& f) {
  if (rank == 8) return f(Shape<8, kFactors>{});
  if (rank == 16) return f(Shape<16, kFactors>{});
  if (rank == 32) return f(Shape<32, kFactors>{});
  if (rank == 64) return f(Shape<64, kFactors>{});
  return f(Shape<0, 0>{rank, kFactors});
}

/// Calls f with the shape, as constants where with_rank has them and factors are one to three.
template <class F>
void with_shape(Width rank, std::size_t factors, F&& f) {
  if (factors == 1) return with_rank<1>(rank, f);
  if (factors == 2) return with_rank<2>(rank, f);
  if (factors == 3) return with_rank<3>(rank, f);
  return f(Shape<0, 0>{rank, factors});
}

/// One row of each factor.
inline constexpr std::size_t kMaxFactors = kMaxOrder - 1;
template <class T, class S>
using Rows = std::array<const T*, S::kConstantFactors == 0 ? kMaxFactors : S::kConstantFactors>;

/// f(r, value * product of the rows' elements r) for every column.
template <class T, class S, class F>
inline void for_each_product(S shape, T value, const Rows<T, S>& rows, F&& f) {
  constexpr Width kChunk = 8;  // columns at a time: one vector
  for (Width first = 0; first < shape.rank(); first += kChunk) {
    const Width width = std::min(kChunk, shape.rank() - first);
    std::array<T, kChunk> product;
    product.fill(value);
    for (std::size_t k = 0; k < shape.factors(); ++k)
      for (Width r = 0; r < width; ++r) product[r] *= rows[k][first + r];
    for (Width r = 0; r < width; ++r) f(first + r, product[r]);
  }
}

/// An output row in vector registers while products are added to it.
template <class T, class S>
class RowSum {
 public:
  /// Goes on from what the row holds.
  RETENSOR_INLINE static RowSum of(S, const T* row) {
    RowSum sum;
    each([&](auto i) { sum.sum_[i] = vector_at(row + i * kWidth); });
    return sum;
  }
  RETENSOR_INLINE static RowSum zero(S, const T*) {
    RowSum sum;
    each([&](auto i) { sum.sum_[i] = Vector<T>{}; });
    return sum;
  }
  RETENSOR_INLINE void add(T value, const Rows<T, S>& rows) {
    each([&](auto i) {
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        sum_[i] += (value * ... * vector_at(rows[K] + i * kWidth));
      }
      (std::make_index_sequence<S::kConstantFactors>());
    });
  }
  RETENSOR_INLINE void store(T* row) const {
    each([&](auto i) { pasta::store(sum_[i], row + i * kWidth); });
  }
  /// Stores the sum of a run so far; where `last` is 1, goes on with zero in the next row. Returns
  /// the row to go on with. Without a branch: ends of short runs can't be predicted.
  RETENSOR_INLINE T* store_running(T* row, std::uint8_t last) {
    store(row);
    const Bits keep = kKeep[last];
    each([&](auto i) { sum_[i] = reinterpret_cast<Vector<T>>(bits(sum_[i]) & keep); });
    return row + last * Width{S::kConstantRank};
  }

 private:
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  typedef Bits BitVector __attribute__((vector_size(kVectorBytes)));
  static constexpr Bits kKeep[] = {~Bits{0}, 0};
  RETENSOR_INLINE static BitVector bits(const Vector<T>& v) {
    return reinterpret_cast<BitVector>(v);
  }
  static constexpr std::size_t kWidth = VectorOf<T>::kWidth, kVectors = S::kConstantRank / kWidth;
  static_assert(S::kConstantRank % kWidth == 0);

  RowSum() = default;
  // Calls f with each vector's number as a constant: an indexed array would not stay in registers.
  template <class F>
  RETENSOR_INLINE static void each(F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(std::integral_constant<std::size_t, I>()), ...);
    }
    (std::make_index_sequence<kVectors>());
  }

  Vector<T> sum_[kVectors];  // std::array would drop the attribute
};

/// Any other shape: adds to the row in memory.
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
