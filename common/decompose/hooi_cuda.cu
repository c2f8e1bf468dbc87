// Sweeps of HOOI on the device. For each mode: Y by the chain of chain_rows.cuh; the Gram matrix of
// the smaller side of Y in doubles by cuBLAS; its eigenvectors by cuSOLVER. Those of Y Y^T are the
// factor. Of Y^T Y the leading ones V with values L give it as Y V L^(-1/2), in which a step of
// Newton's iteration for the polar factor, A (3 I - A^T A) / 2, makes up for the rounding of L.
// What is a matrix row by row here is its transpose for the libraries.
#include "common/decompose/chain_rows.cuh"
#include "common/decompose/dense_cuda.cuh"
#include "common/decompose/hooi_sweeps.hpp"
#include "common/device/loops.cuh"

namespace retensor::tucker {
namespace {

using device::Buffer;

constexpr unsigned kBlock = 256;
constexpr Count kChunk = Count{1} << 24;  // numbers of Y that are doubles at once, 128 MiB

template <class From, class To>
__global__ void convert(const From* from, Count n, To* to) {
  device::for_each_of_grid(n, [=](Count k) { to[k] = static_cast<To>(from[k]); });
}

/// The eigenvectors of the `rank` largest values, the largest first, as rows of n numbers; with
/// `scaled` divided by the roots of their values, where a value that is rounding gives zeros.
__global__ void leading_rows(const double* vectors, const double* values, Count n, Count rank,
                             bool scaled, double* rows) {
  const double rounding = static_cast<double>(n) * 2.3e-16 * values[n - 1];
  device::for_each_of_grid(rank * n, [=](Count k) {
    const Count from = n - 1 - k / n;
    const double value = values[from];
    const double scale = !scaled ? 1 : value > rounding ? rsqrt(value) : 0;
    rows[k] = vectors[from * n + k % n] * scale;
  });
}

/// (3 I - S) / 2 of the lower triangle of S, n x n.
__global__ void correction(const double* s, Count n, double* result) {
  device::for_each_of_grid(n * n, [=](Count k) {
    const Count row = k % n, column = k / n;
    const double entry = row >= column ? s[k] : s[row * n + column];
    result[k] = (row == column ? 1.5 : 0.0) - 0.5 * entry;
  });
}

/// a(i, r) = rows(r, i): the transpose, I x R row by row.
__global__ void transposed(const double* rows, Count length, Count rank, double* a) {
  device::for_each_of_grid(length * rank,
                           [=](Count k) { a[k] = rows[k % rank * length + k / rank]; });
}

template <class T>
class DeviceSweeps final : public Sweeps {
 public:
  DeviceSweeps(const Coo& x, const Dims& ranks)
      : ranks_(ranks), blas_(stream_.get()), eigen_(stream_.get(), largest_side(x.dims, ranks)) {
    Count y = 0, doubles = 0, factor = 0, rank = 0;
    const Count side = largest_side(x.dims, ranks);
    for (int m = 0; m < x.order(); ++m) {
      const auto& chain = chains_.emplace_back(x, m, ranks);
      const Count r = ranks[static_cast<std::size_t>(m)];
      factors_.push_back(Buffer<T>(chain.rows() * r));
      y = std::max(y, chain.rows() * chain.columns());
      doubles = std::max(doubles, rows_at_once(chain) * chain.columns());
      factor = std::max(factor, chain.rows() * r);
      rank = std::max(rank, r);
    }
    y_ = Buffer<T>(y);
    doubles_ = Buffer<double>(doubles);
    gram_ = Buffer<double>(side * side);
    leading_ = Buffer<double>(side * rank);
    unpolished_ = Buffer<double>(factor);
    factor_ = Buffer<double>(factor);
    small_ = Buffer<double>(rank * rank);
    correction_ = Buffer<double>(rank * rank);
    core_ = Buffer<double>(ranks.back() * chains_.back().columns());
  }

  void begin(const std::vector<Matrix>& factors) override {
    for (std::size_t m = 0; m < factors.size(); ++m) {
      const auto view = factors[m].template view<T>();
      std::vector<T> rows;
      for (std::uint64_t i = 0; i < view.rows; ++i)
        rows.insert(rows.end(), view.row(i), view.row(i) + view.cols);
      factors_[m].upload(rows);
    }
  }

  double run() override {
    for (std::size_t m = 0; m < chains_.size(); ++m) {
      chains_[m].run(factors_, ranks_, y_.data(), stream_.get());
      update(m);
    }
    const auto& chain = chains_.back();
    // Row by row the core is A^T Y, and its columns are those of the libraries' A^T Y^T.
    chunks(chain, [&](Count first, Count rows, const double* y) {
      blas_.multiply(false, true, ranks_.back(), chain.columns(), rows,
                     factor_.data() + first * ranks_.back(), y, first == 0 ? 0 : 1, core_.data());
    });
    const double norm = blas_.norm(core_.size(), core_.data());
    if (const int status = eigen_.status(); status != 0)
      throw DeviceError("cusolverDnDsyevd: no convergence, status " + std::to_string(status));
    return norm;
  }

