// TEW, TS, TTV and TTM (PASTA section III.B), which coordinates and HiCOO share, as plain functions
// over arrays.
//
// Every kernel works for any order: index arrays of the modes that a kernel reads are passed as a
// span, one entry a mode. Value type T is float or double; instantiations stand in shared_cpu.cpp.
#pragma once

#include <span>

#include "common/core/types.hpp"
#include "common/tensor/matrix.hpp"
#include "papers/pasta/format/patterns.hpp"

namespace retensor::pasta {

/// How a result is written. Past the caches costs less where it is larger than the last-level
/// cache, more where it fits; the result then begins on 32 bytes, as values do
/// (common/tensor/array.hpp).
enum class Store { cached, past_caches };
/// That of a run which touches this many bytes between two uses of a result.
Store store_for(Count bytes);

/// z = x (op) y, element by element of the value arrays (section II.A, equal patterns).
template <class T>
void tew(Arithmetic op, std::span<const T> x, std::span<const T> y, std::span<T> z, Store how,
         int threads);

/// Element-wise operation for different patterns: z[i] combines x[from_x[i]] and y[from_y[i]]; an
/// absent operand (kAbsent) counts as zero.
template <class T>
void tew_general(Arithmetic op, std::span<const T> x, std::span<const T> y,
                 std::span<const Count> from_x, std::span<const Count> from_y, std::span<T> z,
                 int threads);

/// z = x (op) s (section II.B).
template <class T>
void ts(Arithmetic op, std::span<const T> x, T s, std::span<T> z, Store how, int threads);

/// Nonzeros sorted so that fibers of one mode are contiguous, as Algorithm 1 prepares them.
template <class T>
struct Fibers {
  std::span<const Count> start;        ///< fibers + 1 entries
  std::span<const Index> index;        ///< index of each nonzero in the fiber's mode
  std::span<const std::uint8_t> last;  ///< 1 for the last nonzero of a fiber, else 0
  std::span<const T> value;
  Count count() const { return start.size() - 1; }
};

/// y[f] = sum over fiber f of x * v (eq. 1, Algorithm 1).
template <class T>
void ttv(const Fibers<T>& x, MatrixView<const T> v, std::span<T> y, int threads);

/// y[f * R + r] = sum over fiber f of x * u(i, r) (eq. 2); R = u.cols.
template <class T>
void ttm(const Fibers<T>& x, MatrixView<const T> u, std::span<T> y, Store how, int threads);

}  // namespace retensor::pasta
