// Fibers are runs of nonzeros that agree in all modes but one, slices share the index of one mode,
// tiles are the cells of a grid over all modes. Fibers and tiles are counted as different keys made
// of the coordinates, which a sort brings together.
#include "experiments/driver/facts.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/sort/sort.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <type_traits>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/io/atomic_file.hpp"
#include "common/tensor/linear_index.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Raised when the content of tensor_facts() changes: facts kept by an older build are made anew.
constexpr int kVersion = 1;

/// Keys of more than 128 bits.
using WideKey = std::array<Index, kMaxOrder>;

/// The coordinates of some modes in units of tiles of edge 2^shift.
struct Grid {
  const Coo& tensor;
  std::span<const int> modes;
  int shift;

  const std::vector<Index>& indices(std::size_t k) const {
    return tensor.indices[static_cast<std::size_t>(modes[k])];
  }
  int width(std::size_t k) const {
    const auto length = tensor.dims[static_cast<std::size_t>(modes[k])];
    return bits_for(((length - 1) >> shift) + 1);
  }
};

template <class Key>
std::vector<Key> keys_of(const Grid& grid) {
  std::vector<Key> keys(grid.tensor.nnz());
  for (std::size_t k = 0; k < grid.modes.size(); ++k) {
    const auto& indices = grid.indices(k);
    const int width = grid.width(k);
#pragma omp parallel for schedule(static)
    for (Count x = 0; x < keys.size(); ++x) {
      const Index tile = indices[x] >> grid.shift;
      if constexpr (std::is_same_v<Key, WideKey>)
        keys[x][k] = tile;
      else
        keys[x] = keys[x] << width | tile;
    }
  }
  return keys;
}

template <class T>
void sort_all(std::vector<T>& list) {
  boost::sort::block_indirect_sort(list.begin(), list.end(), std::less<T>(),
                                   static_cast<std::uint32_t>(omp_get_max_threads()));
}

template <class Key>
Count count_different(std::vector<Key> keys) {
  sort_all(keys);
  Count different = keys.empty() ? 0 : 1;
#pragma omp parallel for reduction(+ : different) schedule(static)
  for (Count x = 1; x < keys.size(); ++x) different += keys[x - 1] == keys[x] ? 0U : 1U;
  return different;
}

Count occupied(const Grid& grid) {
  if (grid.tensor.nnz() == 0) return 0;
  int bits = 0;
  for (std::size_t k = 0; k < grid.modes.size(); ++k) bits += grid.width(k);
  return bits <= 128 ? count_different(keys_of<Uint128>(grid))
                     : count_different(keys_of<WideKey>(grid));
}

/// Nonzeros of every non-empty slice.
std::vector<Count> slice_counts(std::vector<Index> indices) {
  sort_all(indices);
  std::vector<Count> counts;
  for (Count x = 0; x < indices.size(); ++x) {
    if (x == 0 || indices[x - 1] != indices[x]) counts.push_back(0);
    ++counts.back();
  }
  return counts;
}

double share(Count nnz, Count of) {
  return of == 0 ? 0 : static_cast<double>(nnz) / static_cast<double>(of);
}

ModeFacts facts_of(const Coo& tensor, int mode) {
  auto others = natural_order(tensor.order());
  others.erase(others.begin() + mode);
  ModeFacts facts;
  facts.fibers = occupied({tensor, others, 0});
  facts.per_fiber = share(tensor.nnz(), facts.fibers);
  auto counts = slice_counts(tensor.indices[static_cast<std::size_t>(mode)]);
  facts.slices = counts.size();
  facts.largest_slice = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  facts.slice_gini =
      gini(std::move(counts), tensor.dims[static_cast<std::size_t>(mode)] - facts.slices);
  return facts;
}

/// Null when there is no such file or it is not what keep() wrote.
json read_kept(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const auto content = json::parse(in, nullptr, false);
  if (!content.is_object() || content.value("version", json()) != kVersion ||
      !content.contains("facts") ||
      content.value("sha256", json()) != sha256_hex(content["facts"].dump()))
    return nullptr;
  return content["facts"];
}

