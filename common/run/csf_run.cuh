// What MTTKRP on CSF shares on the device (B-CSF, FWC, MM-CSF): trees, the sum of a fiber, the run
// on one tree.
//
// A group of 4, 8 or 16 lanes takes the part that a warp has in the originals, where a lane is a
// column of the factors: here a lane holds 16 bytes of a row, so that a warp works on 2 to 8 fibers
// side by side. Wider rows are tiled by blockIdx.y.
//
// A fiber's nodes in the levels above are stored beside its own, an index per fiber and level: any
// group can take any fiber without a walk down the tree.
#pragma once

#include <vector>

#include "common/device/loops.cuh"
#include "common/device/vec.cuh"
#include "common/formats/csf.hpp"
#include "common/run/cuda_run.cuh"

namespace retensor::csf {

using device::group_of_grid;
using device::Vec;

inline constexpr unsigned kThreads = 256;  // a block

/// One tree and what one output mode makes of it. Rows of the factors and of `out` are `stride`
/// elements apart, whole 16-byte vectors, padded with zeros.
template <class T>
struct Tree {
  const Count* start = nullptr;           ///< [fiber], fibers + 1
  const Index* upper[kMaxOther] = {};     ///< [fiber] of each level above the leaves ...
  const T* upper_factor[kMaxOther] = {};  ///< ... that is not the output's
  const Index* row = nullptr;             ///< [fiber] output row, null where leaves are it
  const Index* leaf = nullptr;            ///< [nonzero]
  const T* leaf_factor = nullptr;         ///< null where leaves are the output rows
  const T* value = nullptr;
  T* out = nullptr;
  Count fibers = 0;
  unsigned stride = 0;
  int uppers = 0;
};

/// The 16 bytes of a row that a thread holds. Lanes past the row repeat its first 16 bytes, so that
/// they take part in shuffles; they write nothing.
template <class T, int kLanes>
struct Lane {
  unsigned column;
  bool inside;
  const unsigned stride;

  __device__ explicit Lane(unsigned row_stride) : stride(row_stride) {
    const unsigned at = device::RowLane<T, kLanes>().column;
    inside = at < stride;
    column = inside ? at : 0;
  }
  __device__ Vec<T> load(const T* rows, Index row) const {
    return Vec<T>::load(rows + static_cast<Count>(row) * stride + column);
  }
  __device__ void reduce(const Vec<T>& v, T* rows, Index row) const {
    if (inside) v.reduce_into(rows + static_cast<Count>(row) * stride + column);
  }
};

/// The factor rows of a fiber's upper levels, loaded side by side and multiplied when they are
/// needed. kUppers levels are unrolled; 0 reads their number at run time.
template <class T, int kLanes, int kUppers>
struct UpperRows {
  static constexpr int kLevels = kUppers > 0 ? kUppers : kMaxOther;
  const int levels;
  Vec<T> row[kLevels];

  __device__ UpperRows(const Tree<T>& x, const Lane<T, kLanes>& lane, Count fiber)
      : levels(kUppers > 0 ? kUppers : x.uppers) {
#pragma unroll
    for (int k = 0; k < kLevels; ++k)
      if (k < levels) row[k] = lane.load(x.upper_factor[k], __ldg(x.upper[k] + fiber));
  }
  __device__ void multiply(Vec<T>& v) const {
#pragma unroll
    for (int k = 0; k < kLevels; ++k)
      if (k < levels) v.multiply(row[k]);
  }
};

/// The sum of a fiber's nonzeros times their rows, times the rows of its upper levels.
template <class T, int kLanes, int kUppers>
__device__ Vec<T> fiber_sum(const Tree<T>& x, const Lane<T, kLanes>& lane, Count fiber) {
  const Count end = __ldg(x.start + fiber + 1);
  const UpperRows<T, kLanes, kUppers> upper(x, lane, fiber);
  auto sum = Vec<T>::splat(T(0));
#pragma unroll 4
  for (Count p = __ldg(x.start + fiber); p < end; ++p)
    sum.fma(Vec<T>::splat(__ldg(x.value + p)), lane.load(x.leaf_factor, __ldg(x.leaf + p)));
  upper.multiply(sum);
  return sum;
}

/// A tree's arrays on the device. Without `roots` the level of the root is left out.
template <class T>
class DeviceTree {
 public:
  DeviceTree(const Csf& f, bool roots)
      : modes_(f.modes),
        start_(f.start.back()),
        leaf_(f.index.back()),
        value_(f.values.template as<T>()) {
    const int fibers = f.order() - 2;
    for (int l = 0; l <= fibers; ++l)
      level_.push_back(l == 0 && !roots ? device::Buffer<Index>()
                                        : device::Buffer<Index>(f.ancestors(l, fibers)));
  }

  const Count* start() const { return start_.data(); }
  const T* value() const { return value_.data(); }
  Count fibers() const { return start_.size() - 1; }
  /// Of a mode: [fiber], or [nonzero] where it is that of the leaves.
  const Index* indices(int mode) const {
    const auto level = static_cast<std::size_t>(std::ranges::find(modes_, mode) - modes_.begin());
    return level < level_.size() ? level_[level].data() : leaf_.data();
  }

  Count bytes() const {
    Count total = start_.bytes() + leaf_.bytes() + value_.bytes();
    for (const auto& level : level_) total += level.bytes();
    return total;
  }

  /// factor(mode) points to the rows of a mode that is not the output's.
  template <class Factor>
  Tree<T> view(int output, unsigned stride, T* out, Factor&& factor) const {
    Tree<T> x;
    x.start = start_.data(), x.leaf = leaf_.data(), x.value = value_.data();
    x.fibers = fibers(), x.stride = stride, x.out = out;
    for (std::size_t l = 0; l < level_.size(); ++l) {
      if (modes_[l] == output) {
        x.row = level_[l].data();
        continue;
      }
      x.upper[x.uppers] = level_[l].data();
      x.upper_factor[x.uppers++] = factor(modes_[l]);
    }
    if (modes_.back() != output) x.leaf_factor = factor(modes_.back());
    return x;
  }

 private:
  std::vector<int> modes_;
  device::Buffer<Count> start_;
  std::vector<device::Buffer<Index>> level_;
  device::Buffer<Index> leaf_;
  device::Buffer<T> value_;
};

/// Calls f<kLanes, kUppers>() as a tree's kernels are instantiated.
template <class T, class F>
void with_shape(const Tree<T>& x, F&& f) {
  device::with_lanes<T>(x.stride, [&]<int kLanes>() {
    with_others(x.uppers, [&]<int kUppers>() { f.template operator()<kLanes, kUppers>(); });
  });
}

/// Blocks for so many threads in x, tiles of columns in y.
template <class T, int kLanes>
dim3 grid_for(Count threads, unsigned stride) {
  constexpr unsigned kColumns = kLanes * Vec<T>::kWidth;
  return {device::blocks_for(threads, kThreads), (stride + kColumns - 1) / kColumns};
}

/// A run of one mode on the tree whose root it is.
template <class T>
class TreeRun : public CudaMttkrpRun<T> {
 public:
  TreeRun(const Problem& problem, std::string kernel, const Csf& f, bool roots)
      : CudaMttkrpRun<T>(problem, std::move(kernel)),
        tree_(f, roots),
        x_(tree_.view(problem.mode(), this->stride_, this->out_.data(),
                      [this](int mode) { return this->factor(mode); })) {
    this->executed_["fibers"] = std::to_string(f.fibers());
    this->count_bytes(tree_);
  }

 private:
  const DeviceTree<T> tree_;

 protected:
  const Tree<T> x_;
};

}  // namespace retensor::csf
