// Orders: stable sorts of tiles and nonzeros by fields of their linear indices. Lists of cells from
// bitmaps: vectors of each tile counted, scanned, filled by a warp a tile.
#include "papers/hlsto/format/tuned_device.cuh"

#include <ranges>
#include <utility>

#include <cub/device/device_scan.cuh>

#include "common/device/device_sort.cuh"
#include "common/device/loops.cuh"
#include "common/device/warp.cuh"
#include "papers/hlsto/format/tensor_core_device.cuh"

namespace retensor::hlsto {
namespace {

using device::Buffer;
using Numbers = Buffer<std::uint32_t>;

constexpr unsigned kThreads = 256;
constexpr Count kMostBlocks = 1 << 16;

unsigned blocks(Count n) {
  return device::blocks_for(n, kThreads, kMostBlocks);
}

__global__ void number(Count n, std::uint32_t* positions) {
  device::for_each_of_grid(n, [&](Count p) { positions[p] = static_cast<std::uint32_t>(p); });
}

/// Of the entries in this order.
__global__ void read_field(Count n, const std::uint32_t* order, const std::uint32_t* indices,
                           int words, BitField field, std::uint32_t* fields) {
  const Count step = Count{gridDim.x} * blockDim.x;
  for (Count p = device::thread_of_grid(); p < n; p += step)
    fields[p] = decode(indices + Count{order[p]} * static_cast<Count>(words), field);
}

/// to[p] = from[order[p]] of elements of so many units.
template <class Unit>
__global__ void gather(Count n, const std::uint32_t* order, int units, const Unit* from, Unit* to) {
  device::for_each_of_grid(n, [&](Count p) {
    for (int u = 0; u < units; ++u) {
      const auto width = static_cast<Count>(units), unit = static_cast<Count>(u);
      to[p * width + unit] = from[order[p] * width + unit];
    }
  });
}

/// The entries of `indices` in ascending order of the fields of listed modes, the first of `modes`
/// before the next, stably: sorted by the last field first.
Numbers order_of(const Numbers& indices, const LinearIndex& index, std::span<const int> modes) {
  const int words = words_for(index.bits());
  device::DeviceSort sort(static_cast<std::uint32_t>(indices.size() / static_cast<Count>(words)));
  if (sort.n == 0) return Numbers();
  RETENSOR_CUDA_LAUNCH(number, blocks(sort.n), kThreads, 0, nullptr, sort.n, sort.values.data());
  for (const int k : std::views::reverse(modes)) {
    RETENSOR_CUDA_LAUNCH(read_field, blocks(sort.n), kThreads, 0, nullptr, sort.n,
                         sort.values.data(), indices.data(), words,
                         (BitField{index.shift(k), index.width(k)}), sort.keys.data());
    sort.sort(index.width(k));
  }
  return std::move(sort.values);
}

template <class Unit>
void gather_values(Count n, const Numbers& order, const Buffer<std::byte>& from,
                   Buffer<std::byte>& to) {
  RETENSOR_CUDA_LAUNCH(gather<Unit>, blocks(n), kThreads, 0, nullptr, n, order.data(), 1,
                       reinterpret_cast<const Unit*>(from.data()),
                       reinterpret_cast<Unit*>(to.data()));
}

constexpr unsigned kBanks = 32;  // of shared memory, 4 bytes wide

struct Lists {
  const std::uint32_t* order;  // of the tiles
  std::uint32_t* first;        // vector of each tile; one more, their number
  ListedTile* tiles;
  std::uint16_t *places, *values[2];
};

__global__ void count_vectors(const DeviceChain x, const Lists lists) {
  const Count t = device::thread_of_grid();
  if (t > x.tiles) return;
  Count cells = 0;
  if (t < x.tiles) cells = x.value_start[lists.order[t] + 1] - x.value_start[lists.order[t]];
  lists.first[t] = static_cast<std::uint32_t>((cells + kVectorCells - 1) / kVectorCells);
}

__device__ inline unsigned place_of(const DeviceChain& x, unsigned cell) {
  const auto along = [&](int place) { return cell >> (4 * (2 - place)) & 15u; };
  return hlsto::place_of(along(x.slice), along(x.row), along(x.column));
}

__device__ inline std::uint16_t bits_of(__half x) {
  return __half_as_ushort(x);
}
__device__ inline std::uint16_t bits_of(__nv_bfloat16 x) {
  return __bfloat16_as_ushort(x);
}

template <Arithmetic kArithmetic>
__device__ void store(const Lists& lists, Count at, unsigned place, float value) {
  using Core = hlsto::Core<kArithmetic>;
  lists.places[at] = static_cast<std::uint16_t>(place);
#pragma unroll
  for (int p = 0; p < Core::kParts; ++p) lists.values[p][at] = bits_of(Core::part_of(value, p));
}

__device__ ListedTile listed(const DeviceChain& x, const Lists& lists, Count t) {
  const std::uint32_t* const key = x.tile_index + Count{lists.order[t]} * x.tile_words;
  ListedTile tile{lists.first[t], lists.first[t + 1] - lists.first[t],
                  decode(key, x.place[x.slice]), decode(key, x.place[x.row]),
                  decode(key, x.place[x.column])};
  for (int k = kTiledModes; k < x.order; ++k) tile.kept[k - kTiledModes] = decode(key, x.place[k]);
  return tile;
}

/// Calls f(byte of its place, number in the tile) for the nonzeros of a lane's four words.
template <class F>
__device__ void for_each_cell(const DeviceChain& x, const std::uint32_t (&words)[4], unsigned cell,
                              F&& f) {
  for (unsigned w = 0; w < 4; ++w)
    for (std::uint32_t word = words[w]; word != 0; word &= word - 1) {
      const auto bit = static_cast<unsigned>(__ffs(static_cast<int>(word))) - 1;
      f(2 * place_of(x, (threadIdx.x % 32 * 4 + w) * 32 + bit), cell++);
    }
}

/// A warp lists a tile in the order of the shared memory's banks, so that the lanes, eight
/// neighbours of the list each, store to different ones.
template <Arithmetic kArithmetic>
__global__ void fill(const DeviceChain x, const Lists lists) {
  __shared__ unsigned next[kThreads / 32][kBanks];
  const Count t = device::group_of_grid<32>();
  if (t >= x.tiles) return;
  const unsigned lane = threadIdx.x % 32;
  unsigned* const of_bank = next[threadIdx.x / 32];
  const auto bank = [](unsigned place) { return place / 4 % kBanks; };
  const Count number = lists.order[t], start = x.value_start[number];
  const uint4 four = reinterpret_cast<const uint4*>(x.bitmap)[number * 32 + lane];
  const std::uint32_t words[4] = {four.x, four.y, four.z, four.w};
  const unsigned first_cell =
      device::sum_below_lane(__popc(four.x) + __popc(four.y) + __popc(four.z) + __popc(four.w));

  of_bank[lane] = 0;
  __syncwarp();
  for_each_cell(x, words, first_cell,
                [&](unsigned place, unsigned) { atomicAdd(of_bank + bank(place), 1); });
  __syncwarp();
  const unsigned before = device::sum_below_lane(of_bank[lane]);
  __syncwarp();
  of_bank[lane] = before;
  __syncwarp();
  const Count begin = Count{lists.first[t]} * kVectorCells;
  for_each_cell(x, words, first_cell, [&](unsigned place, unsigned cell) {
    store<kArithmetic>(lists, begin + atomicAdd(of_bank + bank(place), 1), place,
                       load_value(x.dense_values, x.values, start + cell));
  });

  const Count cells = x.value_start[number + 1] - start;
  const Count padded = Count{lists.first[t + 1]} * kVectorCells - begin;
  for (Count c = cells + lane; c < padded; c += 32)
    store<kArithmetic>(lists, begin + c, kSparePlace, 0);
  if (lane == 0) lists.tiles[t] = listed(x, lists, t);
}

}  // namespace

Numbers tiles_by_place(const DeviceHls& hls, int k) {
  return order_of(hls.tile_index, hls.grid.tile_index(), std::span(&k, 1));
}

void sort_sparse(DeviceHls& hls, std::span<const int> modes) {
  const Count n = hls.sparse_nonzeros;
  if (n == 0) return;
  const Numbers order = order_of(hls.nonzero_index, hls.grid.nonzero_index(), modes);
  Numbers index(hls.nonzero_index.size());
  RETENSOR_CUDA_LAUNCH(gather<std::uint32_t>, blocks(n), kThreads, 0, nullptr, n, order.data(),
                       words_for(hls.grid.nonzero_index().bits()), hls.nonzero_index.data(),
                       index.data());
  Buffer<std::byte> values(hls.sparse_values.size());
  values.zero(nullptr);
  if (hls.options.values == ValueType::f32)
    gather_values<std::uint32_t>(n, order, hls.sparse_values, values);
  else
    gather_values<std::uint16_t>(n, order, hls.sparse_values, values);
  hls.nonzero_index = std::move(index);
  hls.sparse_values = std::move(values);
}

CellLists list_cells(const DeviceHls& hls, const DeviceChain& x, Arithmetic arithmetic) {
  CellLists made;
  if (x.tiles == 0) return made;
  const auto order = tiles_by_place(hls, x.slice);
  Buffer<std::uint32_t> vectors(x.tiles + 1), first(x.tiles + 1);
  made.tiles = Buffer<ListedTile>(x.tiles);
  Lists lists{order.data(), vectors.data(), made.tiles.data(), nullptr, {}};
  RETENSOR_CUDA_LAUNCH(count_vectors, device::blocks_for(x.tiles + 1, kThreads), kThreads, 0,
                       nullptr, x, lists);
  device::Cub()(x.tiles, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, vectors.data(), first.data(), x.tiles + 1);
  });
  const Count cells = Count{first.to_host().back()} * kVectorCells;
  made.places = Buffer<std::uint16_t>(cells);
  for (int p = 0; p < parts_of(arithmetic); ++p) made.values.emplace_back(cells);
  lists.first = first.data(), lists.places = made.places.data();
  for (std::size_t p = 0; p < made.values.size(); ++p) lists.values[p] = made.values[p].data();
  with_narrow_arithmetic(arithmetic, [&]<Arithmetic kArithmetic>() {
    RETENSOR_CUDA_LAUNCH(fill<kArithmetic>, device::blocks_for(x.tiles, kThreads / 32), kThreads, 0,
                         nullptr, x, lists);
  });
  return made;
}

}  // namespace retensor::hlsto
