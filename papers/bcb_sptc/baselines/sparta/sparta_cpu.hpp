// sparta.cpu: element-wise contraction with hash tables (Sparta, PPoPP 2021).
//
// x is sorted by its free modes, so that the nonzeros of one row of the result are neighbours. y
// lies in a chained hash table by contracted index ("HtY"), whose entries list their nonzeros. For
// each row a thread looks the contracted index of every nonzero up and adds the products up in a
// hash table of its own by y's free index ("HtA"), then appends the row to its part of the result.
// Keys are linear indices of up to 128 bits.
//
// Stages: tasks (HtY is made), kernel (search and accumulation), output (the threads' parts are put
// together). The permutation and sort of x belong to preparing.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/method/method.hpp"
#include "common/tensor/einsum.hpp"
#include "common/tensor/linear_index.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::sparta {

inline constexpr Count kNone = ~Count{0};

inline std::size_t at(int k) {
  return static_cast<std::size_t>(k);
}

/// Linear indices of the nonzeros, the modes listed as they stand.
inline std::vector<Uint128> keys_of(const Coo& tensor, const std::vector<int>& modes) {
  const LinearIndex index(tensor.dims, modes);
  std::vector<Uint128> keys(tensor.nnz());
  std::array<Index, kMaxOrder> coordinate{};
  for (Count p = 0; p < keys.size(); ++p) {
    for (const int m : modes) coordinate[at(m)] = tensor.indices[at(m)][p];
    keys[p] = index.encode<Uint128>(coordinate);
  }
  return keys;
}

/// Chains of entries by key. Entries are numbered in the order of their insertion.
class HashTable {
 public:
  /// Room for `most` different keys.
  explicit HashTable(Count most)
      : head_(std::bit_ceil(std::max<Count>(most, 2)), kNone), keys_(most), next_(most) {}

  void clear() {
    for (Count e = 0; e < size_; ++e) head_[bucket(keys_[e])] = kNone;
    size_ = 0;
  }
  /// kNone where the key is not there.
  Count find(Uint128 key) const {
    Count e = head_[bucket(key)];
    while (e != kNone && keys_[e] != key) e = next_[e];
    return e;
  }
  Count insert(Uint128 key) {
    if (const Count e = find(key); e != kNone) return e;
    keys_[size_] = key;
    next_[size_] = std::exchange(head_[bucket(key)], size_);
    return size_++;
  }
  Count size() const { return size_; }
  Uint128 key(Count e) const { return keys_[e]; }

 private:
  Count bucket(Uint128 key) const {
    const auto folded = static_cast<std::uint64_t>(key ^ key >> 64);
    return folded * 0x9e3779b97f4a7c15u >> (64 - std::countr_zero(head_.size()));
  }

  std::vector<Count> head_;
  std::vector<Uint128> keys_;
  std::vector<Count> next_;
  Count size_ = 0;
};

template <class T>
class Run : public Prepared {
 public:
  Run(const Problem& problem, int threads)
      : problem_(problem),
        modes_(problem.spec().variant, problem.x().dims, problem.y().dims),
        alpha_(static_cast<T>(problem.spec().alpha)),
        x_(sorted(problem.x())),
        x_contracted_(keys_of(x_, modes_.contracted_x)),
        y_contracted_(keys_of(problem.y(), modes_.contracted_y)),
        y_free_(keys_of(problem.y(), modes_.free_y)),
        free_y_(problem.y().dims, modes_.free_y),
        hty_(problem.y().nnz()),
        group_of_(problem.y().nnz()),
        group_start_(problem.y().nnz() + 1),
        items_(problem.y().nnz()),
        parts_(at(threads)) {
    find_rows();
    make_table();
    for (auto& part : parts_) part.table = std::make_unique<HashTable>(most_columns());
    multiply();
    out_ = Coo(modes_.result_dims(problem.x().dims, problem.y().dims), problem.dtype(), entries());
  }

  void run(StageTimer& timer) override {
    timer.stage("tasks");
    make_table();
    timer.stage("kernel");
    multiply();
    timer.stage("output");
    gather();
  }

  Result result() override { return out_; }
  Executed executed() const override {
    return {{"kernel", "Sparta"},
            {"threads", std::to_string(parts_.size())},
            {"groups", std::to_string(hty_.size())},
            {"rows", std::to_string(rows())},
            {"result_nonzeros", std::to_string(out_.nnz())}};
  }
  Footprint footprint() const override {
    return {x_.bytes() + items_.size() * sizeof(Item) + y_contracted_.size() * sizeof(Uint128), 0};
  }
  Work work() const override { return work_model(problem_); }

