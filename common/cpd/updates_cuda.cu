// The dense part of a CP-ALS update on the device: V is inverted by one thread block, then a fixed
// number of thread blocks share out the rows, and what they add up meets in their order.
#include <algorithm>
#include <memory>
#include <vector>

#include "common/cpd/updates.hpp"
#include "common/device/cuda.cuh"

namespace retensor::cpd {
namespace {

using device::Buffer;

constexpr unsigned kParts = 256;  // thread blocks, whatever the device: sums have one order
constexpr unsigned kColumns = 32, kRows = 8;  // of a thread block
constexpr unsigned kThreads = kColumns * kRows;
constexpr unsigned kGramRows = 32;  // held in shared memory at a time, or as many as fit
constexpr unsigned kSharedBytes = 48u << 10;

/// The rows of thread block blockIdx.x.
struct Part {
  Count begin, end;
  __device__ explicit Part(Count rows)
      : begin(rows * blockIdx.x / kParts), end(rows * (blockIdx.x + 1) / kParts) {}
};

/// V = L L^T in place below the diagonal of `lower`, which holds V; sets *singular where a pivot is
/// no larger than rounding of the largest entry of the diagonal makes it.
__device__ void factorise(double* lower, unsigned n, int* singular) {
  __shared__ double smallest;
  if (threadIdx.x == 0) {
    double largest = 0;
    for (unsigned k = 0; k < n; ++k) largest = max(largest, lower[k * n + k]);
    smallest = 16 * n * 0x1p-52 * largest;
    *singular = 0;
  }
  for (unsigned k = 0; k < n; ++k) {
    __syncthreads();
    const double pivot = lower[k * n + k];
    if (!(pivot > smallest)) {  // the same for all threads
      if (threadIdx.x == 0) *singular = 1;
      return;
    }
    const double scale = rsqrt(pivot);
    __syncthreads();
    for (unsigned i = k + threadIdx.x; i < n; i += kThreads) lower[i * n + k] *= scale;
    __syncthreads();
    const unsigned left = n - k - 1;
    for (unsigned e = threadIdx.x; e < left * left; e += kThreads) {
      const unsigned i = k + 1 + e / left, j = k + 1 + e % left;
      if (j <= i) lower[i * n + j] -= lower[i * n + k] * lower[j * n + k];
    }
  }
  __syncthreads();
}

/// V^-1 by one thread block, a thread a column: L y = e, then L^T x = y.
__global__ void invert(unsigned n, double* lower, double* inverse, int* singular) {
  factorise(lower, n, singular);
  __syncthreads();
  if (*singular != 0) return;
  for (unsigned c = threadIdx.x; c < n; c += kThreads) {
    for (unsigned i = 0; i < n; ++i) {
      double x = i == c ? 1 : 0;
      for (unsigned q = 0; q < i; ++q) x -= lower[i * n + q] * inverse[q * n + c];
      inverse[i * n + c] = x / lower[i * n + i];
    }
    for (unsigned i = n; i-- > 0;) {
      double x = inverse[i * n + c];
      for (unsigned q = i + 1; q < n; ++q) x -= lower[q * n + i] * inverse[q * n + c];
      inverse[i * n + c] = x / lower[i * n + i];
    }
  }
}

/// Calls f(row, column), whose results are added up, for the part's rows and all columns; the sums
/// of the columns go to row blockIdx.x of `sums`.
template <class F>
__device__ void sum_columns(Count rows, unsigned n, double* sums, F&& f) {
  __shared__ double of_row[kRows][kColumns];
  const Part part(rows);
  const unsigned x = threadIdx.x % kColumns, y = threadIdx.x / kColumns;
  for (unsigned first = 0; first < n; first += kColumns) {
    const unsigned c = first + x;
    double sum = 0;
    if (c < n)
      for (Count row = part.begin + y; row < part.end; row += kRows) sum += f(row, c);
    of_row[y][x] = sum;
    __syncthreads();
    if (y == 0 && c < n) {
      for (unsigned k = 1; k < kRows; ++k) sum += of_row[k][x];
      sums[Count{blockIdx.x} * n + c] = sum;
    }
    __syncthreads();
  }
}

/// solved = M V^-1 and the squares of its columns.
template <class T>
__global__ void multiply(const T* m, Count rows, unsigned n, const double* inverse, double* solved,
                         double* squares) {
  sum_columns(rows, n, squares, [&](Count row, unsigned c) {
    double sum = 0;
    for (unsigned q = 0; q < n; ++q)
      sum += static_cast<double>(m[row * n + q]) * inverse[q * n + c];
    solved[row * n + c] = sum;
    return sum * sum;
  });
}

/// The factor, and the columns' sums of M o A.
template <class T>
__global__ void normalise(const T* m, Count rows, unsigned n, const double* solved,
                          const double* norms, T* factor, double* products) {
  sum_columns(rows, n, products, [&](Count row, unsigned c) {
    const double scale = norms[c] > 0 ? 1 / norms[c] : 0;
    const T entry = static_cast<T>(solved[row * n + c] * scale);
    factor[row * n + c] = entry;
    return static_cast<double>(m[row * n + c]) * static_cast<double>(entry);
  });
}

/// A^T A of the part's rows, `held` of them in shared memory at a time.
template <class T>
__global__ void gram_of_part(const T* factor, Count rows, unsigned n, unsigned held,
                             double* grams) {
  extern __shared__ double block[];
  const Part part(rows);
  double* const gram = grams + Count{blockIdx.x} * n * n;
  for (unsigned e = threadIdx.x; e < n * n; e += kThreads) gram[e] = 0;
  for (Count first = part.begin; first < part.end; first += held) {
    const auto count = static_cast<unsigned>(min(Count{held}, part.end - first));
    __syncthreads();
    for (unsigned e = threadIdx.x; e < count * n; e += kThreads)
      block[e] = static_cast<double>(factor[first * n + e]);
    __syncthreads();
    for (unsigned e = threadIdx.x; e < n * n; e += kThreads) {
      const unsigned r = e / n, s = e % n;
      double sum = 0;
      for (unsigned k = 0; k < count; ++k) sum += block[k * n + r] * block[k * n + s];
      gram[e] += sum;
    }
  }
}

/// The sums over all parts, or their roots.
__global__ void add_parts(const double* parts, unsigned n, bool root, double* sums) {
  const unsigned e = blockIdx.x * kThreads + threadIdx.x;
  if (e >= n) return;
  double sum = 0;
  for (unsigned p = 0; p < kParts; ++p) sum += parts[Count{p} * n + e];
  sums[e] = root ? sqrt(sum) : sum;
}

template <class T>
class UpdatesOf {
 public:
  UpdatesOf(Count rows, unsigned rank)
      : rank_(rank),
        held_(std::clamp(kSharedBytes / (8 * rank), 1u, kGramRows)),
        m_(rows * rank),
        factor_(rows * rank),
        solved_(rows * rank),
        lower_(Count{rank} * rank),
        inverse_(Count{rank} * rank),
        parts_(Count{kParts} * rank * rank),
        norms_(rank),
        products_(rank),
        gram_(Count{rank} * rank),
        singular_(1) {
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(
        gram_of_part<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared())));
  }

