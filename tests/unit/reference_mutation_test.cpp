// Wrong results must be caught: for every operation, in full and in sampled mode.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>

#include "reference_case.hpp"

using namespace reference_case;

namespace {

using Elements = std::map<Coordinate, double>;

Elements elements(const Coo& x) {
  Elements e;
  for (Count p = 0; p < x.nnz(); ++p) {
    Coordinate c;
    for (const auto& mode : x.indices) c.push_back(mode[p]);
    e[c] += x.values.at(p);
  }
  return e;
}
Elements elements(const SemiSparseCoo& s) {
  return elements(s.to_coo());
}
Elements elements(const Matrix& m) {
  Elements e;
  for (Index i = 0; i < m.rows(); ++i)
    for (Index j = 0; j < m.cols(); ++j) e[{i, j}] = m.at(i, j);
  return e;
}
Elements elements(const KruskalModel&) {
  return {};
}

double distance(const Result& a, const Result& b) {
  Elements d = std::visit([](const auto& r) { return elements(r); }, a);
  for (const auto& [c, v] : std::visit([](const auto& r) { return elements(r); }, b)) d[c] -= v;
  double largest = 0;
  for (const auto& entry : d) largest = std::max(largest, std::abs(entry.second));
  return largest;
}

Values& values_of(Result& r) {
  if (auto* m = std::get_if<Matrix>(&r)) return m->values();
  if (auto* x = std::get_if<Coo>(&r)) return x->values;
  return std::get<SemiSparseCoo>(r).values;
}

Coo dropped(const Coo& x, Count gone) {
  Coo y(x.dims, x.dtype(), x.nnz() - 1);
  for (Count p = 0, q = 0; p < x.nnz(); ++p) {
    if (p == gone) continue;
    for (std::size_t m = 0; m < x.dims.size(); ++m) y.indices[m][q] = x.indices[m][p];
    y.values.set(q++, x.values.at(p));
  }
  return y;
}

Coo swapped(Coo x, Count p, Count q, std::size_t mode) {
  std::swap(x.indices[mode][p], x.indices[mode][q]);
  return x;
}

// A correct result and, by name, wrong ones that differ from it visibly.
std::vector<std::pair<std::string, Result>> mutants(const Case& c, const Coo& x, DType type) {
  const Result right = c.brute(x, 9, type);
  std::vector<std::pair<std::string, Result>> wrong;
  const auto keep = [&](const std::string& what, Result r) {
    if (distance(right, r) > 0.01) wrong.emplace_back(what, std::move(r));
  };
  for (Count p = 0; p < x.nnz(); p += 3) keep("dropped nonzero", c.brute(dropped(x, p), 9, type));
  for (Count p = 0; p + 1 < x.nnz(); p += 4)
    for (std::size_t m = 0; m < x.dims.size(); ++m)
      keep("swapped indices", c.brute(swapped(x, p, p + 1, m), 9, type));
  keep("stale output of another seed", c.brute(x, 10, type));
  Result twice = right;
  for (Count i = 0; i < values_of(twice).size(); ++i)
    values_of(twice).set(i, 2 * values_of(twice).at(i));
  keep("output accumulated twice", std::move(twice));
  return wrong;
}

}  // namespace

TEST_CASE("dropped nonzeros, swapped indices and stale outputs are caught") {
  std::map<std::string, int> caught_by_checksum;
  for (const Case& c : all_cases()) {
    CAPTURE(c.name);
    for (const DType type : {DType::f64, DType::f32}) {
      // The second operand of tew depends on x's size, so mutants must keep the original's.
      const Coo x = random_tensor(c.dims, 30, 5, type);
      const Expected full = c.oracle(x, 9, type, {}),
                     sampled = c.oracle(x, 9, type, sampling_limits());
      std::map<std::string, int> seen;
      for (const auto& mutant : mutants(c, x, type)) {
        const std::string& what = mutant.first;
        CAPTURE(what);
        ++seen[what];
        for (const Expected* oracle : {&full, &sampled}) {
          const CheckReport report = oracle->check(mutant.second, Precision::of(type));
          CHECK_FALSE(report.ok);
          CHECK_FALSE(report.reason.empty());
          CHECK(report.error_over_bound > 1);
          if (report.reason.find("checksum") != std::string::npos) ++caught_by_checksum[c.name];
        }
      }
      CHECK(seen["dropped nonzero"] > 0);
      CHECK(seen["swapped indices"] > 0);
      CHECK(seen["stale output of another seed"] == 1);
      CHECK(seen["output accumulated twice"] == 1);
    }
    CHECK(caught_by_checksum[c.name] > 0);
  }
}

TEST_CASE("NaN and infinity never pass, wherever they stand") {
  for (const Case& c : all_cases()) {
    CAPTURE(c.name);
    const Coo x = random_tensor(c.dims, 30, 5, DType::f32);
    const Result right = c.brute(x, 9, DType::f32);
    for (const Limits& limits : {Limits{}, sampling_limits()}) {
      const Expected oracle = c.oracle(x, 9, DType::f32, limits);
      for (const double poison :
           {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        const auto* matrix = std::get_if<Matrix>(&right);
        Result wrong = right;
        const Count n = values_of(wrong).size();
        for (Count i = 0; i < n; i += 5) {
          if (matrix != nullptr && i % matrix->ld() >= matrix->cols()) continue;
          wrong = right;
          values_of(wrong).set(i, poison);
          const CheckReport report = oracle.check(wrong, Precision::of(DType::f32));
          CHECK_FALSE(report.ok);
          CHECK(report.error_over_bound == std::numeric_limits<double>::infinity());
        }
      }
    }
  }
}