 private:
  struct Item {
    Uint128 free;
    T value;
  };
  /// Entries of the result that one thread made.
  struct Part {
    std::unique_ptr<HashTable> table;
    std::vector<T> sums;
    std::vector<Count> row;  // first nonzero of x
    std::vector<Uint128> free;
    std::vector<T> values;
  };

  Coo sorted(Coo x) const {
    auto order = modes_.free_x;
    order.insert(order.end(), modes_.contracted_x.begin(), modes_.contracted_x.end());
    sort_nonzeros(x, order);
    return x;
  }

  Count rows() const { return row_start_.size() - 1; }

  void find_rows() {
    const auto free = keys_of(x_, modes_.free_x);
    for (Count p = 0; p < free.size(); ++p)
      if (p == 0 || free[p] != free[p - 1]) row_start_.push_back(p);
    row_start_.push_back(free.size());
  }

  void make_table() {
    hty_.clear();
    std::ranges::fill(group_start_, 0);
    for (Count q = 0; q < y_contracted_.size(); ++q) {
      group_of_[q] = hty_.insert(y_contracted_[q]);
      ++group_start_[group_of_[q] + 1];
    }
    std::partial_sum(group_start_.begin(), group_start_.end(), group_start_.begin());
    const auto values = problem_.y().values.as<T>();
    // Taking from the end of each group leaves its start one place too high.
    for (Count q = y_contracted_.size(); q-- > 0;)
      items_[--group_start_[group_of_[q] + 1]] = {y_free_[q], values[q]};
    std::rotate(group_start_.begin(), group_start_.begin() + 1, group_start_.end());
    group_start_.back() = items_.size();
  }

  /// Different columns that a row can have.
  Count most_columns() const {
    Count most = 0;
    for (Count r = 0; r < rows(); ++r) {
      Count products = 0;
      for (Count p = row_start_[r]; p < row_start_[r + 1]; ++p)
        if (const Count g = hty_.find(x_contracted_[p]); g != kNone)
          products += group_start_[g + 1] - group_start_[g];
      most = std::max(most, products);
    }
    auto columns = y_free_;
    std::ranges::sort(columns);
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    return std::min<Count>(most, columns.size());
  }

  /// A part takes as many rows as any other.
  void multiply() {
    const Count parts = parts_.size();
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(parts))
    for (Count t = 0; t < parts; ++t) {
      Part& part = parts_[t];
      part.row.clear();
      part.free.clear();
      part.values.clear();
      for (Count r = rows() * t / parts; r < rows() * (t + 1) / parts; ++r) add_row(r, part);
    }
  }

  void add_row(Count r, Part& part) {
    const auto values = x_.values.template as<T>();
    part.table->clear();
    part.sums.clear();
    for (Count p = row_start_[r]; p < row_start_[r + 1]; ++p) {
      const Count g = hty_.find(x_contracted_[p]);
      if (g == kNone) continue;
      for (Count i = group_start_[g]; i < group_start_[g + 1]; ++i) {
        const Count e = part.table->insert(items_[i].free);
        if (e == part.sums.size()) part.sums.push_back(0);
        part.sums[e] += values[p] * items_[i].value;
      }
    }
    for (Count e = 0; e < part.sums.size(); ++e) {
      part.row.push_back(row_start_[r]);
      part.free.push_back(part.table->key(e));
      part.values.push_back(alpha_ * part.sums[e]);
    }
  }

  Count entries() const {
    Count sum = 0;
    for (const auto& part : parts_) sum += part.values.size();
    return sum;
  }

  void gather() {
    const auto values = out_.values.template as<T>();
    Count first = 0;
    for (const auto& part : parts_) {
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(parts_.size()))
      for (Count e = 0; e < part.values.size(); ++e) {
        values[first + e] = part.values[e];
        for (std::size_t k = 0; k < modes_.result.size(); ++k) {
          const auto [from_x, mode] = modes_.result[k];
          const auto place = std::ranges::find(modes_.free_y, mode) - modes_.free_y.begin();
          out_.indices[k][first + e] = from_x
                                           ? x_.indices[at(mode)][part.row[e]]
                                           : free_y_.decode(part.free[e], static_cast<int>(place));
        }
      }
      first += part.values.size();
    }
  }

  const Problem& problem_;
  const Contraction modes_;
  const T alpha_;
  const Coo x_;
  const std::vector<Uint128> x_contracted_, y_contracted_, y_free_;
  const LinearIndex free_y_;
  std::vector<Count> row_start_;
  HashTable hty_;
  std::vector<Count> group_of_, group_start_;
  std::vector<Item> items_;
  std::vector<Part> parts_;
  Coo out_;
};

}  // namespace retensor::sparta
