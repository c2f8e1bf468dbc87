// Algorithm 1 of FLYCOO and what it is compared with; see partition.hpp.
//
// Algorithm 1 is Graham's rule "longest processing time first": its largest load is at most
// 4/3 - 1/(3 kappa) of the optimum (R. L. Graham, Bounds on multiprocessing timing anomalies,
// 1969). The text of section 3.4 deals the sorted indices out in turn instead, which has no such
// bound.
#include "papers/flycoo/format/partition.hpp"

#include <array>
#include <atomic>
#include <boost/sort/sort.hpp>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <utility>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"

namespace retensor::flycoo {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"least_loaded", "cyclic", "contiguous",
                                                    "random"};

// An index of the mode with the nonzeros in its slice (a vertex and its hyperedges).
struct Vertex {
  Count nonzeros;
  Index index;
};

// Adds to shared counts. Equal indices are first added up in a small table of the thread's own, so
// that an index with many nonzeros does not make the threads wait for each other.
class Counter {
 public:
  explicit Counter(std::vector<Count>& count) : count_(count) {}
  ~Counter() {
    for (const Vertex& v : held_) flush(v);
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void add(Index index) {
    Vertex& v = held_[index % held_.size()];
    if (v.index != index) {
      flush(v);
      v = {0, index};
    }
    ++v.nonzeros;
  }

 private:
  void flush(const Vertex& v) {
    if (v.nonzeros > 0)
      std::atomic_ref<Count>(count_[v.index]).fetch_add(v.nonzeros, std::memory_order_relaxed);
  }

  std::vector<Count>& count_;
  std::array<Vertex, 512> held_{};  // 8 KiB: a part of the first-level cache
};

std::vector<Count> count_nonzeros(std::span<const Index> index, std::uint64_t length) {
  std::vector<Count> count(length);
#pragma omp parallel
  {
    Counter counter(count);
#pragma omp for schedule(static)
    for (Count p = 0; p < index.size(); ++p) counter.add(index[p]);
  }
  return count;
}

// Indices that have nonzeros, those with most first.
std::vector<Vertex> sorted_vertices(const std::vector<Count>& count) {
  std::vector<Vertex> vertices;
  for (Count i = 0; i < count.size(); ++i)
    if (count[i] > 0) vertices.push_back({count[i], static_cast<Index>(i)});
  boost::sort::block_indirect_sort(
      vertices.begin(), vertices.end(), [](const Vertex& a, const Vertex& b) {
        return a.nonzeros != b.nonzeros ? a.nonzeros > b.nonzeros : a.index < b.index;
      });
  return vertices;
}

using Load = std::pair<Count, std::uint32_t>;  // nonzeros, partition

// Algorithm 1 with the partitions in a heap, the least filled on top.
class LeastLoaded {
 public:
  explicit LeastLoaded(std::uint32_t kappa) : kappa_(kappa) {
    std::vector<Load> empty;
    for (std::uint32_t k = 0; k < kappa; ++k) empty.emplace_back(0, k);
    rebuild(std::move(empty));
  }

  void assign(std::span<const Vertex> vertices, std::vector<std::uint32_t>& part) {
    std::size_t v = 0;
    while (v < vertices.size())
      v += takes_turns(vertices, v) ? deal(vertices, v, part) : place(vertices[v], part);
  }
  std::uint32_t least_filled() const { return heap_.top().second; }

 private:
  // Once all loads lie within the weight of the next kappa vertices and more, the least filled
  // partition becomes the fullest with each vertex: the partitions take turns. Long modes consist
  // mostly of indices with few nonzeros, for which this saves the heap.
  bool takes_turns(std::span<const Vertex> vertices, std::size_t v) const {
    const Count weight = vertices[v].nonzeros;
    return vertices.size() - v > kappa_ && vertices[v + kappa_].nonzeros == weight &&
           fullest_ - heap_.top().first < weight;
  }

  // Deals out all vertices of one weight; how many they are.
  std::size_t deal(std::span<const Vertex> vertices, std::size_t first,
                   std::vector<std::uint32_t>& part) {
    std::vector<Load> turns;
    for (; !heap_.empty(); heap_.pop()) turns.push_back(heap_.top());
    const Count weight = vertices[first].nonzeros;
    std::size_t v = first;
    for (std::size_t k = 0; v < vertices.size() && vertices[v].nonzeros == weight; ++v) {
      Load& turn = turns[k];
      part[vertices[v].index] = turn.second;
      turn.first += weight;
      fullest_ = std::max(fullest_, turn.first);
      if (++k == turns.size()) k = 0;
    }
    rebuild(std::move(turns));
    return v - first;
  }

