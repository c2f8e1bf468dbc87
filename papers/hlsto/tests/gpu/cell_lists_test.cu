// The lists of cells of hlsto.cuda.tuned beside the coordinates that they are made of: every
// nonzero of a dense tile once, at the place in its tile where the tensor core's operand wants it.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "common/core/rng.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/hlsto/format/tuned_device.cuh"
#include "papers/hlsto/kernels/run_cuda.cuh"
#include "tests/gpu/mma_layout.hpp"
#include "tests/support/entries.hpp"

using namespace retensor;
using namespace retensor::hlsto;

namespace {

constexpr Index kEdge = 16;
constexpr Count kThreshold = 40;

using Places = std::array<Index, kMaxFactors>;  // of slice, row and column, then the kept indices
using Cell = std::array<Index, kTiledModes>;    // of slice, row and column inside the tile
using Parts = std::array<std::uint16_t, 2>;     // of a value; the second 0 where it is whole
using Tiles = std::map<Places, std::map<Cell, Parts>>;

/// One tile is full; of the rest some reach the threshold.
Coo partly_dense(const Dims& dims) {
  test::Entries cells;
  const CounterRng rng(dims.size());
  std::uint64_t draw = 0;
  for (Index c = 0; c < kEdge * kEdge * kEdge; ++c) {
    std::vector<Index> at(dims.size(), 0);
    at[dims.size() - 3] = c / (kEdge * kEdge), at[dims.size() - 2] = c / kEdge % kEdge;
    at[dims.size() - 1] = c % kEdge;
    cells[at] = static_cast<float>(rng.uniform(draw++) - 0.5);
  }
  for (int p = 0; p < 8000; ++p) {
    std::vector<Index> at;
    for (const auto length : dims) at.push_back(static_cast<Index>(rng.below(draw++, length)));
    cells[at] = static_cast<float>(rng.uniform(draw++) - 0.5);
  }
  return test::tensor_of(dims, cells);
}

Parts stored(float value, Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::bf16) return {to_bf16_bits(value), 0};
  if (arithmetic == Arithmetic::fp16) return {to_fp16_bits(value), 0};
  return {to_fp16_bits(value), to_fp16_bits(value - round_fp16(value))};
}

/// By the coordinates alone.
Tiles dense_tiles(const Coo& x, const DeviceChain& roles, Arithmetic arithmetic) {
  Tiles tiles;
  const int tiled[] = {roles.slice, roles.row, roles.column};
  for (Count p = 0; p < x.nnz(); ++p) {
    Places places{};
    Cell cell{};
    for (std::size_t k = 0; k < x.dims.size(); ++k) {
      const bool is_tiled = k < kTiledModes;
      const int place = is_tiled ? tiled[k] : static_cast<int>(k);
      const Index i = x.indices[static_cast<std::size_t>(roles.mode_at[place])][p];
      places[k] = is_tiled ? i / kEdge : i;
      if (is_tiled) cell[k] = i % kEdge;
    }
    tiles[places][cell] = stored(x.values.as<float>()[p], arithmetic);
  }
  std::erase_if(tiles, [](const auto& tile) { return tile.second.size() < kThreshold; });
  return tiles;
}

/// Lists on the host, where a test may damage them.
struct Lists {
  std::vector<ListedTile> tiles;
  std::vector<std::uint16_t> places;
  std::vector<std::vector<std::uint16_t>> values;  // by part
};

/// Without the bytes behind the last member, which nobody writes.
std::vector<ListedTile> to_host(const device::Buffer<ListedTile>& made) {
  constexpr std::size_t kWritten = offsetof(ListedTile, kept) + sizeof(ListedTile::kept);
  std::vector<ListedTile> tiles(made.size());
  RETENSOR_CUDA_CHECK(cudaMemcpy2D(tiles.data(), sizeof(ListedTile), made.data(),
                                   sizeof(ListedTile), kWritten, tiles.size(),
                                   cudaMemcpyDeviceToHost));
  return tiles;
}

Lists to_host(const CellLists& made) {
  Lists lists{to_host(made.tiles), made.places.to_host(), {}};
  for (const auto& part : made.values) lists.values.push_back(part.to_host());
  return lists;
}

/// The cell of a byte of a spread tile: slices of B operands of m16n8k16 for the tile's rows 0 to 7
/// and 8 to 15, lane by lane.
Cell cell_at(unsigned byte) {
  const unsigned element = byte / 2, of_lane = element % 8, lane = element / 8 % 32;
  const auto [k, i] = half_place_b(static_cast<int>(lane), static_cast<int>(of_lane % 4));
  return {static_cast<Index>(i) + of_lane / 4 * 8, element / 256, static_cast<Index>(k)};
}

