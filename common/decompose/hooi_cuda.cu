// Sweeps of HOOI on the device. For each mode: Y by the chain of chain_rows.cuh; its leading left
// singular vectors by leading_vectors.cuh.
#include "common/decompose/chain_rows.cuh"
#include "common/decompose/hooi_sweeps.hpp"
#include "common/decompose/leading_vectors.cuh"
#include "common/run/cuda_run.cuh"

namespace retensor::tucker {
namespace {

using device::Buffer;

template <class T>
std::vector<T> rows_of(MatrixView<const T> m) {
  return padded_rows(m, static_cast<unsigned>(m.cols));
}

template <class T>
class DeviceSweeps final : public Sweeps {
 public:
  DeviceSweeps(const Coo& x, const Dims& ranks, Solver solver)
      : ranks_(ranks),
        chains_(chains_of(x, ranks)),
        shapes_(shapes_of(chains_, ranks)),
        vectors_(shapes_, solver) {
    Count y = 0;
    for (const auto& shape : shapes_) {
      factors_.push_back(Buffer<T>(shape.rows * shape.rank));
      y = std::max(y, shape.rows * shape.columns);
    }
    y_ = Buffer<T>(y);
    core_ = Buffer<double>(ranks.back() * shapes_.back().columns);
    vectors_.use(stream_.get());
  }

  void begin(const std::vector<Matrix>& factors) override {
    for (std::size_t m = 0; m < factors.size(); ++m)
      factors_[m].upload(rows_of(factors[m].template view<T>()));
  }

  double run() override {
    for (std::size_t m = 0; m < chains_.size(); ++m) {
      chains_[m].run(factors_, ranks_, y_.data(), stream_.get());
      vectors_.write(shapes_[m], y_.data(), factors_[m].data(), [](const char*) {});
    }
    vectors_.project(shapes_.back(), y_.data(), core_.data());
    const double norm = vectors_.norm(core_.size(), core_.data());
    vectors_.check();
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
  static std::vector<Chain<T>> chains_of(const Coo& x, const Dims& ranks) {
    std::vector<Chain<T>> chains;
    for (int m = 0; m < x.order(); ++m) chains.emplace_back(x, m, ranks);
    return chains;
  }
  static std::vector<Unfolding> shapes_of(const std::vector<Chain<T>>& chains, const Dims& ranks) {
    std::vector<Unfolding> shapes;
    for (std::size_t m = 0; m < chains.size(); ++m)
      shapes.push_back({chains[m].rows(), chains[m].columns(), ranks[m]});
    return shapes;
  }

  const Dims ranks_;
  const device::Stream stream_;
  const std::vector<Chain<T>> chains_;
  const std::vector<Unfolding> shapes_;
  LeadingVectors<T> vectors_;
  std::vector<Buffer<T>> factors_;
  Buffer<T> y_;  // what the last chain left
  Buffer<double> core_;
};

/// HOOI's update of one factor: the TTM-chain, which is its result, and the leading left singular
/// vectors of that, which stay on the device.
template <class T>
class StepRun final : public CudaRun {
 public:
  StepRun(const Problem& problem, Solver solver)
      : CudaRun(problem, "chain_rows"),
        ranks_(ranks_of(problem)),
        chain_(problem.x(), problem.mode(), ranks_),
        shape_{
            chain_.rows(), chain_.columns(),
            std::min({ranks_[at(problem.mode())], Count{chain_.rows()}, Count{chain_.columns()}})},
        vectors_({shape_}, solver),
        y_(shape_.rows * shape_.columns),
        factor_(shape_.rows * shape_.rank) {
    for (const auto& u : problem.dense()) {
      factors_.push_back(Buffer<T>(rows_of(u.template view<T>())));
      count_bytes(factors_.back());
    }
    count_bytes(y_, factor_, chain_, vectors_);
    executed_["gram"] = std::to_string(shape_.side()) + " rows";
    executed_["vectors"] = std::to_string(shape_.rank);
  }

  /// The stages chain, gram, eigenvectors, factor.
  void run(StageTimer& timer) override {
    vectors_.use(stream_of(timer));
    timer.stage("chain");
    chain_.run(factors_, ranks_, y_.data(), stream_of(timer));
    vectors_.write(shape_, y_.data(), factor_.data(),
                   [&](const char* stage) { timer.stage(stage); });
  }

  Result result() override {
    vectors_.check();
    Matrix y(shape_.rows, shape_.columns, problem_.dtype());
    download_rows(y_, static_cast<unsigned>(shape_.columns), 0, y.view<T>());
    return y;
  }

  void refresh(int m) override {
    factors_[at(m)].upload(rows_of(problem_.dense()[at(m)].template view<T>()));
  }

 private:
  static std::size_t at(int mode) { return static_cast<std::size_t>(mode); }
  static Dims ranks_of(const Problem& problem) {
    Dims ranks;
    for (const auto& u : problem.dense()) ranks.push_back(u.cols());
    return ranks;
  }

  const Dims ranks_;
  const Chain<T> chain_;
  const Unfolding shape_;
  LeadingVectors<T> vectors_;
  std::vector<Buffer<T>> factors_;
  Buffer<T> y_, factor_;
};

}  // namespace

std::unique_ptr<Sweeps> device_sweeps(const Coo& x, const Dims& ranks, Solver solver) {
  if (x.order() < 2 || x.order() > kMostOthers + 1)
    throw InputError("tucker: found a tensor of order " + std::to_string(x.order()) +
                     ", expected 2 to 5 on the device");
  check_libraries();
  return dispatch(x.dtype(), [&]<class T>() -> std::unique_ptr<Sweeps> {
    return std::make_unique<DeviceSweeps<T>>(x, ranks, solver);
  });
}

std::unique_ptr<Prepared> prepare_step(const Problem& problem, const Params& params) {
  check_libraries();
  return make_typed_run<StepRun>(problem, solver_from_name(params.word("eigenvectors")));
}

}  // namespace retensor::tucker