  std::size_t place(const Vertex& vertex, std::vector<std::uint32_t>& part) {
    const auto [load, k] = heap_.top();
    heap_.pop();
    part[vertex.index] = k;
    heap_.emplace(load + vertex.nonzeros, k);
    fullest_ = std::max(fullest_, load + vertex.nonzeros);
    return 1;
  }

  void rebuild(std::vector<Load> loads) { heap_ = Heap(std::greater<Load>(), std::move(loads)); }

  using Heap = std::priority_queue<Load, std::vector<Load>, std::greater<Load>>;
  const std::uint32_t kappa_;
  Heap heap_;
  Count fullest_ = 0;
};

// Indices without nonzeros stay in partition 0 unless Algorithm 1 says otherwise.
std::vector<std::uint32_t> least_loaded(const std::vector<Count>& count, std::uint32_t kappa) {
  std::vector<std::uint32_t> part(count.size());
  LeastLoaded partitions(kappa);
  partitions.assign(sorted_vertices(count), part);
  for (Count i = 0; i < count.size(); ++i)
    if (count[i] == 0) part[i] = partitions.least_filled();
  return part;
}

std::vector<std::uint32_t> cyclic(const std::vector<Count>& count, std::uint32_t kappa) {
  std::vector<std::uint32_t> part(count.size());
  const auto vertices = sorted_vertices(count);
  for (std::size_t v = 0; v < vertices.size(); ++v)
    part[vertices[v].index] = static_cast<std::uint32_t>(v % kappa);
  return part;
}

// An index goes to the partition into whose equal share of the nonzeros its middle falls.
std::vector<std::uint32_t> contiguous(const std::vector<Count>& count, Count nnz,
                                      std::uint32_t kappa) {
  std::vector<std::uint32_t> part(count.size());
  Count before = 0;
  for (Count i = 0; i < count.size() && nnz > 0; ++i) {
    const Uint128 middle = Uint128{2} * before + count[i];
    const auto share = static_cast<std::uint32_t>(middle * kappa / (Uint128{2} * nnz));
    part[i] = std::min(share, kappa - 1);
    before += count[i];
  }
  return part;
}

std::vector<std::uint32_t> random(std::uint64_t length, std::uint32_t kappa, std::uint64_t seed) {
  std::vector<std::uint32_t> part(length);
  const CounterRng rng(seed);
#pragma omp parallel for schedule(static)
  for (Count i = 0; i < part.size(); ++i) part[i] = static_cast<std::uint32_t>(rng.below(i, kappa));
  return part;
}

std::vector<std::uint32_t> assigned(const std::vector<Count>& count, Count nnz, std::uint32_t kappa,
                                    Assignment assignment, std::uint64_t seed) {
  switch (assignment) {
    case Assignment::cyclic:
      return cyclic(count, kappa);
    case Assignment::contiguous:
      return contiguous(count, nnz, kappa);
    case Assignment::random:
      return random(count.size(), kappa, seed);
    case Assignment::least_loaded:
      break;
  }
  return least_loaded(count, kappa);
}

}  // namespace

std::string_view name(Assignment assignment) {
  return kNames[static_cast<std::size_t>(assignment)];
}

Assignment assignment_from_name(std::string_view text) {
  const auto at = std::find(kNames.begin(), kNames.end(), text);
  if (at != kNames.end()) return static_cast<Assignment>(at - kNames.begin());
  throw InputError("unknown assignment '" + std::string(text) +
                   "', expected least_loaded, cyclic, contiguous or random");
}

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

Partitioning partition_counts(const std::vector<Count>& count, std::uint32_t kappa,
                              Assignment assignment, std::uint64_t seed) {
  if (kappa == 0) throw InputError("found 0 partitions, expected at least 1");
  Partitioning p;
  p.part = assigned(count, std::accumulate(count.begin(), count.end(), Count{0}), kappa, assignment,
                    seed);
  p.start.assign(Count{kappa} + 1, 0);
  for (Count i = 0; i < count.size(); ++i) {
    p.start[Count{p.part[i]} + 1] += count[i];
    p.heaviest = std::max(p.heaviest, count[i]);
  }
  for (std::uint32_t k = 0; k < kappa; ++k) p.start[k + 1] += p.start[k];
  return p;
}

Partitioning partition_mode(std::span<const Index> index, std::uint64_t length, std::uint32_t kappa,
                            Assignment assignment, std::uint64_t seed) {
  return partition_counts(count_nonzeros(index, length), kappa, assignment, seed);
}

}  // namespace retensor::flycoo
