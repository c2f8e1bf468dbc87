// The check itself: bounds, patterns, malformed results, sampling and storage.
#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "common/core/error.hpp"
#include "common/numeric/rounding.hpp"
#include "reference_case.hpp"
#include "temporary_folder.hpp"

using namespace reference_case;
using retensor::testing::TemporaryFolder;

namespace {

std::string bytes_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string saved(const Expected& oracle, const std::string& path) {
  oracle.save(path);
  return bytes_of(path);
}

// A row of `n` nonzeros times a column, summed in float from left to right.
struct Dot {
  Coo row;
  Matrix column;
  Matrix result;
};

Dot float_dot(const std::vector<float>& a, const std::vector<float>& b) {
  Dot d{Coo({1, a.size()}, DType::f32, a.size()), Matrix(a.size(), 1, DType::f32),
        Matrix(1, 1, DType::f32)};
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    d.row.indices[1][i] = static_cast<Index>(i);
    d.row.values.set(i, a[i]);
    d.column.set(i, 0, b[i]);
    sum += a[i] * b[i];
  }
  d.result.set(0, 0, sum);
  return d;
}

}  // namespace

TEST_CASE("a correct f32 result of large cancellation passes, and fails as f64") {
  const Dot d = float_dot({1e8f, 1.0f, 0.7f, -1e8f, 3.3f}, {1, 1, 1, 1, 1});
  CHECK(std::abs(d.result.at(0, 0) - 5.0) > 0.5);  // most digits are lost
  const Expected oracle = reference::spmm(d.row, d.column);
  CHECK(oracle.check(d.result, kF32).ok);
  CHECK_FALSE(oracle.check(d.result, kF64).ok);
}

TEST_CASE("long random sums in f32 pass and use little of the bound") {
  std::vector<float> a, b;
  const CounterRng rng(1);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    a.push_back(static_cast<float>(rng.normal(2 * i)));
    b.push_back(static_cast<float>(rng.normal(2 * i + 1)));
  }
  const Dot d = float_dot(a, b);
  const CheckReport report = reference::spmm(d.row, d.column).check(d.result, kF32);
  CHECK(report.ok);
  CHECK(report.error_over_bound > 0);
  CHECK(report.error_over_bound < 0.1);
}

TEST_CASE("the bound is (n + slack) eps L1: just inside passes, just outside fails") {
  Coo x({3}, DType::f32, 1);
  x.indices[0][0] = 2;
  x.values.set(0, 8);
  const Expected oracle = reference::ts(x, 3, "mul");
  const double bound = 24 * 5 * (0x1p-24 + 0x1p-53);
  Coo result({3}, DType::f64, 1);
  result.indices[0][0] = 2;
  for (const double sign : {-1.0, 1.0}) {
    result.values.set(0, 24 + sign * 0.999 * bound);
    CHECK(oracle.check(result, kF32).ok);
    result.values.set(0, 24 + sign * 1.001 * bound);
    const CheckReport report = oracle.check(result, kF32);
    CHECK_FALSE(report.ok);
    CHECK(report.error_over_bound == doctest::Approx(1.001));
    CHECK(report.reason.find("entry (3)") != std::string::npos);
  }
}

TEST_CASE("rounded operands pass under the precision that declares them alone") {
  struct Rounding {
    Precision precision;
    float (*round)(float);
  };
  const std::vector<Rounding> roundings{
      {{kUnitRoundoffFp16, 2, kUnitRoundoffF32, kUnderflowFp16}, round_fp16},
      {{kUnitRoundoffBf16, 2, kUnitRoundoffF32, 0}, round_bf16},
      {{kUnitRoundoffTf32, 2, kUnitRoundoffF32, 0}, round_tf32}};
  for (const float scale : {1.0f, 1e-5f}) {  // the second lies in fp16's subnormal range
    std::vector<float> a, b;
    const CounterRng rng(2);
    for (std::uint64_t i = 0; i < 50; ++i) {
      a.push_back(scale * static_cast<float>(rng.normal(2 * i)));
      b.push_back(static_cast<float>(rng.normal(2 * i + 1)));
    }
    const Dot exact = float_dot(a, b);
    const Expected oracle = reference::spmm(exact.row, exact.column);
    for (const Rounding& r : roundings) {
      std::vector<float> ra, rb;
      for (const float v : a) ra.push_back(r.round(v));
      for (const float v : b) rb.push_back(r.round(v));
      const Dot rounded = float_dot(ra, rb);
      CHECK(oracle.check(rounded.result, r.precision).ok);
      CHECK_FALSE(oracle.check(rounded.result, kF32).ok);
    }
  }
}

TEST_CASE("products that underflow in f32 pass") {
  const Dot d = float_dot({1e-30f, 1e-25f}, {1e-30f, 1e-18f});
  CHECK(d.result.at(0, 0) != 1e-60 + 1e-43);
  CHECK(reference::spmm(d.row, d.column).check(d.result, kF32).ok);
}

