// Sections 4.1 to 4.3: MTTKRP of one mode and the remapping to the next, as the paper has them.
//
// A thread block owns a partition of the output mode. It has P columns (threadIdx.y) of up to R
// threads: a column takes every P-th nonzero of the partition, its threads the ranks of the
// factors (threadIdx.x). Each multiplies the value by one element of every factor row
// (Algorithm 2) and adds the product to the output row; the last thread of a column writes the
// record to its place in the next mode's order (Algorithm 3). Since all nonzeros of an output row
// lie in one partition, additions meet only inside a thread block: atomics have its scope.
//
// Deviations: where R x P passes 1024 threads, a column has fewer threads than ranks and each
// takes several (Fig. 8's P = 64); line 15 of Algorithm 2 adds to the given factor Y_d, here to an
// output that begins with zeros, as eq. 1 requires; the record's place is read from the record or
// from a stream (format/flycoo.hpp).
#pragma once

#include "common/device/cuda.cuh"
#include "common/run/cuda_run.cuh"
#include "papers/flycoo/format/record.hpp"

namespace retensor::flycoo {

/// Who may add to the same row at the same time: a thread block's threads, or (for comparison) all.
enum class Scope { block, device };

/// What a kernel gets of the pass over one mode. Rows of `factor` and `out` are `stride` elements
/// apart.
template <class T>
struct PassArguments {
  RecordLayout layout;
  const std::uint32_t* in = nullptr;      ///< T_in, in this mode's order
  std::uint32_t* next_copy = nullptr;     ///< T_out, in the next mode's
  const std::uint32_t* stream = nullptr;  ///< of remap ids, where they stand apart
  const Count* start = nullptr;           ///< of each partition
  Field row = {}, other[kMaxOther] = {};  ///< index fields of the output and the gathered modes
  const T* factor[kMaxOther] = {};        ///< of the gathered modes
  T* out = nullptr;
  unsigned* owner = nullptr;      ///< of each output row: the block that wrote it, if it is asked
  unsigned* violation = nullptr;  ///< 1 + a row that a second block wrote
  int next = 0, others = 0;
  unsigned rank = 0, stride = 0;
};

inline constexpr unsigned kNobody = ~0u;

/// Notes the block as the owner of a row; a row with two owners breaks Observation 2.
template <class T>
__device__ void tag(const PassArguments<T>& x, Index row) {
  const unsigned before = atomicCAS(x.owner + row, kNobody, blockIdx.x);
  if (before != kNobody && before != blockIdx.x) *x.violation = row + 1;
}

/// Algorithm 2 for the ranks of one thread.
template <class T, int kOthers, Scope kScope>
__device__ void elementwise(const PassArguments<T>& x, const std::uint32_t* record, unsigned first,
                            unsigned step) {
  constexpr int kModes = kOthers > 0 ? kOthers : kMaxOther;
  const int others = kOthers > 0 ? kOthers : x.others;
  const T* from[kModes];
#pragma unroll
  for (int k = 0; k < kModes; ++k)
    if (k < others)
      from[k] = x.factor[k] + static_cast<Count>(read_field(record, x.other[k])) * x.stride;
  T* const to = x.out + static_cast<Count>(read_field(record, x.row)) * x.stride;
  const T value = record_value<T>(x.layout, record);
  for (unsigned r = first; r < x.rank; r += step) {
    T product = value;
#pragma unroll
    for (int k = 0; k < kModes; ++k)
      if (k < others) product *= from[k][r];
    if constexpr (kScope == Scope::block)
      atomicAdd_block(to + r, product);
    else
      atomicAdd(to + r, product);
  }
}

/// Algorithm 3: word by word by one thread.
template <class T>
__device__ void remap(const PassArguments<T>& x, const std::uint32_t* record, Count p) {
  const Count words = static_cast<Count>(x.layout.words);
  std::uint32_t* const to =
      x.next_copy + next_position(x.layout, record, x.stream, p, x.next) * words;
  for (Count w = 0; w < words; ++w) to[w] = record[w];
}

/// Algorithm 4: block blockIdx.x takes partition blockIdx.x.
template <class T, int kOthers, Scope kScope, bool kRemap>
__global__ void pass(PassArguments<T> x) {
  const Count end = x.start[blockIdx.x + 1];
  for (Count p = x.start[blockIdx.x] + threadIdx.y; p < end; p += blockDim.y) {
    const std::uint32_t* const record = x.in + p * static_cast<Count>(x.layout.words);
    elementwise<T, kOthers, kScope>(x, record, threadIdx.x, blockDim.x);
    if (threadIdx.x != blockDim.x - 1) continue;
    if (x.owner != nullptr) tag(x, read_field(record, x.row));
    if constexpr (kRemap) remap(x, record, p);
  }
}

}  // namespace retensor::flycoo
