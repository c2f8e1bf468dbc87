// A nonzero travels as its coordinates and its value, an array at a time.
#include "common/distribute/partition.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "common/core/text.hpp"

namespace retensor::distribute {
using communicate::Communicator;
using communicate::Parts;

namespace {

constexpr std::array<std::string_view, 3> kRules = {"allreduce", "owner", "medium"};

/// Where each nonzero stands among all that are sent, those for process 0 first, and how many go to
/// each process. Threads take ranges of nonzeros, so that these keep their order.
class Destinations {
 public:
  /// to(x) is the process that nonzero x goes to.
  template <class To>
  Destinations(int processes, Count nonzeros, const To& to)
      : place_(nonzeros), counts_(static_cast<std::size_t>(processes), 0) {
    const auto p = counts_.size();
    const Count ranges = static_cast<Count>(omp_get_max_threads());
    const auto begin = [&](Count range) { return nonzeros * range / ranges; };
    std::vector<Parts> next(ranges);  // of a range: how many, then the next place
#pragma omp parallel for
    for (Count range = 0; range < ranges; ++range) {
      Parts own(p, 0);
      for (Count x = begin(range); x < begin(range + 1); ++x) ++own[to(x)];
      next[range] = std::move(own);
    }
    Count before = 0;
    for (std::size_t r = 0; r < p; ++r)
      for (auto& of_range : next) {
        counts_[r] += of_range[r];
        before += std::exchange(of_range[r], before);
      }
#pragma omp parallel for
    for (Count range = 0; range < ranges; ++range)
      for (Count x = begin(range); x < begin(range + 1); ++x) place_[x] = next[range][to(x)]++;
  }

  template <class T>
  std::vector<T> send(Communicator& processes, std::span<const T> mine) const {
    std::vector<T> out(mine.size());
#pragma omp parallel for
    for (Count x = 0; x < mine.size(); ++x) out[place_[x]] = mine[x];
    return processes.all_to_all(std::span<const T>(out), counts_);
  }

