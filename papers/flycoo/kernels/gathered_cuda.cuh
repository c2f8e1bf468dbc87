// Lanes that hold eight columns in single precision, and what they gather of factor rows: elements
// of 16 bits, 16 bytes of them, or whole ones. The conversion to 16 bits, which a run makes anew.
// Included by .cu files alone.
//
// bf16 has the range of single precision. A factor in f16 is scaled by a power of two that makes
// its largest magnitude 2^7 to 2^8: a pass over the factors finds that magnitude, and the walk
// multiplies each nonzero's value by the inverse scales of the factors that it gathers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/core/types.hpp"
#include "common/device/loops.cuh"
#include "common/device/vec.cuh"
#include "common/device/warp.cuh"

namespace retensor {

/// A factor's element in single precision of which a lane gathers eight.
struct Whole {
  float value;
};

template <class G>
concept Narrow = std::is_same_v<G, __half> || std::is_same_v<G, __nv_bfloat16>;
template <class G>
concept GatheredByEight = Narrow<G> || std::is_same_v<G, Whole>;

namespace device {

/// Eight columns in single precision.
struct EightSums {
  static constexpr unsigned kWidth = 8;
  Vec<float> low, high;
  __device__ static EightSums splat(float s) {
    return {Vec<float>::splat(s), Vec<float>::splat(s)};
  }
  __device__ void add(const EightSums& o) { low.add(o.low), high.add(o.high); }
  __device__ void multiply(const EightSums& o) { low.multiply(o.low), high.multiply(o.high); }
  __device__ void fma(const EightSums& a, const EightSums& b) {
    low.fma(a.low, b.low), high.fma(a.high, b.high);
  }
};

/// Eight elements as they lie in memory.
template <Narrow G>
struct Vec<G> {
  static constexpr unsigned kWidth = 8;
  using Pair = std::conditional_t<std::is_same_v<G, __half>, __half2, __nv_bfloat162>;
  uint4 v;
  __device__ static Vec load(const G* at) { return {__ldg(reinterpret_cast<const uint4*>(at))}; }
  /// Rounds to nearest even.
  __device__ static Vec of(const float4& low, const float4& high) {
    return {{narrowed(low.x, low.y), narrowed(low.z, low.w), narrowed(high.x, high.y),
             narrowed(high.z, high.w)}};
  }
  __device__ EightSums wide() const {
    const float2 a = widened(v.x), b = widened(v.y), c = widened(v.z), d = widened(v.w);
    return {{make_float4(a.x, a.y, b.x, b.y)}, {make_float4(c.x, c.y, d.x, d.y)}};
  }

