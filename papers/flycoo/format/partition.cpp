// Algorithm 1 of FLYCOO and what it is compared with; see partition.hpp.
//
// Algorithm 1 is Graham's rule "longest processing time first": its largest load is at most
// 4/3 - 1/(3 kappa) of the optimum (R. L. Graham, Bounds on multiprocessing timing anomalies,
// 1969). The text of section 3.4 deals the sorted indices out in turn instead, which has no such
// bound.
#include "papers/flycoo/format/partition.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/sort/sort.hpp>
#include <functional>
#include <numeric>
#include <utility>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"

namespace retensor::flycoo {
namespace {

using Counts = std::vector<Count>;         // nonzeros of each index
using Parts = std::vector<std::uint32_t>;  // partition of each index

// An index of the mode with the nonzeros in its slice (a vertex and its hyperedges).
struct Vertex {
  Count nonzeros;
  Index index;
};

// Counts the nonzeros of each index. A thread adds equal indices up in a small table of its own
// first, so that an index with many nonzeros does not make the threads wait for each other.
Counts count_nonzeros(std::span<const Index> index, std::uint64_t length) {
  Counts count(length);
  const auto flush = [&](const Vertex& v) {
    if (v.nonzeros > 0)
      std::atomic_ref<Count>(count[v.index]).fetch_add(v.nonzeros, std::memory_order_relaxed);
  };
#pragma omp parallel
  {
    std::array<Vertex, 512> held{};  // 8 KiB: a part of the first-level cache
#pragma omp for schedule(static)
    for (Count p = 0; p < index.size(); ++p) {
      Vertex& v = held[index[p] % held.size()];
      if (v.index != index[p]) {
        flush(v);
        v = {0, index[p]};
      }
      ++v.nonzeros;
    }
    for (const Vertex& v : held) flush(v);
  }
  return count;
}

// Indices that have nonzeros, those with most first.
std::vector<Vertex> sorted_vertices(const Counts& count) {
  std::vector<Vertex> vertices;
  for (Count i = 0; i < count.size(); ++i)
    if (count[i] > 0) vertices.push_back({count[i], static_cast<Index>(i)});
  boost::sort::block_indirect_sort(
      vertices.begin(), vertices.end(), [](const Vertex& a, const Vertex& b) {
        return a.nonzeros != b.nonzeros ? a.nonzeros > b.nonzeros : a.index < b.index;
      });
  return vertices;
}

// Algorithm 1 with the partitions in a heap, the least filled on top. Once their loads lie within
// the weight that the next kappa vertices and more have, the least filled partition becomes the
// fullest with each vertex: the partitions take turns. Long modes consist mostly of indices with
// few nonzeros, for which this saves the heap.
Parts least_loaded(const Counts& count, std::uint32_t kappa) {
  using Load = std::pair<Count, std::uint32_t>;  // nonzeros, partition
  const std::vector<Vertex> vertices = sorted_vertices(count);
  Parts part(count.size());
  std::vector<Load> heap;
  for (std::uint32_t k = 0; k < kappa; ++k) heap.emplace_back(0, k);
  Count fullest = 0;
  const auto assign = [&](const Vertex& v, Load& to) {
    part[v.index] = to.second;
    to.first += v.nonzeros;
    fullest = std::max(fullest, to.first);
  };
  for (std::size_t v = 0; v < vertices.size();) {
    const Count weight = vertices[v].nonzeros;
    if (vertices.size() - v > kappa && vertices[v + kappa].nonzeros == weight &&
        fullest - heap.front().first < weight) {
      std::sort(heap.begin(), heap.end());
      for (std::size_t k = 0; v < vertices.size() && vertices[v].nonzeros == weight; ++v) {
        assign(vertices[v], heap[k]);
        if (++k == heap.size()) k = 0;
      }
      std::make_heap(heap.begin(), heap.end(), std::greater<Load>());
    } else {
      std::pop_heap(heap.begin(), heap.end(), std::greater<Load>());
      assign(vertices[v++], heap.back());
      std::push_heap(heap.begin(), heap.end(), std::greater<Load>());
    }
  }
  for (Count i = 0; i < count.size(); ++i)
    if (count[i] == 0) part[i] = heap.front().second;
  return part;
}

// Indices without nonzeros stay in partition 0.
Parts cyclic(const Counts& count, std::uint32_t kappa) {
  Parts part(count.size());
  const auto vertices = sorted_vertices(count);
  for (std::size_t v = 0; v < vertices.size(); ++v)
    part[vertices[v].index] = static_cast<std::uint32_t>(v % kappa);
  return part;
}

// An index goes to the partition into whose equal share of the nonzeros its middle falls.
Parts contiguous(const Counts& count, std::uint32_t kappa) {
  const Count nnz = std::accumulate(count.begin(), count.end(), Count{0});
  Parts part(count.size());
  Count before = 0;
  for (Count i = 0; i < count.size() && nnz > 0; ++i) {
    const Uint128 middle = Uint128{2} * before + count[i];
    const auto share = static_cast<std::uint32_t>(middle * kappa / (Uint128{2} * nnz));
    part[i] = std::min(share, kappa - 1);
    before += count[i];
  }
  return part;
}

Parts random(std::uint64_t length, std::uint32_t kappa, std::uint64_t seed) {
  Parts part(length);
  const CounterRng rng(seed);
#pragma omp parallel for schedule(static)
  for (Count i = 0; i < part.size(); ++i) part[i] = static_cast<std::uint32_t>(rng.below(i, kappa));
  return part;
}

Parts assigned(const Counts& count, std::uint32_t kappa, Assignment how, std::uint64_t seed) {
  switch (how) {
    case Assignment::cyclic:
      return cyclic(count, kappa);
    case Assignment::contiguous:
      return contiguous(count, kappa);
    case Assignment::random:
      return random(count.size(), kappa, seed);
    default:
      return least_loaded(count, kappa);
  }
}

}  // namespace

Count Partitioning::largest_load() const {
  Count largest = 0;
  for (std::uint32_t k = 0; k < kappa(); ++k) largest = std::max(largest, load(k));
  return largest;
}

double Partitioning::load_ratio() const {
  const Count nnz = start.back();
  if (nnz == 0) return 1;
  const Count share = nnz / kappa() + (nnz % kappa() != 0 ? 1 : 0);
  return static_cast<double>(largest_load()) / static_cast<double>(std::max(share, heaviest));
}

Partitioning partition_counts(const Counts& count, std::uint32_t kappa, Assignment assignment,
                              std::uint64_t seed) {
  if (kappa == 0) throw InputError("found 0 partitions, expected at least 1");
  Partitioning p{assigned(count, kappa, assignment, seed), Counts(Count{kappa} + 1), 0};
  for (Count i = 0; i < count.size(); ++i) {
    p.start[Count{p.part[i]} + 1] += count[i];
    p.heaviest = std::max(p.heaviest, count[i]);
  }
  std::partial_sum(p.start.begin(), p.start.end(), p.start.begin());
  return p;
}

Partitioning partition_mode(std::span<const Index> index, std::uint64_t length, std::uint32_t kappa,
                            Assignment assignment, std::uint64_t seed) {
  return partition_counts(count_nonzeros(index, length), kappa, assignment, seed);
}

}  // namespace retensor::flycoo