  void fetch(std::vector<Matrix>& factors) override {
    for (std::size_t m = 0; m < factors.size(); ++m) {
      const auto rows = factors_[m].to_host();
      const auto to = factors[m].template view<T>();
      for (std::uint64_t i = 0; i < to.rows; ++i)
        std::copy_n(&rows[i * to.cols], to.cols, to.row(i));
    }
  }

  std::vector<double> core() override { return core_.to_host(); }

 private:
  static Count columns_of(const Dims& ranks, std::size_t mode) {
    Count product = 1;
    for (std::size_t m = 0; m < ranks.size(); ++m)
      if (m != mode) product *= ranks[m];
    return product;
  }
  /// Rows of the largest Gram matrix.
  static Count largest_side(const Dims& dims, const Dims& ranks) {
    Count side = 0;
    for (std::size_t m = 0; m < dims.size(); ++m)
      side = std::max(side, std::min<Count>(dims[m], columns_of(ranks, m)));
    return side;
  }
  static bool is_tall(const Chain<T>& chain) { return chain.rows() > chain.columns(); }
  static Count rows_at_once(const Chain<T>& chain) {
    if (!is_tall(chain)) return chain.rows();
    return std::min(chain.rows(), std::max(Count{1}, kChunk / chain.columns()));
  }

  /// Calls f(first row, rows, their numbers) for parts of Y as doubles.
  template <class F>
  void chunks(const Chain<T>& chain, F&& f) {
    const Count at_once = rows_at_once(chain);
    for (Count first = 0; first < chain.rows(); first += at_once) {
      const Count rows = std::min(at_once, chain.rows() - first);
      const Count n = rows * chain.columns();
      launch(convert<T, double>, n, y_.data() + first * chain.columns(), n, doubles_.data());
      f(first, rows, doubles_.data());
    }
  }

  /// A thread for each of n numbers.
  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), Count n, Arguments... arguments) {
    RETENSOR_CUDA_LAUNCH(kernel, device::blocks_for(n, kBlock, 1U << 16), kBlock, 0, stream_.get(),
                         arguments...);
  }

  /// The factor of a mode from Y: factor_ in doubles, and what the chains read.
  void update(std::size_t m) {
    const Chain<T>& chain = chains_[m];
    if (is_tall(chain))
      from_columns(chain, ranks_[m]);
    else
      from_rows(chain, ranks_[m]);
    const Count n = chain.rows() * ranks_[m];
    launch(convert<double, T>, n, factor_.data(), n, factors_[m].data());
  }

  void from_rows(const Chain<T>& chain, Count rank) {
    const Count length = chain.rows();
    chunks(chain, [&](Count, Count, const double* y) {
      blas_.gram(true, length, chain.columns(), y, 0, gram_.data());
    });
    eigen_.solve(length, gram_.data());
    launch(leading_rows, rank * length, gram_.data(), eigen_.values(), length, rank, false,
           leading_.data());
    launch(transposed, rank * length, leading_.data(), length, rank, factor_.data());
  }

  void from_columns(const Chain<T>& chain, Count rank) {
    const Count length = chain.rows(), width = chain.columns();
    chunks(chain, [&](Count first, Count rows, const double* y) {
      blas_.gram(false, width, rows, y, first == 0 ? 0 : 1, gram_.data());
    });
    eigen_.solve(width, gram_.data());
    launch(leading_rows, rank * width, gram_.data(), eigen_.values(), width, rank, true,
           leading_.data());
    chunks(chain, [&](Count first, Count rows, const double* y) {
      blas_.multiply(true, false, rank, rows, width, leading_.data(), y, 0,
                     unpolished_.data() + first * rank);
    });
    blas_.gram(false, rank, length, unpolished_.data(), 0, small_.data());
    launch(correction, rank * rank, small_.data(), rank, correction_.data());
    blas_.multiply(false, false, rank, length, rank, correction_.data(), unpolished_.data(), 0,
                   factor_.data());
  }

  const Dims ranks_;
  const device::Stream stream_;
  const blas::Handle blas_;
  solver::Eigen eigen_;
  std::vector<Chain<T>> chains_;
  std::vector<Buffer<T>> factors_;
  Buffer<T> y_;             // what the last chain left
  Buffer<double> doubles_;  // a part of it
  Buffer<double> gram_;     // then its eigenvectors
  Buffer<double> leading_;  // of them
  Buffer<double> unpolished_, factor_, small_, correction_, core_;
};

}  // namespace

std::unique_ptr<Sweeps> device_sweeps(const Coo& x, const Dims& ranks) {
  if (x.order() < 2 || x.order() > kMostOthers + 1)
    throw InputError("tucker: found a tensor of order " + std::to_string(x.order()) +
                     ", expected 2 to 5 on the device");
  if (const auto& missing = blas::library().missing(); !missing.empty()) throw DeviceError(missing);
  if (const auto& missing = solver::library().missing(); !missing.empty())
    throw DeviceError(missing);
  return dispatch(x.dtype(), [&]<class T>() -> std::unique_ptr<Sweeps> {
    return std::make_unique<DeviceSweeps<T>>(x, ranks);
  });
}

}  // namespace retensor::tucker
