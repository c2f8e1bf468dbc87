// Coordinates -> groups of fibers on the device. GroupedNonzeros are sorted by segment, output row
// and fiber; what begins a fiber, a row and a group follows from flags, selections and sums; then a
// thread fills the slots of a fiber, or a warp those of a group.
#include "papers/hlsto/format/fiber_groups_device.cuh"

#include <algorithm>
#include <bit>
#include <ranges>
#include <span>
#include <utility>

#include "common/device/device_sort.cuh"
#include "common/device/loops.cuh"
#include "common/tensor/operations.hpp"

namespace retensor::hlsto {
namespace {

using device::Buffer;
using GroupNumbers = Buffer<std::uint32_t>;

constexpr unsigned kGroupThreads = 256, kGroupBanks = 8;  // banks of 16 bytes each

std::size_t group_mode(int mode) {
  return static_cast<std::size_t>(mode);
}

template <class F>
__global__ void run_for_groups(Count n, F f) {
  device::for_each_of_grid(n, f);
}
/// f(i) for each i below n.
template <class F>
void each_for_groups(Count n, F f) {
  constexpr Count kMostBlocks = 1 << 16;
  if (n == 0) return;
  RETENSOR_CUDA_LAUNCH(run_for_groups<F>, device::blocks_for(n, kGroupThreads, kMostBlocks),
                       kGroupThreads, 0, nullptr, n, f);
}

int bits_of_group_key(Count length) {
  return length < 2 ? 0 : std::bit_width(length - 1);
}

/// GroupedNonzeros by their modes. `order`: their positions as they are sorted.
struct GroupedNonzeros {
  const Index* mode = nullptr;
  const Index* leaf = nullptr;
  const Index* upper[kMaxOrder] = {};
  const float* value = nullptr;
  const std::uint32_t* order = nullptr;
  unsigned uppers = 0;
  std::uint32_t segment_rows = 1;

  __host__ __device__ Index segment(Count i) const { return leaf[order[i]] / segment_rows; }
  __device__ std::uint32_t leaf_row(Count i) const { return leaf[order[i]] % segment_rows; }
  __host__ __device__ bool begins_row(Count i) const {
    return i == 0 || mode[order[i]] != mode[order[i - 1]] || segment(i) != segment(i - 1);
  }
  __host__ __device__ bool begins_fiber(Count i) const { return begins_row(i) || begins_tuple(i); }
  /// Of the modes beside the output's and the leaves'.
  __host__ __device__ bool begins_tuple(Count i) const {
    if (i == 0) return true;
    for (unsigned u = 0; u < uppers; ++u)
      if (upper[u][order[i]] != upper[u][order[i - 1]]) return true;
    return false;
  }
};

/// GroupedFibers in groups. `fiber`: their numbers as groups take them, row by row.
struct GroupedFibers {
  const std::uint32_t* begin = nullptr;  ///< first nonzero; one more, all
  const std::uint32_t* fiber = nullptr;
  const std::uint32_t* row_of = nullptr;       ///< rows that begin before a fiber of that number
  const std::uint32_t* row_begin = nullptr;    ///< first of a row; one more, all
  const std::uint32_t* group_begin = nullptr;  ///< first group of a row; one more, all
  const std::uint32_t* first = nullptr;        ///< first step of a group; one more, all
  unsigned of_group = 1;

  __device__ std::uint32_t length(std::uint32_t f) const { return begin[f + 1] - begin[f]; }
  /// The row that the fiber at place s is of, counted from 0.
  __device__ std::uint32_t row_at(Count s) const { return row_of[fiber[s] + 1] - 1; }
};

/// Positions in the order of these modes, the first weighs most.
void sort_for_groups(const DeviceCoo& x, std::span<const int> modes,
                     device::DeviceSort& positions) {
  auto* const value = positions.values.data();
  each_for_groups(x.nnz, [=] __device__(Count p) { value[p] = static_cast<std::uint32_t>(p); });
  for (const int m : std::views::reverse(modes)) {
    auto* const key = positions.keys.data();
    const auto* const from = positions.values.data();
    const Index* const index = x.indices[group_mode(m)].data();
    each_for_groups(x.nnz, [=] __device__(Count p) { key[p] = index[from[p]]; });
    positions.sort(bits_of_group_key(x.dims[group_mode(m)]));
  }
}

/// A struct: lambdas of the device may not stand in private functions.
struct DeviceGroupBuilder {
  DeviceGroupBuilder(const DeviceCoo& x, DeviceFiberGroups& made)
      : x_(x),
        out_(made),
        positions_(static_cast<std::uint32_t>(x.nnz)),
        summed_(made.options.form == GroupForm::summed) {
    const auto& o = out_.options;
    nonzeros_.mode = x.indices[group_mode(o.mode)].data(),
    nonzeros_.leaf = x.indices[group_mode(o.leaf)].data();
    for (const int m : out_.uppers)
      nonzeros_.upper[nonzeros_.uppers++] = x.indices[group_mode(m)].data();
    nonzeros_.value = x.floats();
    nonzeros_.segment_rows = static_cast<std::uint32_t>(o.segment_rows);
    fibers_.of_group = fibers_of(o.form);
  }

