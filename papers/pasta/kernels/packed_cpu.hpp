// MTTKRP on packed rows (format/packed_rows.hpp), with vectors of 512 bits where the processor
// that runs it has them.
//
// A thread takes an equal share of the nonzeros and adds up a row in registers; what its share
// holds of a row that began before it goes to a row of `carry`, added last. Rows of factors and
// output lie on cache lines and are padded to whole vectors.
//
// Per nonzero and vector: loads of a word, a value and one row of each factor, as many fused
// operations as factors. Of neighbours in a row several have sums of their own (kChains), since an
// addition waits four cycles for the one before.
#pragma once

#include <array>
#include <memory>

#include "common/method/method.hpp"
#include "papers/pasta/format/packed_rows.hpp"

namespace retensor::pasta {

/// Elements of a vector of 512 bits.
template <class T>
inline constexpr std::size_t kVectorOf = 64 / sizeof(T);

/// Elements from one row to the next of a matrix whose rows are whole vectors.
template <class T>
std::size_t padded_stride(std::uint64_t rank) {
  return (rank + kVectorOf<T> - 1) / kVectorOf<T> * kVectorOf<T>;
}

/// What a share reads and writes.
template <class T>
struct PackedMttkrp {
  const PackedRows* x = nullptr;             ///< with values of T
  std::array<const T*, kMaxOrder> factor{};  ///< factor[k] belongs to x->others[k]
  std::size_t stride = 0;                    ///< of rows, a multiple of kVectorOf<T>
  T* out = nullptr;                          ///< rows without nonzeros are not written
  T* carry = nullptr;                        ///< a row a share
  int shares = 1;
};

enum class Vectors { avx512, compiled };
/// The widest that the processor has.
Vectors widest_vectors();

/// out = MTTKRP of the rows that have nonzeros, each share on a thread.
template <class T>
void mttkrp_packed(const PackedMttkrp<T>& m, Vectors vectors);

/// pasta.cpu.packed; the parameter `threads`.
std::unique_ptr<Prepared> prepare_packed_cpu(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
