// CP-ALS sweeps on the device: a CUDA graph a sweep, in which the small systems of one mode are
// solved beside the MTTKRP of the next. Non-negative factors descend in place of being solved for.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/core/rng.hpp"
#include "common/decompose/descent_rows.cuh"
#include "common/decompose/factor_rows.cuh"
#include "common/decompose/starts.hpp"
#include "common/decompose/sweeps.hpp"
#include "common/decompose/systems.cuh"
#include "common/device/cuda.cuh"
#include "common/device/device.hpp"
#include "common/device/loops.cuh"
#include "common/run/lent_rows.cuh"

namespace retensor::cpd {
namespace {

using device::Buffer;

constexpr unsigned kBlocksOfSm = 4;  // of update_rows, as its registers allow
constexpr unsigned kSlots = 64;      // sweeps that the host may wait for at once

/// Orders work of one stream behind that of another.
class Mark {
 public:
  Mark() { RETENSOR_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Mark() { cudaEventDestroy(event_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  void order(cudaStream_t first, cudaStream_t then) {
    RETENSOR_CUDA_CHECK(cudaEventRecord(event_, first));
    RETENSOR_CUDA_CHECK(cudaStreamWaitEvent(then, event_));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// What a function launches on a stream, to be launched again.
class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& launch) {
    // Relaxed: methods that swap two buffers free an empty one, which the stricter modes refuse.
    RETENSOR_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    cudaGraph_t graph = nullptr;
    try {
      launch();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();  // of the capture that has failed: the exception tells why
      throw;
    }
    RETENSOR_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    const auto status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    RETENSOR_CUDA_CHECK(status);
  }
  ~Graph() { cudaGraphExecDestroy(graph_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cudaStream_t stream) const { RETENSOR_CUDA_CHECK(cudaGraphLaunch(graph_, stream)); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

/// Numbers of the host that kernels write.
class Told {
 public:
  Told() { RETENSOR_CUDA_CHECK(cudaHostAlloc(&data_, bytes(), cudaHostAllocMapped)); }
  ~Told() { cudaFreeHost(data_); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  double* data() { return data_; }

 private:
  static constexpr std::size_t bytes() { return 2 * kSlots * sizeof(double); }
  double* data_ = nullptr;
};

class StreamTimer final : public StageTimer {
 public:
  explicit StreamTimer(cudaStream_t stream) : stream_(stream) {}
  void start() override {}
  void stage(std::string_view) override {}
  StageTimes stop() override { return {}; }
  void* stream() const override { return stream_; }

 private:
  const cudaStream_t stream_;
};

/// A factor of signs, or uniform in [0, 1), as first_factors() draws it.
template <class T>
__global__ void draw_rows(CounterRng rng, bool signs, Count rows, unsigned rank, unsigned stride,
                          T* a) {
  device::for_each_of_grid(rows * rank, [=](Count k) {
    const double drawn = rng.uniform(k);
    a[k / rank * stride + k % rank] = static_cast<T>(!signs ? drawn : drawn < 0.5 ? -1 : 1);
  });
}

template <class T>
class DeviceSweeps final : public Sweeps {
 public:
  DeviceSweeps(const Problem& passes, Prepared& mttkrp, std::shared_ptr<LentRows<T>> rows,
               double norm, Constraint constraint)
      : problem_(passes),
        mttkrp_(mttkrp),
        lent_(std::move(rows)),
        run_(*lent_),
        norm_(norm),
        descends_(constraint == Constraint::nonnegative),
        rank_(static_cast<unsigned>(passes.rank())),
        stride_(run_.stride()),
        columns_(rank_ <= 16 ? 16 : 32),
        chunks_((rank_ + columns_ - 1) / columns_),
        width_(chunks_ * columns_),
        blocks_(kBlocksOfSm * static_cast<unsigned>(device::facts().sms)),
        grams_(order() * square()),
        result_gram_(square()),
        norms_(order() * width_),
        scales_(order() * width_),
        weights_(width_),
        products_(width_),
        room_(2 * Count{rank_} * rank_),
        gram_parts_(Count{pairs()} * blocks_ * columns_ * columns_),
        product_parts_(Count{chunks_} * blocks_ * columns_),
        coefficients_(descends_ ? 3 * width_ : 0),
        w_(square()),
        told_count_(1) {
    w_.zero(nullptr);
    for (auto* columns : {&norms_, &scales_, &weights_, &products_}) columns->zero(nullptr);
    const Count shared = bytes_of_columns(rank_, passes.x().order());
    const Count system = Count{rank_} * rank_ * sizeof(double);
    in_shared_ = shared + system <= device::kSharedOfEveryChip - 1024;
    shared_ = static_cast<unsigned>(shared + (in_shared_ ? system : 0));
    for (const void* kernel : {reinterpret_cast<const void*>(prepare_mode<T>),
                               reinterpret_cast<const void*>(prepare_descent<T>),
                               reinterpret_cast<const void*>(prepare_orthonormal<T>)})
      RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(shared_)));
    // Before the capture, in which nothing may be loaded, every kernel has run. Methods that move
    // records between two copies are back at the first after two sweeps.
    take_in(nullptr);  // the factors that the run was prepared with
    for (const Kind kind : {Kind::first, Kind::solve}) launch_sweep(kind);
    main_.synchronise();
    const auto capture = [this](Kind kind, std::size_t odd) {
      graphs_[odd][static_cast<std::size_t>(kind)] =
          std::make_unique<Graph>(main_.get(), [this, kind] { launch_sweep(kind); });
    };
    capture(Kind::solve, 0), capture(Kind::first, 1);
    capture(Kind::first, 0), capture(Kind::solve, 1);
  }

  void begin(const std::vector<Matrix>& factors, const std::vector<double>* weights) override {
    for (int m = 0; m < problem_.x().order(); ++m)
      upload(factors[static_cast<std::size_t>(m)].template view<T>(), m);
    take_in(weights);
  }

  /// Numbers that take no functions whose last bit differs from the host's.
  bool draw(Start law, std::uint64_t seed) override {
    const bool signs = law == Start::signs || law == Start::spread;
    if (!signs && law != Start::uniform) return false;
    for (int m = 0; m < problem_.x().order(); ++m)
      RETENSOR_CUDA_LAUNCH(draw_rows<T>, device::blocks_for(rows(m) * rank_, kThreads, 1U << 16),
                           kThreads, 0, nullptr, CounterRng(seed, static_cast<std::uint64_t>(m)),
                           signs, rows(m), rank_, stride_, run_.factor(m));
    take_in(nullptr);
    return true;
  }

  void spread(StageTimer& timer) override {
    const auto stream = stream_of(timer);
    launch(Kind::first, stream);
    RETENSOR_CUDA_CHECK(cudaStreamSynchronize(stream));
    ++told_so_far_;
  }

  void run(StageTimer& timer, std::span<double> fit) override {
    const auto stream = stream_of(timer);
    for (std::size_t first = 0; first < fit.size(); first += kSlots) {
      const auto some = fit.subspan(first, std::min<std::size_t>(kSlots, fit.size() - first));
      for (std::size_t s = 0; s < some.size(); ++s) launch(Kind::solve, stream);
      RETENSOR_CUDA_CHECK(cudaStreamSynchronize(stream));
      for (double& after : some) {
        const double* const slot = told_.data() + 2 * (told_so_far_++ % kSlots);
        after = fit_of(norm_, slot[0], slot[1]);
      }
    }
  }

  void fetch(KruskalModel& model) override {
    const auto weights = weights_.to_host(), norms = norms_.to_host();
    std::copy_n(weights.begin(), rank_, model.weights.begin());
    for (int m = 0; m < problem_.x().order(); ++m) {
      const auto to = model.factors[static_cast<std::size_t>(m)].template view<T>();
      RETENSOR_CUDA_CHECK(cudaMemcpy2D(to.data, to.ld * sizeof(T), run_.factor(m),
                                       stride_ * sizeof(T), rank_ * sizeof(T), to.rows,
                                       cudaMemcpyDeviceToHost));
      const double* const norm = &norms[static_cast<std::size_t>(m) * width_];
      for (std::uint64_t i = 0; i < to.rows; ++i)
        for (unsigned r = 0; r < rank_; ++r)
          if (norm[r] > 0) to(i, r) = static_cast<T>(static_cast<double>(to(i, r)) / norm[r]);
    }
  }

 private:
  /// Of a sweep: updates; or what may stand before the first, the orthonormal matrix next to the
  /// MTTKRP of each mode (Sweeps::spread), of non-negative factors their scale alone.
  enum class Kind { solve, first };
  void upload(MatrixView<const T> from, int mode) {
    T* const to = run_.factor(mode);
    // What pads the rows is zero from the preparation on. Rows without gaps are one copy: of single
    // ones the driver makes many.
    if (from.ld == stride_ && rank_ == stride_)
      RETENSOR_CUDA_CHECK(
          cudaMemcpy(to, from.data, from.rows * stride_ * sizeof(T), cudaMemcpyHostToDevice));
    else
      RETENSOR_CUDA_CHECK(cudaMemcpy2D(to, stride_ * sizeof(T), from.data, from.ld * sizeof(T),
                                       rank_ * sizeof(T), from.rows, cudaMemcpyHostToDevice));
  }

  /// Begins with the factors on the device.
  void take_in(const std::vector<double>* weights) {
    for (int m = 0; m < problem_.x().order(); ++m) {
      launch_gram(run_.factor(m), m, nullptr);
      add_up(m, pairs(), gram(m), nullptr);
    }
    prepare(-1, 0, nullptr);
    if (descends_ && weights != nullptr) {
      auto padded = *weights;
      padded.resize(width_);
      weights_.upload(padded);
      weigh_start(false, nullptr);
    }
    const bool captured = graphs_[0][0] != nullptr;
    if (descends_ && weights == nullptr && captured) launch(Kind::first, nullptr);
    RETENSOR_CUDA_CHECK(cudaStreamSynchronize(nullptr));
    told_so_far_ = 0;
  }

  void launch(Kind kind, cudaStream_t stream) {
    graphs_[sweeps_++ % 2][static_cast<std::size_t>(kind)]->launch(stream);
  }

  Count order() const { return problem_.x().dims.size(); }
  Count square() const { return Count{width_} * width_; }
  unsigned pairs() const { return chunks_ * (chunks_ + 1) / 2; }
  std::uint64_t rows(int mode) const { return problem_.x().dims[static_cast<std::size_t>(mode)]; }
  double* gram(int mode) { return grams_.data() + static_cast<Count>(mode) * square(); }

  /// Thread blocks over the rows of a mode; several chunks of columns share out the device.
  unsigned blocks(int mode) const {
    const Count tiles = device::blocks_for(rows(mode), 512 / sizeof(T));
    return static_cast<unsigned>(std::min<Count>(tiles, std::max(blocks_ / pairs(), 16u)));
  }

  /// Calls f<columns of a chunk>().
  template <class F>
  void with_columns(F&& f) {
    columns_ == 16 ? f.template operator()<16>() : f.template operator()<32>();
  }

  /// A sweep on the main stream, which W of mode 0 and what the fit takes join at its end.
  void launch_sweep(Kind kind) {
    if (descends_ && kind == Kind::first) return launch_scale();
    StreamTimer timer(main_.get());
    const int last = problem_.x().order() - 1;
    for (int mode = 0; mode <= last; ++mode) {
      mttkrp_.passes()->run_mode(mode, timer);
      if (mode > 0) joins_[static_cast<std::size_t>(mode)].order(side_.get(), main_.get());
      if (kind == Kind::first) prepare_spread(mode, main_.get());
      if (descends_)
        launch_descent(mode, true, main_.get());
      else
        launch_update(mode, main_.get());
      forks_[static_cast<std::size_t>(mode)].order(main_.get(), side_.get());
      if (chunks_ > 1 || descends_) launch_gram(run_.factor(mode), mode, side_.get());
      add_up(mode, pairs() + chunks_, gram(mode), side_.get());
      prepare(mode, mode == last ? 0 : mode + 1, side_.get());
    }
    joins_[0].order(side_.get(), main_.get());
  }

  /// Passes over all modes, since some methods move records from each to the next; weights follow
  /// from the first.
  void launch_scale() {
    StreamTimer timer(main_.get());
    for (int mode = 0; mode < problem_.x().order(); ++mode) {
      mttkrp_.passes()->run_mode(mode, timer);
      if (mode > 0) continue;
      launch_descent(mode, false, main_.get());
      launch_gram(run_.factor(mode), mode, main_.get());
      add_up(mode, pairs() + chunks_, gram(mode), main_.get());
      weigh_start(true, main_.get());
    }
  }

  /// Weights of the factors that were loaded, and what the first update takes.
  void weigh_start(bool nearest, cudaStream_t stream) {
    RETENSOR_CUDA_LAUNCH(weigh<T>, 1, kSystemThreads, 0, stream, system(), nearest);
    prepare(-1, 0, stream);
  }

  void launch_descent(int mode, bool moves, cudaStream_t stream) {
    const Descent<T> x{.m = run_.left_by(mode),
                       .v = w_.data(),
                       .coefficients = coefficients_.data(),
                       .rows = rows(mode),
                       .stride = stride_,
                       .rank = rank_,
                       .width = width_,
                       .chunk = columns_,
                       .moves = moves,
                       .a = run_.factor(mode),
                       .product_parts = product_parts_.data()};
    const auto launch = [&]<unsigned K>() {
      RETENSOR_CUDA_LAUNCH((descend_rows<T, K>), blocks(mode), kThreads, 0, stream, x);
    };
    if (rank_ <= 32)
      launch.template operator()<1>();
    else if (rank_ <= 128)
      launch.template operator()<4>();
    else
      launch.template operator()<kMostDescended / 32>();
  }

  void launch_update(int mode, cudaStream_t stream) {
    Update<T> x{.m = run_.left_by(mode),
                .w = w_.data(),
                .rows = rows(mode),
                .stride = stride_,
                .chunks = chunks_,
                .a = run_.factor(mode),
                .product_parts = product_parts_.data(),
                .gram_parts = gram_parts_.data()};
    with_columns([&]<unsigned C>() {
      const dim3 grid(blocks(mode), chunks_);
      if (chunks_ == 1)
        RETENSOR_CUDA_LAUNCH((update_rows<T, C>), grid, kThreads, 0, stream, x);
      else
        RETENSOR_CUDA_LAUNCH((update_chunks<T, C>), grid, kThreads, 0, stream, x);
    });
  }

  void launch_gram(const T* of, int mode, cudaStream_t stream) {
    with_columns([&]<unsigned C>() {
      const dim3 grid(blocks(mode), pairs());
      RETENSOR_CUDA_LAUNCH((gram_of_rows<T, C>), grid, kThreads, 0, stream, of, rows(mode), stride_,
                           gram_parts_.data());
    });
  }

  /// The Gram matrix, and with more `sums` than its pairs of chunks the products.
  void add_up(int mode, unsigned sums, double* gram, cudaStream_t stream) {
    with_columns([&]<unsigned C>() {
      const dim3 grid(C * C / 32, sums);
      RETENSOR_CUDA_LAUNCH(add_parts<C>, grid, 32 * kAdders, 0, stream, gram_parts_.data(),
                           product_parts_.data(), blocks(mode), pairs(), width_, gram,
                           products_.data());
    });
  }

  System<T> system() {
    return {.rank = rank_,
            .width = width_,
            .order = problem_.x().order(),
            .grams = grams_.data(),
            .norms = norms_.data(),
            .scales = scales_.data(),
            .weights = weights_.data(),
            .products = products_.data(),
            .room = room_.data(),
            .w = w_.data(),
            .told = told_.data(),
            .told_count = told_count_.data(),
            .slots = kSlots};
  }

  void prepare(int updated, int next, cudaStream_t stream) {
    if (descends_)
      RETENSOR_CUDA_LAUNCH(prepare_descent<T>, 1, kSystemThreads, shared_, stream, system(),
                           updated, next, coefficients_.data());
    else
      RETENSOR_CUDA_LAUNCH(prepare_mode<T>, 1, kSystemThreads, shared_, stream, system(), updated,
                           next, in_shared_);
  }

  /// W of the orthonormal matrix next to what the pass over the mode left.
  void prepare_spread(int mode, cudaStream_t stream) {
    launch_gram(run_.left_by(mode), mode, stream);
    add_up(mode, pairs(), result_gram_.data(), stream);
    RETENSOR_CUDA_LAUNCH(prepare_orthonormal<T>, 1, kSystemThreads, shared_, stream, system(),
                         result_gram_.data(), in_shared_);
  }

  const Problem& problem_;
  Prepared& mttkrp_;
  const std::shared_ptr<LentRows<T>> lent_;
  LentRows<T>& run_;
  const double norm_;  // of the tensor
  const bool descends_;
  const unsigned rank_, stride_, columns_, chunks_, width_;
  const unsigned blocks_;  // of a launch over rows, at most
  Buffer<double> grams_, result_gram_, norms_, scales_, weights_, products_, room_;
  Buffer<double> gram_parts_, product_parts_, coefficients_;
  Buffer<T> w_;
  Buffer<unsigned> told_count_;
  Told told_;
  unsigned shared_ = 0;  // bytes of prepare_mode
  bool in_shared_ = false;
  device::Stream main_, side_;  // of the capture
  std::array<Mark, kMaxOrder> forks_, joins_;
  std::array<std::array<std::unique_ptr<Graph>, 2>, 2> graphs_;  // [odd sweep][kind]
  std::size_t sweeps_ = 0, told_so_far_ = 0;
};

}  // namespace

std::unique_ptr<Sweeps> device_sweeps(const Problem& passes, Prepared& mttkrp, double norm,
                                      Constraint constraint) {
  if (constraint == Constraint::nonnegative && passes.rank() > kMostDescended) return nullptr;
  return dispatch(passes.dtype(), [&]<class T>() -> std::unique_ptr<Sweeps> {
    auto rows = lent_rows<T>(mttkrp);
    if (rows == nullptr) return nullptr;
    return std::make_unique<DeviceSweeps<T>>(passes, mttkrp, std::move(rows), norm, constraint);
  });
}

}  // namespace retensor::cpd