 private:
  __device__ static std::uint32_t narrowed(float low, float high) {
    Pair pair;
    if constexpr (std::is_same_v<G, __half>)
      pair = __floats2half2_rn(low, high);
    else
      pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  }
  __device__ static float2 widened(const std::uint32_t& bits) {
    const auto& pair = reinterpret_cast<const Pair&>(bits);
    if constexpr (std::is_same_v<G, __half>)
      return __half22float2(pair);
    else
      return __bfloat1622float2(pair);
  }
};

template <>
struct Vec<Whole> {
  static constexpr unsigned kWidth = 8;
  Vec<float> low, high;
  __device__ static Vec load(const Whole* at) {
    return {Vec<float>::load(&at->value), Vec<float>::load(&at[4].value)};
  }
  __device__ static Vec of(const float4& low, const float4& high) { return {{low}, {high}}; }
  __device__ EightSums wide() const { return {low, high}; }
};

}  // namespace device

namespace flycoo::tuned {

using device::EightSums;
using device::kWholeWarp;
using device::Vec;

template <class G>
inline constexpr bool kScaled = std::is_same_v<G, __half>;

/// As many sums of type T as a lane gathers columns of elements of type G.
template <class T, class G>
using Sums = std::conditional_t<GatheredByEight<G>, EightSums, Vec<T>>;

template <class T>
__device__ const Vec<T>& widened(const Vec<T>& row) {
  return row;
}
template <GatheredByEight G>
__device__ EightSums widened(const Vec<G>& row) {
  return row.wide();
}

/// Columns of a row with `left` elements from `at` on, which may be half of eight.
template <class T>
__device__ void store_columns(const Vec<T>& sum, T* at, unsigned) {
  sum.store(at);
}
__device__ inline void store_columns(const EightSums& sum, float* at, unsigned left) {
  sum.low.store(at);
  if (left > 4) sum.high.store(at + 4);
}
template <class Sum, class T>
__device__ Sum load_columns(const T* at, [[maybe_unused]] unsigned left) {
  if constexpr (std::is_same_v<Sum, EightSums>)
    return {Vec<T>::load(at), left > 4 ? Vec<T>::load(at + 4) : Vec<T>::splat(T(0))};
  else
    return Sum::load(at);
}

/// What a pass knows of factors that are not those of the sums' type where they lie.
template <class G>
struct FactorsByEight {};
template <GatheredByEight G>
struct FactorsByEight<G> {
  unsigned factor_stride = 0;                    ///< elements between their rows
  const std::uint32_t* largest[kMaxOther] = {};  ///< bits of the largest magnitude in each
};

/// 2^(+-s) of the scale 2^s that belongs to a largest magnitude; 1 where that is no number. Powers
/// are kept where both have normal bits.
__device__ inline float scale_of(std::uint32_t largest, int sign) {
  const int power = static_cast<int>(largest >> 23) - 127;
  if (largest == 0 || power == 128) return 1;
  const int s = 7 - max(power, -119);
  return __int_as_float((127 + sign * s) << 23);
}

/// The factors of all modes in single precision, and where they go.
template <class G>
struct Conversion {
  const float* from[kMaxOrder] = {};
  G* to[kMaxOrder] = {};
  Count rows[kMaxOrder] = {};
  unsigned from_stride = 0, to_stride = 0;  ///< elements between rows: whole vectors of each type
  std::uint32_t* largest = nullptr;         ///< by mode; null where factors are not scaled
};

inline constexpr unsigned kConvertThreads = 256;

/// The blocks (., m) find the largest magnitude in the factor of mode m.
template <class G>
__global__ void __launch_bounds__(kConvertThreads) find_largest(Conversion<G> x) {
  const unsigned mode = blockIdx.y;
  const auto* const from = reinterpret_cast<const uint4*>(x.from[mode]);
  const auto magnitude = [](std::uint32_t bits) { return bits & 0x7fffffffu; };
  std::uint32_t largest = 0;
  device::for_each_of_grid(x.rows[mode] * (x.from_stride / 4), [&](Count i) {
    const uint4 v = __ldg(from + i);
    largest =
        max(largest, max(max(magnitude(v.x), magnitude(v.y)), max(magnitude(v.z), magnitude(v.w))));
  });
  largest = device::joined_by_warp(largest, [](auto a, auto b) { return max(a, b); });
  if (threadIdx.x % 32 == 0 && largest > 0) atomicMax(x.largest + mode, largest);
}

/// The blocks (., m) convert the factor of mode m.
template <class G>
__global__ void __launch_bounds__(kConvertThreads) convert_rows(Conversion<G> x) {
  const unsigned mode = blockIdx.y, row_vectors = x.to_stride / 8;
  float scale = 1;
  if constexpr (kScaled<G>) scale = scale_of(x.largest[mode], 1);
  device::for_each_of_grid(x.rows[mode] * row_vectors, [&](Count i) {
    const Count row = i / row_vectors;
    const unsigned column = static_cast<unsigned>(i - row * row_vectors) * 8;
    auto v = load_columns<EightSums>(x.from[mode] + row * x.from_stride + column,
                                     x.from_stride - column);
    v.multiply(EightSums::splat(scale));
    reinterpret_cast<Vec<G>*>(x.to[mode])[i] = Vec<G>::of(v.low.v, v.high.v);
  });
}

}  // namespace flycoo::tuned
}  // namespace retensor
