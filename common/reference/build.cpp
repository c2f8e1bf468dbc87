// From rows to an expected result: every row, or a sample and the checksum.
#include <algorithm>
#include <boost/sort/sort.hpp>
#include <functional>
#include <numeric>
#include <utility>

#include "common/reference/chunks.hpp"
#include "common/reference/row_source.hpp"

namespace retensor::reference {
namespace {

std::vector<Count> all_rows(Count n) {
  std::vector<Count> rows(n);
  std::iota(rows.begin(), rows.end(), Count{0});
  return rows;
}

// The rows of most products, the first of equal ones.
std::vector<Count> heaviest_rows(const Doubles& products, Count most) {
  const auto heavier = [&](Count a, Count b) {
    return products[a] != products[b] ? products[a] > products[b] : a < b;
  };
  const auto choose = [&](std::vector<Count>& part, Count begin, Count end) {
    part.resize(std::min(most, end - begin));
    std::vector<Count> rows(end - begin);
    std::iota(rows.begin(), rows.end(), begin);
    std::partial_sort_copy(rows.begin(), rows.end(), part.begin(), part.end(), heavier);
  };
  std::vector<Count> all;
  for (const auto& part :
       in_chunks<std::vector<Count>>(products.size(), chunk_count(products.size(), 65536, 1024),
                                     threads_for(static_cast<double>(products.size())), choose))
    all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end(), heavier);
  all.resize(most);
  return all;
}

std::vector<Count> sample_rows(const Doubles& products, const Limits& limits) {
  const Count n = products.size();
  if (n <= limits.fibers) return all_rows(n);
  auto rows = heaviest_rows(products, std::max<Count>(1, limits.fibers / 4));
  rows.insert(rows.end(), {0, n - 1});
  const CounterRng rng(limits.seed, 104);
  for (Count s = 0; s < limits.fibers; ++s) {
    const Count begin = part_start(n, limits.fibers, s), end = part_start(n, limits.fibers, s + 1);
    rows.push_back(begin + rng.below(s, end - begin));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Sorts fibers of one element by key; blocks come from sources whose rows ascend already.
void sort_fibers(Fibers& fibers) {
  if (std::is_sorted(fibers.keys.begin(), fibers.keys.end())) return;
  UnsetArray<std::pair<Key, Count>> order(fibers.count());
#pragma omp parallel for schedule(static)
  for (Count f = 0; f < order.size(); ++f) order[f] = {fibers.keys[f], f};
  boost::sort::block_indirect_sort(order.begin(), order.end());
  const auto sort = [&order]<class T>(UnsetArray<T>& v) {
    UnsetArray<T> sorted(v.size());
#pragma omp parallel for schedule(static)
    for (Count f = 0; f < v.size(); ++f) sorted[f] = v[order[f].second];
    v = std::move(sorted);
  };
  sort(fibers.keys);
  sort(fibers.terms);
  sort(fibers.values);
  sort(fibers.l1);
}

// One member of all parts behind each other; frees the parts'.
template <class T>
UnsetArray<T> joined(std::vector<Fibers>& parts, UnsetArray<T> Fibers::*member) {
  std::vector<Count> first{0};
  for (const Fibers& part : parts) first.push_back(first.back() + (part.*member).size());
  UnsetArray<T> all(first.back());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const UnsetArray<T> own = std::exchange(parts[k].*member, {});
    std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(first[k]));
  }
  return all;
}

Fibers evaluate_rows(const RowSource& source, const std::vector<Count>& rows,
                     const Weights& weights, Count stride) {
  double work = 0;
  for (const Count r : rows) work += source.products(r);
  const auto evaluate = [&](Fibers& part, Count begin, Count end) {
    for (Count r = begin; r < end; ++r) source.evaluate(rows[r], weights, stride, part);
  };
  auto parts = in_chunks<Fibers>(rows.size(), chunk_count(rows.size(), 1, 1024),
                                 std::min(threads_for(work), source.threads()), evaluate);
  Fibers all{joined(parts, &Fibers::keys), joined(parts, &Fibers::terms),
             joined(parts, &Fibers::values), joined(parts, &Fibers::l1)};
  sort_fibers(all);
  return all;
}

// Cuts of the rows into nearly equal shares of the products: a mode with few indices has all of its
// nonzeros in few rows.
std::vector<Count> even_cuts(const Doubles& products, double total, Count chunks) {
  std::vector<Count> cuts{0};
  double before = 0;
  for (Count r = 0; r < products.size(); before += products[r++])
    if (before * static_cast<double>(chunks) >= total * static_cast<double>(cuts.size()))
      cuts.push_back(r);
  cuts.push_back(products.size());
  return cuts;
}

}  // namespace

Buckets RowSource::checksum_buckets(const Weights& weights, const Doubles& products,
                                    double total) const {
  // Fewer chunks where their buckets would outnumber the rows.
  const auto cuts = even_cuts(products, total, chunk_count(rows(), Weights::kBuckets));
  const auto add_rows = [&](Buckets& part, Count begin, Count end) {
    part.resize(Weights::kBuckets);
    for (Count r = begin; r < end; ++r) {
      const Key row = key(r);
      part[weights.bucket(row)].add(checksum(r), weights.row(row));
    }
  };
  return sum_of(between<Buckets>(cuts, threads_for(total), add_rows));
}

Expected build(const RowSource& source, const Limits& limits) {
  const Weights weights(limits.seed);
  Expected::Data data;
  data.layout = source.layout();
  data.index_space = std::accumulate(data.layout.dims.begin(), data.layout.dims.end(), 1.0,
                                     std::multiplies<double>());
  // Whole numbers, whose sums are exact in any order.
  Doubles products_of(source.rows());
  double products = 0, entries = 0;
#pragma omp parallel for schedule(static) reduction(+ : products, entries)
  for (Count r = 0; r < source.rows(); ++r) {
    products += products_of[r] = source.products(r);
    entries += source.entries(r);
  }
  data.sampled = products > limits.products || entries > limits.entries;
  if (!data.sampled) {
    data.fibers = evaluate_rows(source, all_rows(source.rows()), weights, 1);
    return Expected(std::move(data));
  }
  const std::vector<Count> rows = sample_rows(products_of, limits);
  double sampled_products = 0;
  for (const Count r : rows) {
    data.sample.rows.push_back(source.key(r));
    sampled_products += products_of[r];
  }
  std::sort(data.sample.rows.begin(), data.sample.rows.end());
  data.sample.seed = limits.seed;
  if (!data.layout.column_modes.empty())
    data.sample.column_stride =
        std::max<Count>(1, static_cast<Count>(sampled_products / std::max(1.0, limits.products)));
  data.fibers = evaluate_rows(source, rows, weights, data.sample.column_stride);
  data.sample.buckets = source.checksum_buckets(weights, products_of, products);
  // The share of the index space that the sampled rows stand for.
  data.index_space *= static_cast<double>(rows.size()) / static_cast<double>(source.rows()) /
                      static_cast<double>(data.sample.column_stride);
  return Expected(std::move(data));
}

}  // namespace retensor::reference