TEST_CASE("patterns: missing, extra and repeated entries") {
  const Coo x = random_tensor({6, 5, 4}, 30, 8), y = random_tensor({6, 5, 4}, 30, 9);
  const Coo right = brute_tew(x, y, "add", DType::f64);
  // All rows sampled, so that sampled mode compares patterns as full mode does.
  Limits all_rows = sampling_limits();
  all_rows.fibers = 1000;
  for (const Limits& limits : {Limits{}, all_rows}) {
    const Expected oracle = reference::tew(x, y, "add", limits);
    REQUIRE(oracle.check(right, kF64).ok);
    const Count last = right.nnz() - 1;

    Coo missing = right;
    for (auto& mode : missing.indices) mode.pop_back();
    missing.values.visit([](auto& v) { v.pop_back(); });
    CHECK(oracle.check(missing, kF64).reason.find("missing") != std::string::npos);

    Coo repeated = right;  // two halves of one entry: the sum is right
    for (auto& mode : repeated.indices) mode.push_back(mode[last]);
    repeated.values.set(last, right.values.at(last) / 2);
    repeated.values.visit([&](auto& v) { v.push_back(v[last]); });
    CHECK(oracle.check(repeated, kF64).reason.find("twice") != std::string::npos);

    Coo extra = right;
    const Dense a(x), b(y);
    bool done = false;
    for_each_coordinate(x.dims, [&](const Coordinate& c) {
      if (done || a.stored(c) || b.stored(c)) return;
      for (std::size_t m = 0; m < 3; ++m) extra.indices[m].push_back(c[m]);
      done = true;
    });
    REQUIRE(done);
    extra.values.visit([](auto& v) { v.push_back(0); });
    CHECK(oracle.check(extra, kF64).ok);
    extra.values.set(last + 1, 1e-300);
    // In sampled mode its row is none of the sample: the checksum meets it.
    const std::string word = oracle.sampled() ? "checksum" : "pattern";
    CHECK(oracle.check(extra, kF64).reason.find(word) != std::string::npos);
  }
}

TEST_CASE("malformed results are reported, results of another kind are a program error") {
  const Coo x = random_tensor({6, 5, 4}, 30, 8);
  const Matrix u = random_matrix(4, 3, 1);
  const Coo right = brute_ts(x, 2, "mul", DType::f64);
  const Expected ts = reference::ts(x, 2, "mul"), ttm = reference::ttm(x, u, 2);
  const auto refused = [](const Expected& oracle, const Result& r, const std::string& word) {
    const CheckReport report = oracle.check(r, kF64);
    CHECK_FALSE(report.ok);
    CHECK_MESSAGE(report.reason.find(word) != std::string::npos, report.reason);
  };
  Coo wrong = right;
  wrong.indices[1][3] = 5;
  refused(ts, wrong, "passes the length");
  wrong = right;
  wrong.dims[0] = 7;
  refused(ts, wrong, "mode lengths");
  wrong = right;
  wrong.indices[2].pop_back();
  refused(ts, wrong, "index array");
  wrong = right;
  wrong.indices.pop_back();
  refused(ts, wrong, "index arrays");
  refused(reference::spmm(random_tensor({4, 3}, 5, 1), random_matrix(3, 2, 1)),
          Matrix(4, 3, DType::f64), "mode lengths");

  SemiSparseCoo semi = brute_ttm(x, u, 2, DType::f64);
  REQUIRE(ttm.check(semi, kF64).ok);
  semi.values = Values(DType::f64, semi.values.size() - 1);
  refused(ttm, semi, "values");
  refused(reference::ttm(x, random_matrix(5, 4, 1), 1),
          to_semi_sparse(brute_ttm(x, random_matrix(5, 4, 1), 1, DType::f64).to_coo(), {0}),
          "dense modes");
  CHECK_THROWS_AS(ts.check(Matrix(6, 5, DType::f64), kF64), LogicError);
  CHECK_THROWS_AS(ttm.check(right, kF64), LogicError);
  CHECK_THROWS_AS(ts.check(KruskalModel{}, kF64), LogicError);
}

TEST_CASE("metrics: full divides by the index space, nonzero by the structural entries") {
  Coo x({10, 10}, DType::f64, 2);
  x.indices = {{0, 9}, {0, 9}};
  x.values = Values(std::vector<double>{3, 4});
  Coo result = x;
  result.values.set(1, 6);
  const CheckReport report = reference::ts(x, 1, "mul").check(result, kF64);
  CHECK(report.entries == 2);
  CHECK(report.metrics.rmse_full == doctest::Approx(std::sqrt(4.0 / 100)));
  CHECK(report.metrics.rmse_nonzero == doctest::Approx(std::sqrt(4.0 / 2)));
  CHECK(report.metrics.smape_full == doctest::Approx(100 * (2.0 / 10) / 100));
  CHECK(report.metrics.smape_nonzero == doctest::Approx(100 * (2.0 / 10) / 2));
  CHECK(report.metrics.relative_frobenius == doctest::Approx(2.0 / 5));
  CHECK(report.metrics.max_absolute == 2);
}

