// The leading left singular vectors of a matrix Y on the device: the Gram matrix of its smaller
// side in doubles by cuBLAS; its eigenvectors by cuSOLVER or the range finder. Those of Y Y^T are
// the answer. Of Y^T Y the leading ones V with values L give it as Y V L^(-1/2), in which a step of
// Newton's iteration for the polar factor, A (3 I - A^T A) / 2, makes up for the rounding of L.
// What is a matrix row by row here is its transpose for the libraries. Included by .cu files alone.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "common/decompose/dense_cuda.cuh"
#include "common/decompose/range_finder.cuh"
#include "common/device/loops.cuh"

namespace retensor::tucker {

inline constexpr unsigned kBlock = 256;
inline constexpr Count kChunk = Count{1} << 24;  // numbers of Y that are doubles at once, 128 MiB

template <class From, class To>
__global__ void convert(const From* from, Count n, To* to) {
  device::for_each_of_grid(n, [=](Count k) { to[k] = static_cast<To>(from[k]); });
}

/// (3 I - S) / 2 of S, n x n.
static __global__ void correction(const double* s, Count n, double* result) {
  device::for_each_of_grid(n * n,
                           [=](Count k) { result[k] = (k % n == k / n ? 1.5 : 0.0) - 0.5 * s[k]; });
}

/// a(i, r) = rows(r, i): the transpose, I x R row by row.
static __global__ void transposed(const double* rows, Count length, Count rank, double* a) {
  device::for_each_of_grid(length * rank,
                           [=](Count k) { a[k] = rows[k % rank * length + k / rank]; });
}

/// A matrix Y and how many singular vectors of it are asked for.
struct Unfolding {
  Count rows = 0, columns = 0, rank = 0;
  bool is_tall() const { return rows > columns; }
  /// Rows of the Gram matrix.
  Count side() const { return std::min(rows, columns); }
  Count rows_at_once() const {
    return is_tall() ? std::min(rows, std::max(Count{1}, kChunk / columns)) : rows;
  }
};

/// Of matrices of the shapes that it was made for. Nothing is allocated after that.
template <class T>
class LeadingVectors {
 public:
  LeadingVectors(const std::vector<Unfolding>& shapes, Solver solver) {
    const Count rank = largest(shapes, [](const Unfolding& y) { return y.rank; });
    const Count side = largest(shapes, [](const Unfolding& y) { return y.side(); });
    if (solver == Solver::range) finder_.emplace(side, rank);
    eigen_.emplace(finder_ ? finder_->columns() : side, rank, solver);
    const Count factor = largest(shapes, [](const Unfolding& y) { return y.rows * y.rank; });
    doubles_ = device::Buffer<double>(
        largest(shapes, [](const Unfolding& y) { return y.rows_at_once() * y.columns; }));
    gram_ = device::Buffer<double>(side * side);
    leading_ = device::Buffer<double>(side * rank);
    unpolished_ = device::Buffer<double>(factor);
    factor_ = device::Buffer<double>(factor);
    small_ = device::Buffer<double>(rank * rank);
    correction_ = device::Buffer<double>(rank * rank);
  }

  /// What follows runs on this stream.
  void use(cudaStream_t stream) {
    stream_ = stream;
    blas_.use(stream);
    eigen_->use(stream);
  }

  /// Writes the vectors to `to`, rows x rank row by row. Tells `stage` what begins: gram,
  /// eigenvectors, factor.
  template <class Stage>
  void write(const Unfolding& y, const T* values, T* to, Stage&& stage) {
    stage("gram");
    chunks(y, values, [&](Count first, Count rows, const double* part) {
      if (y.is_tall())
        blas_.multiply(false, true, y.columns, y.columns, rows, part, part, first == 0 ? 0 : 1,
                       gram_.data());
      else
        blas_.gram(y.rows, y.columns, part, gram_.data());
    });
    stage("eigenvectors");
    const Count found =
        finder_ ? finder_->solve(y.side(), y.rank, blas_, *eigen_, stream_, gram_.data())
                : eigen_->solve(y.side(), y.rank, gram_.data());
    stage("factor");
    launch(leading_rows, y.rank * y.side(), gram_.data(), eigen_->values(), y.side(), found, y.rank,
           y.is_tall(), leading_.data());
    if (y.is_tall())
      multiply_out(y, values);
    else
      launch(transposed, y.rank * y.side(), leading_.data(), y.side(), y.rank, factor_.data());
    launch(convert<double, T>, y.rows * y.rank, factor_.data(), y.rows * y.rank, to);
  }

