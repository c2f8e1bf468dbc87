// MTTKRP on packed rows (format/packed_rows.hpp) in single precision, with vectors of 512 bits
// where the processor that runs it has them.
//
// A thread takes an equal share of the nonzeros and adds up a row in registers; what its share
// holds of a row that began before it goes to a row of `carry`, added last. Rows of factors and
// output lie on cache lines and are padded to whole vectors of 16.
//
// Per nonzero and 16 columns: loads of a word, a value and one row of each factor, as many fused
// operations as factors. Of neighbours in a row several have sums of their own (kChains), since an
// addition waits four cycles for the one before.
#pragma once

#include <array>
#include <memory>

#include "common/method/method.hpp"
#include "papers/pasta/format/packed_rows.hpp"

namespace retensor::pasta {

inline constexpr std::size_t kVectorFloats = 16;

/// What a share reads and writes.
struct PackedMttkrp {
  const PackedRows* x = nullptr;
  std::array<const float*, kMaxOrder> factor{};  ///< factor[k] belongs to x->others[k]
  std::size_t stride = 0;                        ///< of rows, a multiple of kVectorFloats
  float* out = nullptr;                          ///< rows without nonzeros are not written
  float* carry = nullptr;                        ///< a row a share
  int shares = 1;
};

enum class Vectors { avx512, compiled };
/// The widest that the processor has.
Vectors widest_vectors();

/// out = MTTKRP of the rows that have nonzeros, each share on a thread.
void mttkrp_packed(const PackedMttkrp& m, Vectors vectors);

/// pasta.cpu.packed; the parameter `threads`.
std::unique_ptr<Prepared> prepare_packed_cpu(const Problem& problem, const Params& params);

}  // namespace retensor::pasta