 private:
  std::vector<Count> place_;
  Parts counts_;
};

template <class To>
Coo moved(Communicator& processes, const Coo& mine, const To& to) {
  if (processes.size() == 1) return mine;
  const Destinations destinations(processes.size(), mine.nnz(), to);
  Coo result;
  result.dims = mine.dims;
  for (const auto& indices : mine.indices)
    result.indices.push_back(destinations.send(processes, std::span<const Index>(indices)));
  mine.values.visit([&]<class T>(const Array<T>& values) {
    result.values = Values(destinations.send(processes, std::span<const T>(values)));
  });
  return result;
}

/// The cost of each slice of a mode, over all processes.
Parts slices_of(Communicator& processes, const Coo& mine, std::size_t mode, const Cost& cost) {
  Parts counts(mine.dims[mode], 0);
  for (const auto i : mine.indices[mode]) ++counts[i];
  processes.all_reduce(std::span(counts));
  for (auto& slice : counts) slice = slice * cost.nonzero + cost.row;
  return counts;
}

/// Rows of the results that a process adds to in the passes over a tensor of its share.
Count rows_of(const Share& share, std::size_t tensor) {
  const auto& dims = share.tensors[tensor].dims;
  Count rows = 0;
  for (std::size_t m = 0; m < dims.size(); ++m) {
    if (share.rule == Rule::owner && m != tensor) continue;
    const auto k = static_cast<std::size_t>(share.coordinates[m]);
    rows += share.cuts.empty() ? dims[m] : share.cuts[m][k + 1] - share.cuts[m][k];
  }
  return rows;
}

/// The range that each index lies in.
std::vector<std::size_t> ranges_of(const Parts& cuts) {
  std::vector<std::size_t> range(cuts.back());
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
    std::fill(range.begin() + static_cast<std::ptrdiff_t>(cuts[k]),
              range.begin() + static_cast<std::ptrdiff_t>(cuts[k + 1]), k);
  return range;
}

/// Of a rank in a grid, the last mode fastest.
std::vector<int> coordinates_of(int rank, const std::vector<int>& grid) {
  std::vector<int> at(grid.size());
  for (std::size_t m = grid.size(); m-- > 0;) {
    at[m] = rank % grid[m];
    rank /= grid[m];
  }
  return at;
}

void share_evenly(Communicator& processes, const Coo& mine, Share& share) {
  Parts before(static_cast<std::size_t>(processes.size()), 0);
  before[static_cast<std::size_t>(processes.rank())] = mine.nnz();
  processes.all_reduce(std::span(before));
  const auto all = communicate::sum_of(before);
  if (before == communicate::even_parts(all, processes.size())) {
    share.tensors = {mine};
    return;
  }
  const auto first = std::accumulate(before.begin(), before.begin() + processes.rank(), Count{0});
  const auto p = static_cast<Count>(processes.size());
  share.tensors = {moved(processes, mine,
                         [=](Count x) { return static_cast<std::size_t>((first + x) * p / all); })};
}

void share_by_owner(Communicator& processes, const Coo& mine, Share& share) {
  for (std::size_t m = 0; m < mine.dims.size(); ++m) {
    share.cuts.push_back(cuts_of(slices_of(processes, mine, m, share.cost), processes.size()));
    const auto range = ranges_of(share.cuts[m]);
    share.tensors.push_back(
        moved(processes, mine, [&](Count x) { return range[mine.indices[m][x]]; }));
  }
}

void share_by_grid(Communicator& processes, const Coo& mine, Share& share) {
  std::vector<std::vector<std::size_t>> ranges;
  for (std::size_t m = 0; m < mine.dims.size(); ++m) {
    share.cuts.push_back(cuts_of(slices_of(processes, mine, m, share.cost), share.grid[m]));
    ranges.push_back(ranges_of(share.cuts[m]));
  }
  share.tensors = {moved(processes, mine, [&](Count x) {
    std::size_t rank = 0;
    for (std::size_t m = 0; m < ranges.size(); ++m)
      rank = rank * static_cast<std::size_t>(share.grid[m]) + ranges[m][mine.indices[m][x]];
    return rank;
  })};
}

}  // namespace

Rule rule_from_name(std::string_view name) {
  return static_cast<Rule>(place_among(kRules, name, "dist: found"));
}

std::string_view name(Rule rule) {
  return kRules[static_cast<std::size_t>(rule)];
}

std::vector<int> grid_of(int processes, const Dims& dims) {
  std::vector<int> primes;
  for (int p = 2; processes > 1; ++p)
    for (; processes % p == 0; processes /= p) primes.push_back(p);
  std::vector<int> grid(dims.size(), 1);
  for (auto prime = primes.rbegin(); prime != primes.rend(); ++prime) {
    std::size_t longest = 0;
    const auto indices = [&](std::size_t m) { return dims[m] / static_cast<Count>(grid[m]); };
    for (std::size_t m = 1; m < dims.size(); ++m)
      if (indices(m) > indices(longest)) longest = m;
    grid[longest] *= *prime;
  }
  return grid;
}

Cost cost_of_mttkrp(int order, std::uint64_t rank, DType type) {
  const auto modes = static_cast<Count>(order);
  const Count row = rank * size_of(type);
  return {modes * sizeof(Index) + size_of(type) + (modes - 1) * row, row};
}

Parts cuts_of(const Parts& cost_of_slices, int parts) {
  const auto all = communicate::sum_of(cost_of_slices);
  const auto p = static_cast<Count>(parts);
  Parts cuts = {0};
  Count so_far = 0;
  for (Count slice = 0; slice < cost_of_slices.size(); ++slice) {
    so_far += cost_of_slices[slice];
    while (cuts.size() < p && so_far * p >= cuts.size() * all && so_far > 0)
      cuts.push_back(slice + 1);
  }
  while (cuts.size() <= p) cuts.push_back(cost_of_slices.size());
  cuts.back() = cost_of_slices.size();
  return cuts;
}

Share share_out(Communicator& processes, const Coo& mine, Rule rule, Cost cost) {
  Share share;
  share.rule = rule;
  share.cost = cost;
  const auto order = mine.dims.size();
  share.grid = rule == Rule::medium ? grid_of(processes.size(), mine.dims)
                                    : std::vector<int>(order, processes.size());
  share.coordinates = rule == Rule::medium ? coordinates_of(processes.rank(), share.grid)
                                           : std::vector<int>(order, processes.rank());
  if (rule == Rule::allreduce) share_evenly(processes, mine, share);
  if (rule == Rule::owner) share_by_owner(processes, mine, share);
  if (rule == Rule::medium) share_by_grid(processes, mine, share);
  return share;
}

std::vector<std::vector<double>> loads(Communicator& processes, const Share& share) {
  std::vector<std::vector<double>> result;
  for (std::size_t t = 0; t < share.tensors.size(); ++t) {
    Parts costs(static_cast<std::size_t>(processes.size()), 0);
    costs[static_cast<std::size_t>(processes.rank())] =
        share.tensors[t].nnz() * share.cost.nonzero + rows_of(share, t) * share.cost.row;
    processes.all_reduce(std::span(costs));
    const auto mean = static_cast<double>(communicate::sum_of(costs)) / processes.size();
    auto& own = result.emplace_back();
    for (const auto cost : costs) own.push_back(mean > 0 ? static_cast<double>(cost) / mean : 1);
  }
  return result;
}

std::vector<double> imbalance(Communicator& processes, const Share& share) {
  std::vector<double> most;
  for (const auto& each : loads(processes, share))
    most.push_back(*std::max_element(each.begin(), each.end()));
  return most;
}

}  // namespace retensor::distribute