  Update operator()(const Matrix& m, std::span<const double> v, Matrix& factor) {
    const Count rows = m.rows();
    if (rows * rank_ > m_.size()) throw LogicError("an update of more rows than there is room for");
    copy(m_.data(), rank_, m.view<T>().data, m.ld(), rows, cudaMemcpyHostToDevice);
    invert_v(v);
    RETENSOR_CUDA_LAUNCH(multiply<T>, kParts, kThreads, 0, nullptr, m_.data(), rows, rank_,
                         inverse_.data(), solved_.data(), parts_.data());
    add_up(norms_, true);
    RETENSOR_CUDA_LAUNCH(normalise<T>, kParts, kThreads, 0, nullptr, m_.data(), rows, rank_,
                         solved_.data(), norms_.data(), factor_.data(), parts_.data());
    add_up(products_, false);
    RETENSOR_CUDA_LAUNCH(gram_of_part<T>, kParts, kThreads, shared(), nullptr, factor_.data(), rows,
                         rank_, held_, parts_.data());
    add_up(gram_, false);
    copy(factor.view<T>().data, factor.ld(), factor_.data(), rank_, rows, cudaMemcpyDeviceToHost);
    return {norms_.to_host(), gram_.to_host(), products_.to_host()};
  }

 private:
  unsigned shared() const { return held_ * rank_ * static_cast<unsigned>(sizeof(double)); }

  void copy(T* to, Count to_ld, const T* from, Count from_ld, Count rows,
            cudaMemcpyKind kind) const {
    if (rows == 0) return;
    RETENSOR_CUDA_CHECK(cudaMemcpy2D(to, to_ld * sizeof(T), from, from_ld * sizeof(T),
                                     rank_ * sizeof(T), rows, kind));
  }

  void invert_v(std::span<const double> v) {
    lower_.upload(v);
    RETENSOR_CUDA_LAUNCH(invert, 1, kThreads, 0, nullptr, rank_, lower_.data(), inverse_.data(),
                         singular_.data());
    if (singular_.to_host().front() != 0) inverse_.upload(pseudo_inverse(v, rank_));
  }

  void add_up(Buffer<double>& sums, bool root) {
    const auto n = static_cast<unsigned>(sums.size());
    RETENSOR_CUDA_LAUNCH(add_parts, device::blocks_for(n, kThreads), kThreads, 0, nullptr,
                         parts_.data(), n, root, sums.data());
  }

  const unsigned rank_, held_;  // rows of a Gram matrix's block
  Buffer<T> m_, factor_;
  Buffer<double> solved_, lower_, inverse_, parts_, norms_, products_, gram_;
  Buffer<int> singular_;
};

template <class T>
Updates updates_in(Count rows, unsigned rank) {
  return [on_device = std::make_shared<UpdatesOf<T>>(rows, rank)](
             const Matrix& m, std::span<const double> v, Matrix& factor) {
    return (*on_device)(m, v, factor);
  };
}

}  // namespace

Updates device_updates(std::uint64_t rows, std::uint64_t rank, DType dtype) {
  const auto columns = static_cast<unsigned>(rank);
  return dtype == DType::f64 ? updates_in<double>(rows, columns) : updates_in<float>(rows, columns);
}

}  // namespace retensor::cpd