  void build() {
    sort_nonzeros();
    find_fibers();
    find_rows();
    order_fibers();
    find_groups();
    fill_groups();
    summed_ ? fill_summed() : fill_side_by_side();
    find_segments();
  }

  Count segments() const {
    const auto& o = out_.options;
    return (x_.dims[group_mode(o.leaf)] + o.segment_rows - 1) / o.segment_rows;
  }

  void sort_nonzeros() {
    std::vector<int> modes{out_.options.mode};
    modes.insert(modes.end(), out_.uppers.begin(), out_.uppers.end());
    modes.push_back(out_.options.leaf);
    sort_for_groups(x_, modes, positions_);
    nonzeros_.order = positions_.values.data();
    if (segments() < 2) return;
    auto* const key = positions_.keys.data();
    const GroupedNonzeros x = nonzeros_;
    each_for_groups(x_.nnz, [=] __device__(Count i) { key[i] = x.segment(i); });
    positions_.sort(bits_of_group_key(segments()));
    nonzeros_.order = positions_.values.data();
  }

  /// Those of more than kLongestFiber nonzeros are cut.
  void find_fibers() {
    const GroupedNonzeros x = nonzeros_;
    GroupNumbers whole(x_.nnz + 1), pieces;
    const Count count = selected(
        x_.nnz, [x] __host__ __device__(std::uint32_t i) { return x.begins_fiber(i); }, whole);
    device::set_element(whole, count, static_cast<std::uint32_t>(x_.nnz));
    const auto* const from = whole.data();
    sums(
        count,
        [from] __host__ __device__(Count f) {
          return static_cast<std::uint32_t>((from[f + 1] - from[f] + kLongestFiber - 1) /
                                            kLongestFiber);
        },
        pieces);
    count_ = device::element_at(pieces, count);
    begin_ = GroupNumbers(count_ + 1);
    auto* const to = begin_.data();
    const auto* const piece = pieces.data();
    each_for_groups(count, [=] __device__(Count f) {
      for (std::uint32_t k = 0; k < piece[f + 1] - piece[f]; ++k)
        to[piece[f] + k] = from[f] + k * static_cast<std::uint32_t>(kLongestFiber);
    });
    device::set_element(begin_, count_, static_cast<std::uint32_t>(x_.nnz));
    fibers_.begin = begin_.data();
  }

  void find_rows() {
    const GroupedNonzeros x = nonzeros_;
    const auto* const begin = fibers_.begin;
    const auto is = [=] __host__ __device__(Count f) { return x.begins_row(begin[f]); };
    sums(count_, is, row_of_);
    row_begin_ = GroupNumbers(count_ + 1);
    rows_ = selected(count_, is, row_begin_);
    device::set_element(row_begin_, rows_, static_cast<std::uint32_t>(count_));
    fibers_.row_of = row_of_.data(), fibers_.row_begin = row_begin_.data();
  }

  /// As they lie; side by side the longest of a row first.
  void order_fibers() {
    device::DeviceSort sort(static_cast<std::uint32_t>(count_));
    auto* const fiber = sort.values.data();
    auto* const key = sort.keys.data();
    const GroupedFibers f = fibers_;
    each_for_groups(count_, [=] __device__(Count n) {
      fiber[n] = static_cast<std::uint32_t>(n);
      key[n] = static_cast<std::uint32_t>(kLongestFiber) - f.length(fiber[n]);
    });
    if (!summed_) {
      sort.sort(bits_of_group_key(kLongestFiber));
      auto* const row = sort.keys.data();
      const auto* const of = sort.values.data();
      each_for_groups(count_, [=] __device__(Count n) { row[n] = f.row_of[of[n] + 1] - 1; });
      sort.sort(bits_of_group_key(rows_));
    }
    fiber_ = std::move(sort.values);
    fibers_.fiber = fiber_.data();
  }