/// The first way in which the lists are not those of the tiles; empty where they are.
std::string fault(const Lists& lists, const Tiles& expected) {
  Tiles found;
  Count next = 0;
  Index last_slice = 0;
  for (const ListedTile& tile : lists.tiles) {
    if (tile.first != next) return "begin of a list";
    next += tile.vectors;
    if (next * kVectorCells > lists.places.size()) return "end of a list";
    if (tile.slice < last_slice) return "order of the tiles";
    last_slice = tile.slice;
    const Places places{tile.slice, tile.row, tile.column, tile.kept[0], tile.kept[1]};
    auto& cells = found[places];
    if (!cells.empty()) return "tile listed twice";
    for (Count c = Count{tile.first} * kVectorCells; c < next * kVectorCells; ++c) {
      Parts parts{};
      for (std::size_t k = 0; k < lists.values.size(); ++k) parts[k] = lists.values[k][c];
      if (lists.places[c] == kSparePlace) {
        if (parts != Parts{}) return "padding";
      } else if (lists.places[c] % 2 != 0 || lists.places[c] > kSparePlace) {
        return "place";
      } else if (!cells.emplace(cell_at(lists.places[c]), parts).second) {
        return "cell listed twice";
      }
    }
    if (tile.vectors != (cells.size() + kVectorCells - 1) / kVectorCells) return "length of a list";
  }
  return found == expected ? "" : "nonzeros";
}

struct Made {
  Lists lists;
  Tiles expected;
};

Made made_of(const Coo& x, int mode, Arithmetic arithmetic) {
  const DeviceHls hls =
      to_hls(DeviceCoo(x), Options{.threshold = kThreshold, .values = storage_of(arithmetic)});
  const DeviceChain chain = chain_on(hls, mode);
  return {to_host(list_cells(hls, chain, arithmetic)), dense_tiles(x, chain, arithmetic)};
}

}  // namespace

TEST_CASE("lists of cells hold every nonzero of the dense tiles once, at its place") {
  constexpr Arithmetic kEach[] = {Arithmetic::fp16, Arithmetic::bf16, Arithmetic::split_fp16};
  int turn = 0;  // each mode has each arithmetic in one order
  for (const Dims& dims : {Dims{40, 36, 50}, Dims{2, 40, 36, 50}, Dims{3, 2, 33, 36, 50}}) {
    const Coo x = partly_dense(dims);
    for (int k = 0; k < kTiledModes; ++k) {
      const int mode = static_cast<int>(dims.size()) - kTiledModes + k;
      CAPTURE(dims.size());
      CAPTURE(mode);
      const Made made = made_of(x, mode, kEach[(turn + k) % 3]);
      CHECK(made.expected.size() > 1);
      CHECK(fault(made.lists, made.expected) == "");
    }
    ++turn;
  }
}

TEST_CASE("a tensor without dense tiles has no lists") {
  const Made made = made_of(Coo({40, 36, 50}, DType::f32), 0, Arithmetic::fp16);
  CHECK(made.lists.tiles.empty());
  CHECK(made.lists.places.empty());
}

TEST_CASE("a planted fault of a list is named") {
  const Made made = made_of(partly_dense({40, 36, 50}), 0, Arithmetic::split_fp16);
  REQUIRE(made.lists.tiles.size() > 2);
  const auto named = [&](auto&& change) {
    Lists lists = made.lists;
    change(lists);
    return fault(lists, made.expected);
  };
  const auto spare = static_cast<std::size_t>(
      std::find(made.lists.places.begin(), made.lists.places.end(), kSparePlace) -
      made.lists.places.begin());
  REQUIRE(spare < made.lists.places.size());
  CHECK(named([](Lists&) {}) == "");
  CHECK(named([](Lists& l) { l.places[1] = l.places[0]; }) == "cell listed twice");
  CHECK(named([](Lists& l) { std::swap(l.places[0], l.places[1]); }) == "nonzeros");
  CHECK(named([](Lists& l) { ++l.places[0]; }) == "place");
  CHECK(named([](Lists& l) { l.values[1][0] ^= 1; }) == "nonzeros");
  CHECK(named([&](Lists& l) { l.values[0][spare] = 1; }) == "padding");
  CHECK(named([](Lists& l) { l.tiles[0].row ^= 1; }) != "");
  CHECK(named([](Lists& l) { l.tiles[1].first += 1; }) == "begin of a list");
  CHECK(named([](Lists& l) { l.tiles.back().vectors += 1; }) == "end of a list");
  CHECK(named([](Lists& l) { l.tiles.back().slice = 0; }) == "order of the tiles");
  CHECK(named([](Lists& l) { l.tiles.pop_back(); }) == "nonzeros");
}
