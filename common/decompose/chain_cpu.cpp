// TTM-chain on the CPU over coordinates, for tensors of any order: Y(i, :) is the sum over the
// nonzeros of slice i of their values times the Kronecker product of the factor rows that they meet
// (T. G. Kolda, B. W. Bader: Tensor Decompositions and Applications, SIAM Review 51(3), 2009,
// section 4.2).
//
// Nonzeros lie sorted by the mode of the result. Each thread takes an equal share of them. Rows
// that begin in its share are its own; what it has of a row that began before goes to a row of the
// thread, and these are added last, in the order of the threads, so that a result depends on their
// number alone. Of a nonzero the products of its value and all factor rows but the last lie in a
// buffer, and each of them times the last row is added to Y, a vector at a time.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/run/cpu_run.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::tucker {
namespace {

std::size_t at(int mode) {
  return static_cast<std::size_t>(mode);
}

/// The mode of the result first, then the others ascending.
std::vector<int> modes_of(const Problem& problem) {
  std::vector<int> modes{problem.mode()};
  for (int m = 0; m < problem.x().order(); ++m)
    if (m != problem.mode()) modes.push_back(m);
  return modes;
}

template <class T>
class ChainRun final : public CpuRun {
 public:
  ChainRun(const Problem& problem, const Params& params)
      : CpuRun(problem, thread_count(params), "TTM-chain of coordinates"),
        modes_(modes_of(problem)),
        x_(problem.x()) {
    sort_nonzeros(x_, modes_);
    for (std::size_t m = 1; m < modes_.size(); ++m) width_ *= problem.dense()[at(modes_[m])].cols();
    last_ = problem.dense()[at(modes_.back())].cols();
    out_ = Matrix(x_.dims[at(problem.mode())], width_, problem.dtype());
    products_.resize(at(threads_) * (width_ / last_));
    carried_.resize(at(threads_) * width_);
    format_bytes_ = x_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("zero");
    const auto y = out_.template view<T>();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.rows); ++i)
      std::fill_n(y.row(static_cast<Count>(i)), width_, T{0});
    timer.stage("kernel");
#pragma omp parallel num_threads(threads_)
    for (int share = omp_get_thread_num(); share < threads_; share += omp_get_num_threads())
      add_share(share);
    timer.stage("reduce");
    for (int share = 0; share < threads_; ++share) add_carried(share);
  }

  Result result() override {
    return out_;
  }

 private:
  Count first_of(int share) const {
    return x_.nnz() * at(share) / at(threads_);
  }
  const std::vector<Index>& rows() const {
    return x_.indices[at(modes_.front())];
  }
  /// The first nonzero of the share continues a row that began before it.
  bool continues(int share) const {
    const Count first = first_of(share);
    return first > 0 && first < first_of(share + 1) && rows()[first] == rows()[first - 1];
  }

  void add_share(int share) {
    const auto y = out_.template view<T>();
    const Count first = first_of(share), end = first_of(share + 1);
    T* const carried = carried_.data() + at(share) * width_;
    std::fill_n(carried, width_, T{0});
    const bool began_before = continues(share);
    for (Count p = first; p < end; ++p) {
      const Index row = rows()[p];
      add_nonzero(p, products_.data() + at(share) * (width_ / last_),
                  began_before && row == rows()[first] ? carried : y.row(row));
    }
  }

  void add_nonzero(Count p, T* products, T* y) const {
    products[0] = std::as_const(x_).values.template as<T>()[p];
    Count count = 1;
    for (std::size_t m = 1; m + 1 < modes_.size(); ++m) {
      const auto factor = problem_.dense()[at(modes_[m])].template view<T>();
      multiply(products, count, factor.row(x_.indices[at(modes_[m])][p]), factor.cols);
      count *= factor.cols;
    }
    const T* u = problem_.dense()[at(modes_.back())].template view<T>().row(
        x_.indices[at(modes_.back())][p]);
    for (Count c = 0; c < count; ++c)
      for (Count r = 0; r < last_; ++r) y[c * last_ + r] += products[c] * u[r];
  }

  /// The Kronecker product of the first `count` products and a row in their place, from the end.
  static void multiply(T* products, Count count, const T* row, Count width) {
    for (Count c = count; c-- > 0;) {
      const T product = products[c];
      for (Count r = 0; r < width; ++r) products[c * width + r] = product * row[r];
    }
  }

  void add_carried(int share) {
    if (!continues(share)) return;
    T* y = out_.template view<T>().row(rows()[first_of(share)]);
    const T* carried = carried_.data() + at(share) * width_;
    for (Count c = 0; c < width_; ++c) y[c] += carried[c];
  }

  const std::vector<int> modes_;
  Coo x_;
  Count width_ = 1, last_ = 1;  // columns of the result, and of the last factor
  Matrix out_;
  std::vector<T> products_, carried_;  // of each thread
};

}  // namespace

std::unique_ptr<Prepared> prepare_chain(const Problem& problem, const Params& params) {
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    return std::make_unique<ChainRun<T>>(problem, params);
  });
}

}  // namespace retensor::tucker