  void find_groups() {
    const unsigned of_group = fibers_.of_group;
    const auto* const row_begin = fibers_.row_begin;
    sums(
        rows_,
        [=] __host__ __device__(Count r) {
          return (row_begin[r + 1] - row_begin[r] + of_group - 1) / of_group;
        },
        group_begin_);
    fibers_.group_begin = group_begin_.data();
    const Count groups = device::element_at(group_begin_, rows_);
    out_.row = Buffer<Index>(groups);
    out_.upper = Buffer<Index>(groups * out_.uppers.size() * of_group);
    out_.upper.zero(nullptr);
    place_ = GroupNumbers(groups + 1);
    steps_ = GroupNumbers(groups);
  }

  /// Output rows, the other modes' indices, and from the steps the first one of each group.
  void fill_groups() {
    const GroupedNonzeros x = nonzeros_;
    const GroupedFibers f = fibers_;
    auto *const row = out_.row.data(), *const upper = out_.upper.data();
    auto *const steps = steps_.data(), *const place = place_.data();
    const bool summed = summed_;
    const Count groups = out_.groups();
    each_for_groups(count_, [=] __device__(Count s) {
      const std::uint32_t r = f.row_at(s), rank = static_cast<std::uint32_t>(s) - f.row_begin[r];
      const std::uint32_t g = f.group_begin[r] + rank / f.of_group, k = rank % f.of_group;
      const std::uint32_t nonzero = x.order[f.begin[f.fiber[s]]];
      for (unsigned u = 0; u < x.uppers; ++u)
        upper[(Count{g} * x.uppers + u) * f.of_group + k] = x.upper[u][nonzero];
      if (k != 0) return;
      row[g] = x.mode[nonzero], place[g] = static_cast<std::uint32_t>(s);
      std::uint32_t slots = f.length(f.fiber[s]);
      if (summed)
        for (Count n = s + 1; n < s + f.of_group && n < f.row_begin[r + 1]; ++n)
          slots += f.length(f.fiber[n]);
      const std::uint32_t of_step = summed ? kSumSlots : kSideSlots / kSideFibers;
      steps[g] = (slots + of_step - 1) / of_step;
    });
    device::set_element(place_, groups, static_cast<std::uint32_t>(count_));
    sums(
        groups, [steps] __host__ __device__(Count g) { return steps[g]; }, out_.first);
    out_.first_steps = out_.first.to_host();
    fibers_.first = out_.first.data();
    const Count slots = out_.steps() * slots_of(out_.options.form);
    make(out_.code, slots);
    make(out_.value, summed ? slots / 2 : slots);
    make(out_.rest, summed ? slots / 2 : 0);
    make(out_.selector, summed ? slots / 4 : 0);
  }
  template <class T>
  static void make(Buffer<T>& buffer, Count size) {
    buffer = Buffer<T>(size);
    buffer.zero(nullptr);
  }

  void fill_side_by_side() {
    const GroupedNonzeros x = nonzeros_;
    const GroupedFibers f = fibers_;
    auto* const code = out_.code.data();
    auto* const value = out_.value.data();
    each_for_groups(count_, [=] __device__(Count s) {
      constexpr std::uint32_t kOfFiber = kSideSlots / kSideFibers;
      const std::uint32_t r = f.row_at(s), rank = static_cast<std::uint32_t>(s) - f.row_begin[r];
      const Count step = f.first[f.group_begin[r] + rank / kSideFibers];
      const std::uint32_t begin = f.begin[f.fiber[s]], length = f.length(f.fiber[s]);
      for (std::uint32_t n = 0; n < length; ++n) {
        const Count slot =
            (step + n / kOfFiber) * kSideSlots + rank % kSideFibers * kOfFiber + n % kOfFiber;
        code[slot] = static_cast<std::uint16_t>(x.leaf_row(begin + n));
        value[slot] = __float_as_uint(x.value[x.order[begin + n]]);
      }
    });
  }

  void fill_summed();
  void find_segments();