void keep(const json& facts, const fs::path& path) {
  const json content = {
      {"version", kVersion}, {"facts", facts}, {"sha256", sha256_hex(facts.dump())}};
  const auto text = content.dump() + '\n';
  try {
    fs::create_directories(path.parent_path());
    AtomicFile file(path.string());
    file.write(text.data(), text.size());
    file.commit();
  } catch (const SystemError&) {
    return;  // made again when next needed
  } catch (const fs::filesystem_error&) {
    return;
  }
}

}  // namespace

std::vector<ModeFacts> mode_facts(const Coo& tensor) {
  std::vector<ModeFacts> facts;
  for (int mode = 0; mode < tensor.order(); ++mode) facts.push_back(facts_of(tensor, mode));
  return facts;
}

Count tile_count(const Coo& tensor, Count edge) {
  if (!std::has_single_bit(edge))
    throw LogicError(fmt::format("tiles of edge {}: no power of two", edge));
  return occupied({tensor, natural_order(tensor.order()), std::countr_zero(edge)});
}

double gini(std::vector<Count> counts, Count zeros) {
  // With ascending x_1 .. x_n: sum over i of (2 i - n - 1) x_i over n times the sum of x.
  sort_all(counts);
  const auto n = static_cast<double>(counts.size() + zeros);
  double total = 0, weighted = 0, i = static_cast<double>(zeros);
  for (const auto count : counts) {
    ++i;
    total += static_cast<double>(count);
    weighted += (2 * i - n - 1) * static_cast<double>(count);
  }
  return total == 0 ? 0 : weighted / (n * total);
}

json tensor_facts(const Coo& tensor) {
  json facts;
  for (const auto& mode : mode_facts(tensor)) {
    facts["fibers"].push_back(mode.fibers);
    facts["per_fiber"].push_back(mode.per_fiber);
    facts["slices"].push_back(mode.slices);
    facts["largest_slice"].push_back(mode.largest_slice);
    facts["slice_gini"].push_back(mode.slice_gini);
  }
  for (const Count edge : {8, 16}) {
    const auto tiles = tile_count(tensor, edge);
    facts[fmt::format("tile{}", edge)] = {{"tiles", tiles},
                                          {"per_tile", share(tensor.nnz(), tiles)}};
  }
  return facts;
}

json kept_facts(const std::string& cache_dir, const std::string& data_sha256,
                const std::function<std::shared_ptr<const Coo>()>& tensor) {
  const auto path = fs::path(cache_dir) / "facts" / (data_sha256 + ".json");
  if (auto kept = read_kept(path); !kept.is_null()) return kept;
  auto facts = tensor_facts(*tensor());
  keep(facts, path);
  return facts;
}

Count factor_bytes(const ProblemSpec& problem, const Dims& dims) {
  const auto all = std::accumulate(dims.begin(), dims.end(), Count{0});
  const auto mode = static_cast<std::size_t>(problem.mode);
  const auto elements = [&]() -> Count {
    switch (problem.operation) {
      case Operation::mttkrp:
      case Operation::mttkrp_all:
      case Operation::cpd:
        return all * problem.rank;
      case Operation::ttm:
        return dims.at(mode) * problem.rank;
      case Operation::spmm:
        return dims.at(1) * problem.rank;
      case Operation::ttm_chain: {
        const auto lowest = dims.at(mode == 0 ? 1 : 0);
        const auto rank2 = problem.rank2 == 0 ? problem.rank : problem.rank2;
        return lowest * problem.rank + (all - lowest - dims.at(mode)) * rank2;
      }
      default:
        return 0;
    }
  };
  return elements() * size_of(problem.dtype);
}

json with_factors(json facts, const ProblemSpec& problem, const Dims& dims, Backend backend,
                  const json& machine) {
  if (!has_rank(problem.operation)) return facts;
  const auto bytes = factor_bytes(problem, dims);
  facts["factor_bytes"] = bytes;
  const auto processor = machine.value(backend == Backend::cuda ? "gpu" : "cpu", json::object());
  const auto cache = processor.value(backend == Backend::cuda ? "l2_bytes" : "llc_bytes", Count{0});
  if (cache == 0) return facts;
  facts["cache_bytes"] = cache;
  facts["factors_over_cache"] = share(bytes, cache);
  return facts;
}

}  // namespace retensor::driver