TEST_CASE("the sample holds the first, the last and the heaviest rows and enough others") {
  const Count rows = 400, heavy = 217;
  Coo s({rows, 50}, DType::f64, rows + 49);
  for (Count p = 0; p < s.nnz(); ++p) {
    s.indices[0][p] = static_cast<Index>(p < rows ? p : heavy);
    s.indices[1][p] = static_cast<Index>(p < rows ? 0 : p - rows + 1);
    s.values.set(p, 1 + static_cast<double>(p % 7));
  }
  const Matrix d = random_matrix(50, 3, 4);
  const Matrix right = brute_spmm(s, d, DType::f64);
  Limits limits;
  limits.products = 100;
  limits.fibers = 20;
  const Expected oracle = reference::spmm(s, d, limits);
  REQUIRE(oracle.sampled());
  const CheckReport passed = oracle.check(right, kF64);
  CHECK(passed.ok);
  CHECK(passed.sampled);
  CHECK(passed.entries >= 20 * 3);
  CHECK(passed.entries <= 40 * 3);
  int compared = 0;
  for (Count i = 0; i < rows; ++i) {
    Matrix wrong = right;
    wrong.set(i, 1, wrong.at(i, 1) + 0.5);
    const CheckReport report = oracle.check(wrong, kF64);
    CHECK_FALSE(report.ok);
    const bool in_sample = report.reason.rfind("entry", 0) == 0;
    compared += in_sample ? 1 : 0;
    if (i == 0 || i == rows - 1 || i == heavy) CHECK(in_sample);
  }
  CHECK(static_cast<Count>(compared) * 3 == passed.entries);
}

TEST_CASE("a sampled contraction finds wrong entries inside and outside its rows") {
  const Coo x = random_tensor({40, 6}, 120, 1), y = random_tensor({6, 30}, 90, 2);
  const Coo right = brute_contraction(x, y, "ik,kj->ij", 1, DType::f64);
  for (const double products : {5e8, 50.0}) {  // whole rows, then a share of their columns
    Limits limits = sampling_limits();
    limits.products = products;
    const Expected oracle = reference::contraction(x, y, "ik,kj->ij", 1, limits);
    const CheckReport passed = oracle.check(right, kF64);
    CHECK(passed.ok);
    int by_entry = 0;
    for (Count p = 0; p < right.nnz(); p += 3) {
      Coo wrong = right;
      wrong.values.set(p, wrong.values.at(p) + 0.25);
      const CheckReport report = oracle.check(wrong, kF64);
      CHECK_FALSE(report.ok);
      by_entry += report.reason.rfind("entry", 0) == 0 ? 1 : 0;
    }
    CHECK(static_cast<Count>(by_entry) < right.nnz() / 6);
    if (products > 50) CHECK(by_entry > 0);
  }
}

TEST_CASE("oracles survive storage, do not depend on the number of threads") {
  const TemporaryFolder folder;
  const std::string a = folder.file("a"), b = folder.file("b");
  const int threads = omp_get_max_threads();
  for (const Case& c : all_cases()) {
    CAPTURE(c.name);
    const Coo x = random_tensor(c.dims, 40, 5, DType::f32);
    const Result right = c.brute(x, 9, DType::f32), wrong = c.brute(x, 10, DType::f32);
    for (const Limits& limits : {Limits{}, sampling_limits()}) {
      omp_set_num_threads(1);
      const std::string alone = saved(c.oracle(x, 9, DType::f32, limits), a);
      omp_set_num_threads(4);
      const Expected oracle = c.oracle(x, 9, DType::f32, limits);
      CHECK(saved(oracle, b) == alone);
      const Expected loaded = Expected::load(a);
      CHECK(loaded.sampled() == oracle.sampled());
      CHECK(loaded.bytes() == oracle.bytes());
      CHECK(loaded.check(right, kF32).ok);
      const CheckReport here = oracle.check(wrong, kF32), there = loaded.check(wrong, kF32);
      CHECK_FALSE(there.ok);
      CHECK(there.reason == here.reason);
      CHECK(there.error_over_bound == here.error_over_bound);
      CHECK(there.metrics.rmse_full == here.metrics.rmse_full);
    }
  }
  omp_set_num_threads(threads);
}

TEST_CASE("damaged, truncated, newer and absent oracle files are refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("oracle");
  const Coo x = random_tensor({6, 5, 4}, 30, 8);
  const std::string good = saved(reference::ts(x, 2, "mul"), path);
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    write_bytes(path, bad);
    CHECK_THROWS_AS(Expected::load(path), InputError);
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{9}, good.size() / 2, good.size() - 1}) {
    write_bytes(path, good.substr(0, size));
    CHECK_THROWS_AS(Expected::load(path), InputError);
  }
  write_bytes(path, good + "x");
  CHECK_THROWS_AS(Expected::load(path), InputError);
  CHECK_THROWS_AS(Expected::load(path + ".absent"), SystemError);
  CHECK_THROWS_AS(reference::ts(x, 2, "mul").save(folder.file("no/such")), SystemError);
}
