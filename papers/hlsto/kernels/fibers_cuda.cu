// The runs of hlsto.cuda.fibers; the kernels stand in fibers_cuda.cuh.
#include "papers/hlsto/kernels/fibers_cuda.cuh"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/device/device.hpp"
#include "common/device/shared.cuh"
#include "common/run/modes_run.cuh"
#include "papers/hlsto/format/chain.hpp"
#include "papers/hlsto/format/fiber_groups_device.cuh"
#include "papers/hlsto/kernels/hlsto_cuda.hpp"

namespace retensor::hlsto {
namespace {

using device::Buffer;
using FiberKernel = void (*)(FiberPass);

constexpr unsigned kWarps = kFiberThreads / 32;

/// Where every warp begins: the warps of a segment's blocks take steps as equally as whole groups
/// allow.
struct Shares {
  std::vector<std::uint32_t> first, segment;
};

Shares shares_of(const DeviceFiberGroups& f, Count blocks) {
  Shares made;
  const Count steps = std::max<Count>(f.steps(), 1);
  for (std::uint32_t s = 0; s + 1 < f.segment.size(); ++s) {
    const auto group = f.first_steps.begin() + f.segment[s];
    const auto end = f.first_steps.begin() + f.segment[s + 1];
    const Count begin = *group, mine = *end - begin;
    const Count warps = kWarps * std::max<Count>(1, (blocks * mine + steps / 2) / steps);
    for (Count w = 0; w < warps; ++w)
      made.first.push_back(static_cast<std::uint32_t>(
          std::lower_bound(group, end, begin + mine * w / warps) - f.first_steps.begin()));
    made.segment.insert(made.segment.end(), warps / kWarps, s);
  }
  made.first.push_back(static_cast<std::uint32_t>(f.groups()));
  return made;
}

/// The groups of one output mode on the device.
class GroupsOnDevice {
 public:
  GroupsOnDevice(const DeviceCoo& x, int mode, int leaf, unsigned columns, int parts)
      : leaf_(leaf), shared_row_(bytes_of_leaf(columns, parts)) {
    const auto limits = device::facts();
    const Count rows = x.dims[at(leaf)], most = limits.shared_per_block / shared_row_;
    const Count segments = (rows + most - 1) / most;
    DeviceFiberGroups f =
        to_fiber_groups(x, {.mode = mode,
                            .leaf = leaf,
                            .form = parts == 0 ? GroupForm::side_by_side : GroupForm::summed,
                            .segment_rows = (rows + segments - 1) / segments,
                            .row_vectors = columns / 8});
    const Shares shares = shares_of(f, static_cast<Count>(limits.sms));
    share_ = Buffer<std::uint32_t>(shares.first);
    segment_ = Buffer<std::uint32_t>(shares.segment);
    pass_.segment_rows = static_cast<unsigned>(f.options.segment_rows);
    uppers_ = std::move(f.uppers);
    code_ = std::move(f.code), selector_ = std::move(f.selector), value_ = std::move(f.value);
    if (parts == 2) rest_ = std::move(f.rest);
    first_ = std::move(f.first), row_ = std::move(f.row), upper_ = std::move(f.upper);
    pass_.code = code_.data(), pass_.selector = selector_.data();
    pass_.value = reinterpret_cast<const uint4*>(value_.data());
    pass_.rest = reinterpret_cast<const uint4*>(rest_.data());
    pass_.first = first_.data(), pass_.row = row_.data(), pass_.upper = upper_.data();
    pass_.share = share_.data(), pass_.segment = segment_.data();
    pass_.leaf_rows = static_cast<unsigned>(rows);
    pass_.others = static_cast<int>(uppers_.size());
  }

  const FiberPass& pass() const { return pass_; }
  int leaf() const { return leaf_; }
  const std::vector<int>& uppers() const { return uppers_; }
  unsigned blocks() const { return static_cast<unsigned>(segment_.size()); }
  Count shared() const { return pass_.segment_rows * shared_row_; }
  Count bytes() const {
    return code_.bytes() + selector_.bytes() + value_.bytes() + rest_.bytes() + first_.bytes() +
           row_.bytes() + upper_.bytes() + share_.bytes() + segment_.bytes();
  }

  void launch(FiberKernel kernel, unsigned y, unsigned z, cudaStream_t stream,
              const FiberPass& pass) const {
    RETENSOR_CUDA_LAUNCH(kernel, dim3(blocks(), y, z), kFiberThreads, shared(), stream, pass);
  }

 private:
  static std::size_t at(int mode) { return static_cast<std::size_t>(mode); }