  /// `product`, rank x columns, is A^T Y with the vectors A that were written last.
  void project(const Unfolding& y, const T* values, double* product) {
    // Row by row it is A^T Y, and its columns are those of the libraries' A^T Y^T.
    chunks(y, values, [&](Count first, Count rows, const double* part) {
      blas_.multiply(false, true, y.rank, y.columns, rows, factor_.data() + first * y.rank, part,
                     first == 0 ? 0 : 1, product);
    });
  }

  /// The 2-norm of n numbers; waits for the stream.
  double norm(Count n, const double* x) const { return blas_.norm(n, x); }
  /// Throws DeviceError where the last eigenvectors were not found; waits for the device.
  void check() const { eigen_->check_solved(); }
  Count bytes() const {
    return doubles_.bytes() + gram_.bytes() + leading_.bytes() + unpolished_.bytes() +
           factor_.bytes() + small_.bytes() + correction_.bytes() + eigen_->bytes() +
           (finder_ ? finder_->bytes() : 0);
  }

 private:
  template <class F>
  static Count largest(const std::vector<Unfolding>& shapes, F&& of) {
    Count most = 0;
    for (const auto& shape : shapes) most = std::max(most, of(shape));
    return most;
  }

  /// Calls f(first row, rows, their numbers) for parts of Y as doubles.
  template <class F>
  void chunks(const Unfolding& y, const T* values, F&& f) {
    for (Count first = 0; first < y.rows; first += y.rows_at_once()) {
      const Count rows = std::min(y.rows_at_once(), y.rows - first);
      launch(convert<T, double>, rows * y.columns, values + first * y.columns, rows * y.columns,
             doubles_.data());
      f(first, rows, doubles_.data());
    }
  }

  /// A thread for each of n numbers.
  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), Count n, Arguments... arguments) {
    RETENSOR_CUDA_LAUNCH(kernel, device::blocks_for(n, kBlock, 1U << 16), kBlock, 0, stream_,
                         arguments...);
  }

  /// The factor from Y and leading_.
  void multiply_out(const Unfolding& y, const T* values) {
    chunks(y, values, [&](Count first, Count rows, const double* part) {
      blas_.multiply(true, false, y.rank, rows, y.columns, leading_.data(), part, 0,
                     unpolished_.data() + first * y.rank);
    });
    blas_.multiply(false, true, y.rank, y.rank, y.rows, unpolished_.data(), unpolished_.data(), 0,
                   small_.data());
    launch(correction, y.rank * y.rank, small_.data(), y.rank, correction_.data());
    blas_.multiply(false, false, y.rank, y.rows, y.rank, correction_.data(), unpolished_.data(), 0,
                   factor_.data());
  }

  cudaStream_t stream_ = nullptr;
  blas::Handle blas_;
  std::optional<RangeFinder> finder_;
  std::optional<solver::Eigen> eigen_;
  device::Buffer<double> doubles_;  // a part of Y
  device::Buffer<double> gram_;     // then its eigenvectors
  device::Buffer<double> leading_;  // of them
  device::Buffer<double> unpolished_, factor_, small_, correction_;
};

/// Throws DeviceError where a library is missing.
inline void check_libraries() {
  if (const auto& missing = blas::library().missing(); !missing.empty()) throw DeviceError(missing);
  if (const auto& missing = solver::library().missing(); !missing.empty())
    throw DeviceError(missing);
}

}  // namespace retensor::tucker
