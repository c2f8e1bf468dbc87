// From rows to an expected result: every row, or a sample and the checksum.
#include <algorithm>
#include <boost/sort/sort.hpp>
#include <cmath>
#include <numeric>

#include "common/reference/chunks.hpp"
#include "common/reference/row_source.hpp"

namespace retensor::reference {
namespace {

template <class F>
double sum_over_rows(const RowSource& source, F&& of_row) {
  double sum = 0;
  for (Count r = 0; r < source.rows(); ++r) sum += of_row(r);
  return sum;
}

std::vector<Count> all_rows(Count n) {
  std::vector<Count> rows(n);
  std::iota(rows.begin(), rows.end(), Count{0});
  return rows;
}

// Start of part s of n rows in `parts` nearly equal parts.
Count stratum(Count n, Count parts, Count s) {
  return s * (n / parts) + std::min(s, n % parts);
}

std::vector<Count> sample_rows(const RowSource& source, const Limits& limits) {
  const Count n = source.rows();
  if (n <= limits.fibers) return all_rows(n);
  std::vector<Count> heavy = all_rows(n);
  const Count heaviest = std::max<Count>(1, limits.fibers / 4);
  std::partial_sort(heavy.begin(), heavy.begin() + static_cast<std::ptrdiff_t>(heaviest),
                    heavy.end(), [&](Count a, Count b) {
                      const double pa = source.products(a), pb = source.products(b);
                      return pa != pb ? pa > pb : a < b;
                    });
  std::vector<Count> rows(heavy.begin(), heavy.begin() + static_cast<std::ptrdiff_t>(heaviest));
  rows.push_back(0);
  rows.push_back(n - 1);
  const CounterRng rng(limits.seed, 104);
  for (Count s = 0; s < limits.fibers; ++s) {
    const Count begin = stratum(n, limits.fibers, s), end = stratum(n, limits.fibers, s + 1);
    rows.push_back(begin + rng.below(s, end - begin));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// Sorts fibers of one element by key; blocks come from sources whose rows ascend already.
void sort_fibers(Fibers& fibers) {
  if (std::is_sorted(fibers.keys.begin(), fibers.keys.end())) return;
  std::vector<std::pair<Key, Count>> order(fibers.count());
  for (Count f = 0; f < order.size(); ++f) order[f] = {fibers.keys[f], f};
  boost::sort::block_indirect_sort(order.begin(), order.end());
  const Count width = fibers.values.size() / fibers.count();
  Fibers sorted;
  sorted.keys.reserve(fibers.count());
  sorted.terms.reserve(fibers.count());
  sorted.values.reserve(fibers.values.size());
  sorted.l1.reserve(fibers.l1.size());
  for (const auto& [key, f] : order) {
    sorted.keys.push_back(key);
    sorted.terms.push_back(fibers.terms[f]);
    for (Count e = f * width; e < (f + 1) * width; ++e) {
      sorted.values.push_back(fibers.values[e]);
      sorted.l1.push_back(fibers.l1[e]);
    }
  }
  fibers = std::move(sorted);
}

Fibers evaluate_rows(const RowSource& source, const std::vector<Count>& rows,
                     const Weights& weights, Count stride) {
  double work = 0;
  for (const Count r : rows) work += source.products(r);
  const Count chunks = chunk_count(rows.size(), 1, 1024);
  std::vector<Fibers> parts(chunks);
  const int threads = std::min(threads_for(work), source.threads());
  for_chunks(rows.size(), chunks, threads, [&](Count c, Count begin, Count end) {
    for (Count r = begin; r < end; ++r) source.evaluate(rows[r], weights, stride, parts[c]);
  });
  Fibers all;
  Count fibers = 0, elements = 0;
  for (const Fibers& part : parts) {
    fibers += part.count();
    elements += part.values.size();
  }
  all.keys.reserve(fibers);
  all.terms.reserve(fibers);
  all.values.reserve(elements);
  all.l1.reserve(elements);
  for (Fibers& part : parts) {
    all.append(part);
    part = {};
  }
  sort_fibers(all);
  return all;
}

std::vector<WeightedSum> checksum_buckets(const RowSource& source, const Weights& weights,
                                          double products) {
  // Fewer chunks where their buckets would outnumber the rows.
  const Count chunks = chunk_count(source.rows(), Weights::kBuckets);
  std::vector<std::vector<WeightedSum>> parts(chunks);
  const int threads = threads_for(products);
  for_chunks(source.rows(), chunks, threads, [&](Count c, Count begin, Count end) {
    parts[c].resize(Weights::kBuckets);
    for (Count r = begin; r < end; ++r) {
      const Key key = source.key(r);
      parts[c][weights.bucket(key)].add(source.checksum(r), weights.row(key));
    }
  });
  std::vector<WeightedSum> buckets(Weights::kBuckets);
  for (const auto& part : parts)
    for (std::size_t b = 0; b < buckets.size(); ++b) buckets[b].add(part[b], 1.0);
  return buckets;
}

double index_space(const Dims& dims) {
  double space = 1;
  for (const std::uint64_t n : dims) space *= static_cast<double>(n);
  return space;
}

}  // namespace

Expected build(const RowSource& source, const Limits& limits) {
  const Weights weights(limits.seed);
  Expected::Data data;
  data.layout = source.layout();
  data.index_space = index_space(data.layout.dims);
  const double products = sum_over_rows(source, [&](Count r) { return source.products(r); });
  const double entries = sum_over_rows(source, [&](Count r) { return source.entries(r); });
  data.sampled = products > limits.products || entries > limits.entries;
  if (!data.sampled) {
    data.fibers = evaluate_rows(source, all_rows(source.rows()), weights, 1);
    return Expected(std::move(data));
  }
  const std::vector<Count> rows = sample_rows(source, limits);
  double sampled_products = 0;
  for (const Count r : rows) {
    data.sample.rows.push_back(source.key(r));
    sampled_products += source.products(r);
  }
  std::sort(data.sample.rows.begin(), data.sample.rows.end());
  data.sample.seed = limits.seed;
  data.sample.column_stride =
      data.layout.column_modes.empty()
          ? 1
          : std::max<Count>(1,
                            static_cast<Count>(sampled_products / std::max(1.0, limits.products)));
  data.fibers = evaluate_rows(source, rows, weights, data.sample.column_stride);
  data.sample.buckets = checksum_buckets(source, weights, products);
  // The share of the index space that the sampled rows stand for.
  data.index_space *= static_cast<double>(rows.size()) / static_cast<double>(source.rows()) /
                      static_cast<double>(data.sample.column_stride);
  return Expected(std::move(data));
}

}  // namespace retensor::reference