  const int leaf_;
  const Count shared_row_;
  std::vector<int> uppers_;
  Buffer<std::uint16_t> code_, selector_;
  Buffer<std::uint32_t> value_, rest_, first_, share_, segment_;
  Buffer<Index> row_, upper_;
  FiberPass pass_;
};

template <int kOthers>
FiberKernel sum_kernel(int parts) {
  return parts == 0   ? sum_in_single<kOthers>
         : parts == 1 ? sum_fibers<1, kOthers>
                      : sum_fibers<2, kOthers>;
}

FiberKernel sum_kernel(int parts, int others) {
  return others == 1   ? sum_kernel<1>(parts)
         : others == 2 ? sum_kernel<2>(parts)
                       : sum_kernel<0>(parts);
}

/// MTTKRP of one mode or of all, a copy of the tensor for each.
class FiberModesRun : public CudaModesRun<float> {
 public:
  FiberModesRun(const Problem& problem, int parts)
      : CudaModesRun(problem, "fibers, leaf rows in shared memory"),
        kernel_(sum_kernel(parts, problem.x().order() - 2)),
        columns_((rank() + kSumColumns - 1) / kSumColumns) {
    device::allow_all_shared(kernel_);
    groups_ = made_on_device(problem.x(), executed_, [&](const DeviceCoo& x) {
      const auto leaves = longest_fibers(x);
      std::vector<std::optional<GroupsOnDevice>> made(x.dims.size());
      for (const int m : modes_) made[at(m)].emplace(x, m, leaves[at(m)], kSumColumns, parts);
      return made;
    });
    std::string told;
    for (const int m : modes_) {
      count_bytes(*groups_[at(m)]);
      if (!told.empty()) told += ' ';
      told += std::to_string(groups_[at(m)]->leaf() + 1);
    }
    executed_["modes of the leaves"] = told;
    if (parts == 1) executed_["class"] = "f16 gather";
  }

 private:
  void pass(int mode, cudaStream_t stream) override {
    const GroupsOnDevice& groups = *groups_[at(mode)];
    FiberPass x = groups.pass();
    x.leaf = factors_[at(groups.leaf())].data();
    for (int k = 0; k < x.others; ++k) x.other[k] = factors_[at(groups.uppers()[at(k)])].data();
    x.leaf_stride = x.other_stride = x.width = stride_;
    x.out = rows_of(mode);
    groups.launch(kernel_, columns_, 1, stream, x);
  }

  const FiberKernel kernel_;
  const unsigned columns_;                             // blocks of them
  std::vector<std::optional<GroupsOnDevice>> groups_;  // by mode
};

/// TTM-chain of order 3.
class FiberChainRun : public CudaSumRun<float> {
 public:
  FiberChainRun(const Problem& problem, int parts)
      : CudaSumRun(problem, "fibers, leaf rows in shared memory", Chain(problem).width),
        chain_(problem),
        groups_(made_on_device(problem.x(), executed_,
                               [&](const DeviceCoo& x) {
                                 const int leaf = longest_fibers(x)[hlsto::at(chain_.mode)];
                                 return GroupsOnDevice(x, chain_.mode, leaf, kChainColumns, parts);
                               })),
        kernel_(parts == 1 ? kernel<1>() : kernel<2>()),
        rows_(problem.x().dims.size()),
        x_(groups_.pass()) {
    device::allow_all_shared(kernel_);
    set_rows(groups_.leaf()), set_rows(other());
    x_.out = out_.data(), x_.width = static_cast<unsigned>(chain_.width);
    x_.leaf_columns = columns(groups_.leaf()), x_.other_columns = columns(other());
    x_.leaf_step = step(groups_.leaf()), x_.other_step = step(other());
    count_bytes(groups_);
    for (const auto& rows : rows_) count_bytes(rows);
    executed_["modes of the leaves"] = std::to_string(groups_.leaf() + 1);
  }

  void refresh(int m) override {
    if (m != chain_.mode) set_rows(m);
  }
  Result result() override {
    Matrix matrix(rows(), chain_.width, problem_.dtype());
    out_.download(matrix.values().as<float>());
    return matrix;
  }

 private:
  template <int kParts>
  FiberKernel kernel() const {
    const bool at_once = step(other()) == 1 && columns(other()) % 4 == 0;
    return at_once ? chain_fibers<kParts, true> : chain_fibers<kParts, false>;
  }
  int other() const { return groups_.uppers().front(); }
  unsigned columns(int m) const { return static_cast<unsigned>(chain_.columns(m)); }
  unsigned step(int m) const { return static_cast<unsigned>(chain_.stride[hlsto::at(m)]); }
  static unsigned tiles(unsigned columns) { return (columns + kChainColumns - 1) / kChainColumns; }

  void set_rows(int m) {
    const unsigned stride = tiles(columns(m)) * kChainColumns;
    rows_[hlsto::at(m)] = upload_padded(chain_.factor[hlsto::at(m)], stride);
    const bool leaf = m == groups_.leaf();
    (leaf ? x_.leaf : x_.other[0]) = rows_[hlsto::at(m)].data();
    (leaf ? x_.leaf_stride : x_.other_stride) = stride;
  }

  void launch(cudaStream_t stream) override {
    groups_.launch(kernel_, tiles(x_.leaf_columns), tiles(x_.other_columns), stream, x_);
  }

  const Chain chain_;
  const GroupsOnDevice groups_;
  const FiberKernel kernel_;
  std::vector<Buffer<float>> rows_;  // by mode
  FiberPass x_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_fibers_cuda(const Problem& problem, const Params& params) {
  const std::string& precision = params.word("precision");
  const int parts = precision == "f32" ? 0 : precision == "fp16" ? 1 : 2;
  if (problem.operation() == Operation::ttm_chain)
    return std::make_unique<FiberChainRun>(problem, parts);
  return std::make_unique<FiberModesRun>(problem, parts);
}

}  // namespace retensor::hlsto
