// MTTKRP on compressed sparse fibers with OpenMP, the output's mode at the root (S. Smith, N.
// Ravindran, N. D. Sidiropoulos, G. Karypis: "SPLATT: efficient and parallel sparse tensor-matrix
// multiplication", IPDPS 2015; S. Smith, G. Karypis, IA3 2015, for orders above 3).
//
// A thread takes neighbouring slices of about as many nonzeros as the others. The rows of a fiber's
// nonzeros, each times its value, add up to a row that is then multiplied by the fiber's; so on up
// to the slice, whose row no other thread writes. The rank is a run-time value, as it is there.
#include <algorithm>
#include <vector>

#include "common/formats/csf.hpp"
#include "common/run/cpu_run.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor::splatt {
namespace {

/// A tree with the factor of each level below the root.
template <class T>
struct Tree {
  const Csf& x;
  std::vector<MatrixView<const T>> factor;  ///< by level; the root's is not read
  const T* value;
  Count rank;

  const T* row_of(std::size_t level, Count node) const {
    return factor[level].row(x.index[level][node]);
  }
};

template <class T>
inline void add_scaled(T* __restrict sum, const T* __restrict row, T by, Count rank) {
  for (Count r = 0; r < rank; ++r) sum[r] += by * row[r];
}

template <class T>
inline void add_product(T* __restrict sum, const T* __restrict a, const T* __restrict b,
                        Count rank) {
  for (Count r = 0; r < rank; ++r) sum[r] += a[r] * b[r];
}

/// Adds what the children of a node come to, each without the node's own row; `room` has a row for
/// each level below theirs.
template <class T>
void add_children(const Tree<T>& tree, std::size_t level, Count node, T* sum, T* room) {
  const auto below = level + 1;
  const Count first = tree.x.start[level][node], end = tree.x.start[level][node + 1];
  if (below + 1 == tree.x.modes.size()) {
    for (Count leaf = first; leaf < end; ++leaf)
      add_scaled(sum, tree.row_of(below, leaf), tree.value[leaf], tree.rank);
    return;
  }
  for (Count child = first; child < end; ++child) {
    std::fill_n(room, tree.rank, T{0});
    add_children(tree, below, child, room, room + tree.rank);
    add_product(sum, room, tree.row_of(below, child), tree.rank);
  }
}

/// The first slice of each thread and the end: neighbours of about as many nonzeros.
std::vector<Count> shares_of(const Csf& x, int threads) {
  std::vector<Count> leaf = x.start.front();  // where each slice begins
  for (std::size_t level = 1; level < x.start.size(); ++level)
    for (Count& node : leaf) node = x.start[level][node];
  std::vector<Count> first;
  for (int t = 0; t <= threads; ++t) {
    const Count share = x.nnz() * static_cast<Count>(t) / static_cast<Count>(threads);
    first.push_back(
        static_cast<Count>(std::lower_bound(leaf.begin(), leaf.end(), share) - leaf.begin()));
  }
  return first;
}

template <class T>
class Run final : public CpuRun {
 public:
  Run(const Problem& problem, int threads)
      : CpuRun(problem, threads, "SPLATT's MTTKRP on compressed sparse fibers"),
        x_(to_csf(problem.x(), {levels_below(problem.mode(), problem.x().dims), 0})),
        out_(problem.x().dims[static_cast<std::size_t>(problem.mode())], problem.rank(),
             problem.dtype()),
        share_(shares_of(x_, threads)),
        room_(static_cast<std::size_t>(threads) * room_of_thread(), T{0}) {
    for (const int mode : x_.modes)
      tree_.factor.push_back(problem.dense()[static_cast<std::size_t>(mode)].view<T>());
    executed_["fibers"] = std::to_string(x_.fibers());
    format_bytes_ = x_.bytes();
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    const auto out = out_.view<T>();
    std::fill_n(out.data, out.rows * out.ld, T{0});
    const std::vector<Index>& slice = x_.index.front();
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (int t = 0; t < threads_; ++t) {
      const auto at = static_cast<std::size_t>(t);
      for (Count s = share_[at]; s < share_[at + 1]; ++s)
        add_children(tree_, 0, s, out.row(slice[s]), &room_[at * room_of_thread()]);
    }
  }

  Result result() override {
    return out_;
  }

 private:
  /// A row for each level, and a cache line's distance to the next thread's.
  std::size_t room_of_thread() const {
    return problem_.rank() * x_.modes.size() + kApart;
  }
  static constexpr std::size_t kApart = 64 / sizeof(T);

  const Csf x_;
  Matrix out_;
  const std::vector<Count> share_;
  Tree<T> tree_{x_, {}, x_.values.template as<T>().data(), problem_.rank()};
  std::vector<T> room_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_cpu(const Problem& problem, const Params& params) {
  const int threads = thread_count(params);
  if (problem.dtype() == DType::f32) return std::make_unique<Run<float>>(problem, threads);
  return std::make_unique<Run<double>>(problem, threads);
}

}  // namespace retensor::splatt