  /// Sums of of(0) to of(n - 1) that end before each, and all of them.
  template <class Of>
  void sums(Count n, const Of& of, GroupNumbers& to) {
    using Terms = thrust::transform_iterator<Of, thrust::counting_iterator<Count>, std::uint32_t>;
    to = GroupNumbers(n + 1);
    device::set_element(to, 0, std::uint32_t{0});
    if (n == 0) return;
    const Terms terms(thrust::counting_iterator<Count>(0), of);
    cub_(n, [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(scratch, bytes, terms, to.data() + 1,
                                           static_cast<std::int64_t>(n), nullptr);
    });
  }
  template <class Is>
  Count selected(Count n, const Is& is, GroupNumbers& to) {
    if (n == 0) return 0;
    Buffer<Count> found(1);
    const thrust::counting_iterator<std::uint32_t> positions(0);
    cub_(n, [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceSelect::If(scratch, bytes, positions, to.data(), found.data(),
                                   static_cast<std::int64_t>(n), is, nullptr);
    });
    return device::element_at(found, 0);
  }

  const DeviceCoo& x_;
  DeviceFiberGroups& out_;
  device::DeviceSort positions_;
  const bool summed_;
  device::Cub cub_;
  GroupedNonzeros nonzeros_;
  GroupedFibers fibers_;
  Count count_ = 0, rows_ = 0;  // of fibers, and of rows in segments
  GroupNumbers begin_, row_of_, row_begin_, fiber_, group_begin_;
  GroupNumbers place_, steps_;  // of a group: its first fiber's place, its steps
};

/// What a warp fills of a summed group.
struct SummedSlots {
  std::uint16_t *code, *value, *rest;
  std::uint32_t* selector;  // two at a time
  unsigned row_vectors;
};

__device__ inline std::uint16_t half_bits_of_slot(float v) {
  return __half_as_ushort(__float2half_rn(v));
}

/// Slot of a step as FiberGroups tells: the half, the lane and the number of a lane's four slots.
__device__ void put_in_slot(const SummedSlots& to, Count slot, std::uint32_t row, float value,
                            unsigned fiber) {
  const Count of_lane = slot / 32 * 8 + slot % 8 / 2 * 2 + slot / 16 % 2;
  const auto number = static_cast<unsigned>(slot / 8 % 2 * 2 + slot % 2);
  to.code[slot / 32 * 32 + slot % 16 * 2 + slot / 16 % 2] =
      static_cast<std::uint16_t>(table_code(row, to.row_vectors));
  const std::uint16_t high = half_bits_of_slot(value);
  to.value[of_lane * 4 + number] = high;
  to.rest[of_lane * 4 + number] = half_bits_of_slot(value - __half2float(__ushort_as_half(high)));
  atomicOr(to.selector + of_lane / 2, fiber << (4 * number + 16 * (of_lane % 2)));
}

/// A warp fills a group. Slots go to the n-th nonzero of each bank before the next of any.
__global__ void __launch_bounds__(kGroupThreads)
    fill_summed_groups(Count groups, const GroupedNonzeros x, const GroupedFibers f,
                       const std::uint32_t* place, const SummedSlots to) {
  __shared__ std::uint32_t counts[kGroupThreads / 32][kGroupBanks],
      begins[kGroupThreads / 32][kSumFibers + 1];
  const unsigned lane = threadIdx.x % 32;
  auto *const count = counts[threadIdx.x / 32], *const begin = begins[threadIdx.x / 32];
  device::for_each_of_warps<kGroupThreads>(groups, [&](Count g) {
    const std::uint32_t fibers = place[g + 1] - place[g];
    if (lane <= kSumFibers) begin[lane] = f.begin[place[g] + (lane < fibers ? lane : fibers)];
    if (lane < kGroupBanks) count[lane] = 0;
    __syncwarp();
    const std::uint32_t first = begin[0], end = begin[kSumFibers];
    for (std::uint32_t i = first + lane; i < end; i += 32)
      atomicAdd(count + x.leaf_row(i) % kGroupBanks, 1u);
    __syncwarp();
    std::uint32_t all[kGroupBanks], done[kGroupBanks] = {};
#pragma unroll
    for (unsigned b = 0; b < kGroupBanks; ++b) all[b] = count[b];
    const Count slots = Count{f.first[g]} * kSumSlots;
    for (std::uint32_t from = first; from < end; from += 32) {
      const std::uint32_t i = from + lane;
      const std::uint32_t row = i < end ? x.leaf_row(i) : 0;
      const unsigned bank = i < end ? row % kGroupBanks : kGroupBanks;
      std::uint32_t n = 0;
#pragma unroll
      for (unsigned b = 0; b < kGroupBanks; ++b) {
        const unsigned same = __ballot_sync(device::kWholeWarp, bank == b);
        if (bank == b) n = done[b] + __popc(same & ((1u << lane) - 1));
        done[b] += __popc(same);
      }
      if (i >= end) continue;
      std::uint32_t slot = 0;
#pragma unroll
      for (unsigned b = 0; b < kGroupBanks; ++b)
        slot += min(all[b], n) + (b < bank && all[b] > n ? 1 : 0);
      unsigned fiber = 0;
      while (i >= begin[fiber + 1]) ++fiber;
      put_in_slot(to, slots + slot, row, x.value[x.order[i]], fiber);
    }
    __syncwarp();
    // Empty slots have the row of the last that is filled.
    const auto code_of = [&](Count slot) -> std::uint16_t& {
      return to.code[slot / 32 * 32 + slot % 16 * 2 + slot / 16 % 2];
    };
    const Count filled = slots + (end - first), last = Count{f.first[g + 1]} * kSumSlots;
    for (Count slot = filled + lane; slot < last; slot += 32) code_of(slot) = code_of(filled - 1);
    __syncwarp();
  });
}

void DeviceGroupBuilder::fill_summed() {
  const SummedSlots to{out_.code.data(), reinterpret_cast<std::uint16_t*>(out_.value.data()),
                       reinterpret_cast<std::uint16_t*>(out_.rest.data()),
                       reinterpret_cast<std::uint32_t*>(out_.selector.data()),
                       out_.options.row_vectors};
  constexpr Count kMostBlocks = 1 << 16;
  if (out_.groups() > 0)
    RETENSOR_CUDA_LAUNCH(
        fill_summed_groups, device::blocks_for(out_.groups(), kGroupThreads / 32, kMostBlocks),
        kGroupThreads, 0, nullptr, out_.groups(), nonzeros_, fibers_, place_.data(), to);
}

void DeviceGroupBuilder::find_segments() {
  GroupNumbers groups_of(segments());
  groups_of.zero(nullptr);
  auto* const to = groups_of.data();
  const GroupedNonzeros x = nonzeros_;
  const GroupedFibers f = fibers_;
  const auto* const place = place_.data();
  each_for_groups(out_.groups(), [=] __device__(Count g) {
    atomicAdd(to + x.segment(f.begin[f.fiber[place[g]]]), 1u);
  });
  out_.segment.assign(1, 0);
  for (const std::uint32_t n : groups_of.to_host()) out_.segment.push_back(out_.segment.back() + n);
}

std::vector<int> group_modes_but(int order, std::initializer_list<int> left_out) {
  std::vector<int> modes;
  for (int m = 0; m < order; ++m)
    if (std::ranges::find(left_out, m) == left_out.end()) modes.push_back(m);
  return modes;
}

/// Tuples of the indices of these modes that a nonzero has.
Count tuples_of_nonzeros(const DeviceCoo& x, std::span<const int> modes,
                         device::DeviceSort& positions) {
  sort_for_groups(x, modes, positions);
  GroupedNonzeros in_order;
  in_order.order = positions.values.data();
  for (const int m : modes) in_order.upper[in_order.uppers++] = x.indices[group_mode(m)].data();
  const auto begins = [in_order] __host__ __device__(Count i) -> Count {
    return in_order.begins_tuple(i) ? 1 : 0;
  };
  return x.nnz == 0 ? 0 : positions.cub.reduce(x.nnz, begins, device::kernels::Add{}, Count{0});
}

}  // namespace

std::vector<int> longest_fibers(const DeviceCoo& x) {
  const int order = static_cast<int>(x.dims.size());
  device::DeviceSort positions(static_cast<std::uint32_t>(x.nnz));
  std::vector<Count> fibers;
  for (int leaf = 0; leaf < order; ++leaf)
    fibers.push_back(tuples_of_nonzeros(x, group_modes_but(order, {leaf}), positions));
  return leaves_of_fewest(fibers);
}

DeviceFiberGroups to_fiber_groups(const DeviceCoo& x, const GroupOptions& options) {
  DeviceFiberGroups made;
  made.options = options;
  made.uppers = group_modes_but(static_cast<int>(x.dims.size()), {options.mode, options.leaf});
  DeviceGroupBuilder(x, made).build();
  return made;
}

}  // namespace retensor::hlsto
