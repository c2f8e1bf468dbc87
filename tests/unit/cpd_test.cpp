// CP-ALS: an independent implementation's values, planted factors, any MTTKRP method, resumed runs.
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/core/rng.hpp"
#include "common/decompose/als.hpp"
#include "common/decompose/checkpoint.hpp"
#include "common/decompose/normal_equations.hpp"
#include "common/decompose/starts.hpp"
#include "common/generate/generators.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "temporary_folder.hpp"
#include "tests/support/exact_models.hpp"

using namespace retensor;
using cpd::Als;
using retensor::testing::check_exact_tensors_are_fitted;
using retensor::testing::check_fits_do_not_fall;
using retensor::testing::cpd_spec;
using retensor::testing::TemporaryFolder;

namespace {

using Given = std::map<std::string, ParamValue>;

const Registry& registry() {
  static const Registry all = all_methods();
  return all;
}

/// 900 nonzeros with values in (0, 1), with `spec`.
Problem sparse_problem(const ProblemSpec& spec) {
  return {spec, std::make_shared<const Coo>(uniform({30, 20, 25}, 900, 1, spec.dtype))};
}

void sweep_to_end(Als& als) {
  const auto timer = make_host_timer();
  while (!als.finished()) als.sweep(*timer);
}

KruskalModel model_by(const std::string& method, const Problem& problem) {
  Als als(problem, registry().find(method));
  sweep_to_end(als);
  return als.model();
}

bool same_bits(const KruskalModel& a, const KruskalModel& b) {
  const auto values = [](const Matrix& m) {
    std::vector<double> all;
    for (Count k = 0; k < m.values().size(); ++k) all.push_back(m.values().at(k));
    return all;
  };
  for (std::size_t m = 0; m < a.factors.size(); ++m)
    if (values(a.factors[m]) != values(b.factors.at(m))) return false;
  return a.weights == b.weights && a.fit == b.fit;
}

Matrix filled(std::uint64_t rows, std::uint64_t cols, const std::vector<double>& values) {
  Matrix m(rows, cols, DType::f64);
  for (Count k = 0; k < values.size(); ++k) m.values().set(k, values[k]);
  return m;
}

double largest_difference(const Matrix& a, const Matrix& b) {
  double most = 0;
  for (Count k = 0; k < a.values().size(); ++k)
    most = std::max(most, std::abs(a.values().at(k) - b.values().at(k)));
  return most;
}

// X(i, j, k) = sin(1 + i + 2 j + 3 k) where i + j + k is even; A_m(i, r) = cos(m + i + 2 r) + 2.
Problem numpy_problem(DType dtype) {
  auto x = std::make_shared<Coo>(Dims{4, 3, 5}, DType::f64);
  std::vector<double> values;
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 3; ++j)
      for (Index k = i % 2 == j % 2 ? 0 : 1; k < 5; k += 2) {
        x->indices[0].push_back(i);
        x->indices[1].push_back(j);
        x->indices[2].push_back(k);
        values.push_back(std::sin(1 + i + 2.0 * j + 3.0 * k));
      }
  x->values = Values(values);
  ProblemSpec spec = cpd_spec(2, 6);
  spec.dtype = dtype;
  return {spec, x};
}

KruskalModel numpy_start(DType dtype) {
  KruskalModel model;
  model.weights = {0, 0};
  for (const int rows : {4, 3, 5}) {
    const auto mode = static_cast<int>(model.factors.size());
    Matrix factor(static_cast<std::uint64_t>(rows), 2, dtype);
    for (int i = 0; i < rows; ++i)
      for (int r = 0; r < 2; ++r)
        factor.set(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(r),
                   std::cos(mode + i + 2 * r) + 2);
    model.factors.push_back(std::move(factor));
  }
  return model;
}

// Printed by cpd_values.py.
KruskalModel numpy_result() {
  KruskalModel model;
  model.fit = {0.269595697965754, 0.281035976706719, 0.283577538652854,
               0.285050247837884, 0.285950079184584, 0.286544213684381};
  model.weights = {2.20097650892935, 2.47110884271001};
  model.factors = {
      filled(4, 2,
             {0.379750456912767, -0.584119097130978, -0.746678371223099, 0.344223946684268,
              0.321955171896288, 0.309976652411612, 0.441141550651711, -0.666505236180248}),
      filled(3, 2,
             {0.651135415769943, -0.0348049478361244, 0.756116123159163, 0.77330227752729,
              -0.0656588046560452, 0.633081513848912}),
      filled(5, 2,
             {0.381421056038211, 0.29774833099256, 0.611460678501529, 0.555747659253951,
              0.311137475009958, 0.337013443165843, 0.580638902903941, 0.605648005901475,
              0.216068861097755, 0.349432257666589})};
  return model;
}

void check_against_numpy(const std::string& method, DType dtype, double allowed) {
  const Problem problem = numpy_problem(dtype);
  Als als(problem, registry().find(method));
  als.resume(numpy_start(dtype));
  sweep_to_end(als);
  const KruskalModel expected = numpy_result();
  REQUIRE(als.model().fit.size() == 6);
  for (std::size_t s = 0; s < 6; ++s)
    CHECK(std::abs(als.model().fit[s] - expected.fit[s]) < allowed);
  for (std::size_t r = 0; r < 2; ++r)
    CHECK(std::abs(als.model().weights[r] - expected.weights[r]) < 4 * allowed);
  for (std::size_t m = 0; m < 3; ++m)
    CHECK(largest_difference(als.model().factors[m], expected.factors[m]) < allowed);
}

/// |cosine| of two columns.
double congruence(const Matrix& a, std::uint64_t r, const Matrix& b, std::uint64_t s) {
  double ab = 0, aa = 0, bb = 0;
  for (std::uint64_t i = 0; i < a.rows(); ++i) {
    ab += a.at(i, r) * b.at(i, s);
    aa += a.at(i, r) * a.at(i, r);
    bb += b.at(i, s) * b.at(i, s);
  }
  return std::abs(ab) / std::sqrt(aa * bb);
}

/// Factor match score: over all permutations of the components the largest of the least product of
/// congruences.
double match(const std::vector<Matrix>& a, const std::vector<Matrix>& b) {
  std::vector<std::uint64_t> order(a.front().cols());
  for (std::uint64_t r = 0; r < order.size(); ++r) order[r] = r;
  double best = 0;
  do {
    double least = 1;
    for (std::uint64_t r = 0; r < order.size(); ++r) {
      double product = 1;
      for (std::size_t m = 0; m < a.size(); ++m) product *= congruence(a[m], r, b[m], order[r]);
      least = std::min(least, product);
    }
    best = std::max(best, least);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

Measurement measured(const Problem& problem, const Given& given, int samples = 1) {
  const Method& method = registry().find("cpd.cpu.als");
  const Trial trials[] = {{&method, &problem, method.params().resolve(given)}};
  return measure(trials, {.warmup = 0, .samples = samples}).front();
}

}  // namespace

TEST_CASE("fit, weights and factors of an independent implementation") {
  check_against_numpy("flycoo.cpu", DType::f64, 1e-11);
  check_against_numpy("pasta.cpu.coo", DType::f64, 1e-11);
  check_against_numpy("flycoo.cpu", DType::f32, 2e-5);
  check_against_numpy("pasta.cpu.copies", DType::f32, 2e-5);
  check_against_numpy("pasta.cpu.copies", DType::f64, 1e-11);
  check_against_numpy("pasta.cpu.fibers", DType::f32, 2e-5);
}

TEST_CASE("planted factors are found up to order and scale") {
  const Dims dims{15, 12, 10};
  const LowRankLaw law{.rank = 3};
  const Target target{.dims = dims, .nnz = 15 * 12 * 10, .seed = 5, .dtype = DType::f64};
  std::vector<Matrix> planted;
  for (int m = 0; m < 3; ++m) planted.push_back(low_rank_factor(target, law, m));
  const Problem problem(cpd_spec(3, 500, 1e-13),
                        std::make_shared<const Coo>(low_rank(target, law)));
  const KruskalModel model = model_by("flycoo.cpu", problem);
  CHECK(model.fit.back() > 1 - 1e-6);
  CHECK(match(planted, model.factors) > 1 - 1e-6);
  // The score does tell other factors apart.
  CHECK(match(planted, problem.dense()) < 0.5);
}

TEST_CASE("exact tensors are fitted with more components than their rank") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto timer = make_host_timer();
    check_exact_tensors_are_fitted(registry().find("pasta.cpu.coo"), *timer, dtype, 0.99);
    check_fits_do_not_fall(registry().find("pasta.cpu.coo"), *timer, dtype);
  }
}

TEST_CASE("the fit of a model of NaN is NaN") {
  const double nan = std::nan("");
  CHECK(std::isnan(cpd::fit_of(2, nan, 1)));
  CHECK(std::isnan(cpd::fit_of(2, 1, nan)));
  CHECK(cpd::fit_of(2, 4, 4 + 1e-15) == 1);
  CHECK(cpd::fit_of(0, 0, 0) == 1);
}

TEST_CASE("a start that follows the data has orthonormal factors and depends on the seed's") {
  const Problem problem = sparse_problem(cpd_spec(4, 5));
  Als als(problem, registry().find("flycoo.cpu"));
  const auto timer = make_host_timer();
  const auto spread_of = [&](std::uint64_t seed) {
    als.restart(cpd::first_factors(cpd::Start::spread, problem.x(), 4, seed));
    als.spread(*timer);
    return als.model();
  };
  const KruskalModel one = spread_of(1), again = spread_of(1), other = spread_of(2);
  for (const Matrix& factor : one.factors)
    CHECK((cpd::gram(factor) - Eigen::MatrixXd::Identity(4, 4)).cwiseAbs().maxCoeff() < 1e-12);
  CHECK(one.weights == std::vector<double>(4));
  CHECK(same_bits(one, again));
  CHECK_FALSE(same_bits(one, other));
  als.sweep(*timer, 5);
  CHECK(als.model().fit.size() == 5);
  CHECK(als.model().fit.back() > als.model().fit.front());
}

TEST_CASE("first factors have the law's entries") {
  const auto drawn = [](cpd::Start law) {
    return cpd::first_factors(law, Coo({400, 7}, DType::f32), 3, 5);
  };
  const auto all = [](const Matrix& m, auto&& holds) {
    for (Count k = 0; k < m.values().size(); ++k)
      if (!holds(m.values().at(k))) return false;
    return true;
  };
  CHECK(drawn(cpd::Start::signs)[1].rows() == 7);
  CHECK(all(drawn(cpd::Start::signs)[0], [](double v) { return v == 1 || v == -1; }));
  CHECK(all(drawn(cpd::Start::uniform)[0], [](double v) { return v >= 0 && v < 1; }));
  CHECK_FALSE(all(drawn(cpd::Start::normal)[0], [](double v) { return v >= -1 && v < 1; }));
  CHECK(cpd::start_from_name("normal") == cpd::Start::normal);
  CHECK_THROWS_AS(cpd::start_from_name("random"), InputError);
}

TEST_CASE("the fit grows in every sweep, to rounding") {
  for (const std::uint64_t rank : {1, 4, 16}) {
    const auto fit = model_by("flycoo.cpu", sparse_problem(cpd_spec(rank, 40))).fit;
    REQUIRE(fit.size() == 40);
    for (std::size_t s = 1; s < fit.size(); ++s) CHECK(fit[s] > fit[s - 1] - 1e-12);
    CHECK(fit.back() > fit.front());
  }
}

TEST_CASE("the result does not depend on the method of MTTKRP") {
  const Problem problem = sparse_problem(cpd_spec(5, 10));
  const KruskalModel expected = model_by("flycoo.cpu", problem);
  for (const char* id : {"pasta.cpu.coo", "pasta.cpu.hicoo", "splatt.cpu"}) {
    const KruskalModel other = model_by(id, problem);
    for (std::size_t s = 0; s < 10; ++s) CHECK(std::abs(other.fit[s] - expected.fit[s]) < 1e-12);
    for (std::size_t m = 0; m < 3; ++m)
      CHECK_MESSAGE(largest_difference(other.factors[m], expected.factors[m]) < 1e-9, id);
  }
}

TEST_CASE("the true fit is that of the reconstructed tensor, whatever the last MTTKRP gave") {
  const Problem problem = sparse_problem(cpd_spec(4, 6));
  Als als(problem, registry().find("flycoo.cpu"));
  CHECK(als.true_fit() == 0);  // weights are zero
  sweep_to_end(als);
  const KruskalModel& model = als.model();
  const auto entry = [&](Index i, Index j, Index k) {
    double sum = 0;
    for (std::uint64_t r = 0; r < 4; ++r)
      sum += model.weights[r] * model.factors[0].at(i, r) * model.factors[1].at(j, r) *
             model.factors[2].at(k, r);
    return sum;
  };
  double residual = 0, norm = 0;
  for (Index i = 0; i < 30; ++i)
    for (Index j = 0; j < 20; ++j)
      for (Index k = 0; k < 25; ++k) residual += entry(i, j, k) * entry(i, j, k);
  const Coo& x = problem.x();
  for (Count p = 0; p < x.nnz(); ++p) {
    const double found = entry(x.indices[0][p], x.indices[1][p], x.indices[2][p]);
    const double value = x.values.at(p);
    residual += (value - found) * (value - found) - found * found;
    norm += value * value;
  }
  CHECK(std::abs(als.true_fit() - (1 - std::sqrt(residual / norm))) < 1e-12);
  CHECK(std::abs(als.true_fit() - model.fit.back()) < 1e-12);
}

TEST_CASE("sums over many rows are right and the same bits on any number of threads") {
  const std::uint64_t rows = 100000;
  Matrix a(rows, 3, DType::f32);
  for (Count k = 0; k < rows * 3; ++k) a.values().set(k, CounterRng(1).uniform(k) - 0.5);
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(3, 3);
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t r = 0; r < 3; ++r)
      for (std::uint64_t s = 0; s < 3; ++s)
        expected(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(s)) +=
            a.at(i, r) * a.at(i, s);
  ProblemSpec spec = cpd_spec(5, 4);
  spec.dtype = DType::f32;
  const Problem problem(spec,
                        std::make_shared<const Coo>(uniform({9000, 20, 25}, 20000, 1, DType::f32)));
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Eigen::MatrixXd gram = cpd::gram(a);
  const KruskalModel model = model_by("pasta.cpu.coo", problem);
  omp_set_num_threads(4);
  CHECK((cpd::gram(a) - gram).cwiseAbs().maxCoeff() == 0);
  cpd::Als again(problem, registry().find("pasta.cpu.coo"), {{"threads", std::int64_t{1}}});
  sweep_to_end(again);
  CHECK(same_bits(again.model(), model));
  omp_set_num_threads(before);
  CHECK((gram - expected).cwiseAbs().maxCoeff() < 1e-9);
}

TEST_CASE("entries of components that do not meet a row end at zero, not among subnormal numbers") {
  const Coo part = uniform({8, 8, 8}, 300, 1, DType::f32);
  Coo both({16, 16, 16}, DType::f32, 2 * part.nnz());
  for (Count x = 0; x < both.nnz(); ++x) {
    const bool second = x >= part.nnz();
    for (std::size_t m = 0; m < 3; ++m)
      both.indices[m][x] = part.indices[m][x % part.nnz()] + (second ? 8 : 0);
    both.values.set(x, second ? 3 : 1);
  }
  auto spec = cpd_spec(2, 100);
  spec.dtype = DType::f32;
  const auto model = model_by("pasta.cpu.coo", {spec, std::make_shared<const Coo>(both)});
  Count zeros = 0;
  for (const Matrix& factor : model.factors)
    for (Count k = 0; k < factor.values().size(); ++k) {
      const double entry = std::abs(factor.values().at(k));
      CHECK((entry == 0 || entry > 1e-19));
      zeros += entry == 0;
    }
  CHECK(zeros > 10);
}

TEST_CASE("components that coincide are solved, and a column that vanishes stays zero") {
  for (const std::uint64_t rank : {2, 15}) {
    const Problem problem = sparse_problem(cpd_spec(rank, 5));
    Als als(problem, registry().find("flycoo.cpu"));
    KruskalModel start = als.model();
    for (Matrix& factor : start.factors)
      for (std::uint64_t i = 0; i < factor.rows(); ++i) factor.set(i, 1, factor.at(i, 0));
    als.resume(start);
    sweep_to_end(als);
    for (const double fit : als.model().fit) CHECK(std::isfinite(fit));
    for (std::uint64_t i = 0; i < 20; ++i) start.factors[1].set(i, 1, 0);
    als.resume(start);
    sweep_to_end(als);
    CHECK(als.model().weights[1] == 0);
    CHECK(als.model().factors[0].at(3, 1) == 0);
  }
}

TEST_CASE("a run resumed from any sweep ends with the same bits") {
  const TemporaryFolder folder;
  const std::string path = folder.file("model");
  for (const DType dtype : {DType::f32, DType::f64}) {
    ProblemSpec spec = cpd_spec(6, 7);
    spec.dtype = dtype;
    const Problem problem = sparse_problem(spec);
    const auto identity = cpd::identity_of(problem);
    const KruskalModel whole = model_by("flycoo.cpu", problem);
    for (int cut = 1; cut < 7; ++cut) {
      const auto timer = make_host_timer();
      Als first(problem, registry().find("flycoo.cpu"));
      for (int sweep = 0; sweep < cut; ++sweep) first.sweep(*timer);
      CHECK_FALSE(same_bits(first.model(), whole));
      cpd::save_checkpoint(path, identity, first.model());
      Als second(problem, registry().find("flycoo.cpu"));
      second.resume(cpd::load_checkpoint(path, identity, problem).value());
      sweep_to_end(second);
      CHECK(same_bits(second.model(), whole));
    }
  }
}

TEST_CASE("the method goes on from its checkpoint and removes it at the end") {
  const TemporaryFolder folder;
  const std::string path = folder.file("model");
  const Problem problem = sparse_problem(cpd_spec(6, 7));
  const Measurement whole = measured(problem, {});
  REQUIRE_MESSAGE(whole.status == "ok", whole.reason);
  CHECK(whole.executed.at("resumed_after") == "0 sweeps");

  const auto timer = make_host_timer();
  Als cut(problem, registry().find("flycoo.cpu"));
  for (int sweep = 0; sweep < 4; ++sweep) cut.sweep(*timer);
  cpd::save_checkpoint(path, cpd::identity_of(problem), cut.model());
  const Method& method = registry().find("cpd.cpu.als");
  const auto prepared = method.prepare(problem, method.params().resolve({{"checkpoint", path}}));
  prepared->run(*timer);
  CHECK(prepared->executed().at("resumed_after") == "4 sweeps");
  CHECK(same_bits(std::get<KruskalModel>(prepared->result()), model_by("flycoo.cpu", problem)));
  CHECK(prepared->work().flops == doctest::Approx(whole.work.flops * 3 / 7));
  CHECK_FALSE(std::filesystem::exists(path));
  // A later run begins anew.
  prepared->run(*timer);
  CHECK(prepared->executed().at("resumed_after") == "0 sweeps");
  CHECK(prepared->executed().at("fit_curve") == whole.executed.at("fit_curve"));
}

TEST_CASE("an interrupted run leaves the last checkpoint that was due") {
  const TemporaryFolder folder;
  const std::string path = folder.file("model");
  const Problem problem = sparse_problem(cpd_spec(4, 80));
  // A timer that ends the run where the eighth sweep begins.
  struct Interruption {};
  class Interrupter final : public StageTimer {
   public:
    void start() override {}
    void stage(std::string_view) override {}
    StageTimes stop() override { return {}; }
    void* stream() const override {
      if (++sweeps_ == 8) throw Interruption();
      return nullptr;
    }

   private:
    mutable int sweeps_ = 0;
  };
  const Method& method = registry().find("cpd.cpu.als");
  const auto params =
      method.params().resolve({{"checkpoint", path}, {"checkpoint_every", std::int64_t{3}}});
  Interrupter timer;
  CHECK_THROWS_AS(method.prepare(problem, params)->run(timer), Interruption);
  const auto model = cpd::load_checkpoint(path, cpd::identity_of(problem), problem);
  REQUIRE(model.has_value());
  CHECK(model->fit.size() == 6);
}

TEST_CASE("the time of checkpoints is a stage of its own, and its entries suffice a timer") {
  const TemporaryFolder folder;
  const std::string path = folder.file("model");
  const auto stages = [&](int max_sweeps, const Given& given) {
    const Measurement m = measured(sparse_problem(cpd_spec(4, max_sweeps)), given);
    REQUIRE_MESSAGE(m.status == "ok", m.reason);
    std::vector<std::string> names;
    for (const auto& [name, seconds] : m.stages.front()) {
      names.push_back(name);
      CHECK(seconds > 0);
    }
    const auto every = m.executed.find("checkpoint_every");
    return std::pair(names, every == m.executed.end() ? "none" : every->second);
  };
  const std::vector<std::string> plain = {"start", "sweeps"},
                                 saved = {"start", "sweeps", "checkpoint"};
  CHECK(stages(40, {}) == std::pair(plain, std::string("none")));
  CHECK(stages(40, {{"checkpoint", path}}) == std::pair(saved, std::string("10 sweeps")));
  for (const int max_sweeps : {28, 29, 30, 58, 59, 300})
    CHECK(stages(max_sweeps, {{"checkpoint", path}, {"checkpoint_every", std::int64_t{1}}}) ==
          std::pair(saved, std::to_string((max_sweeps + 28) / 29) + " sweeps"));
}

TEST_CASE("checkpoints of other runs are refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("model");
  const ProblemSpec spec = cpd_spec(3, 2);
  const Problem problem = sparse_problem(spec);
  CHECK_FALSE(cpd::load_checkpoint(path, cpd::identity_of(problem), problem).has_value());
  cpd::save_checkpoint(path, cpd::identity_of(problem), model_by("flycoo.cpu", problem));
  const auto refused = [&](const Problem& other, const std::string& what) {
    try {
      cpd::load_checkpoint(path, cpd::identity_of(other), other);
      FAIL_CHECK("taken: " << what);
    } catch (const InputError& e) {
      CHECK_MESSAGE(std::string(e.what()).find(what) != std::string::npos, e.what());
      CHECK(std::string(e.what()).find(path) == 0);
    }
  };
  ProblemSpec other = spec;
  other.rank = 4;
  refused(sparse_problem(other), "found rank 3, expected 4");
  other = spec;
  other.seed = 2;
  refused(sparse_problem(other), "found seed 1, expected 2");
  other = spec;
  other.dtype = DType::f32;
  refused(sparse_problem(other), "another run: found tensor ");
  Coo changed = problem.x();
  changed.indices[1][5] ^= 1U;
  refused(Problem(spec, std::make_shared<const Coo>(changed)), "another run: found tensor ");
  changed = problem.x();
  changed.values.set(8, 0.125);
  refused(Problem(spec, std::make_shared<const Coo>(changed)), "another run: found tensor ");
  // Another stopping rule may go on.
  other = spec;
  other.max_sweeps = 9;
  const Problem longer = sparse_problem(other);
  CHECK(cpd::load_checkpoint(path, cpd::identity_of(longer), longer)->fit.size() == 2);
}

TEST_CASE("a checkpoint that states other sizes under a right checksum is refused unallocated") {
  using nlohmann::json;
  const TemporaryFolder folder;
  const std::string path = folder.file("model");
  const Problem problem = sparse_problem(cpd_spec(3, 2));
  const auto identity = cpd::identity_of(problem);
  const auto refused = [&](const std::string& what, auto&& spoil) {
    cpd::save_checkpoint(path, identity, model_by("flycoo.cpu", problem));
    json j = json::from_cbor(folder.read("model").substr(64));
    spoil(j);
    std::string spoilt;
    json::to_cbor(j, spoilt);
    folder.write("model", sha256_hex(spoilt) + spoilt);
    CHECK_THROWS_WITH_AS(cpd::load_checkpoint(path, identity, problem),
                         (path + ": " + what).c_str(), InputError);
  };
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 50;
  refused("cpd: found a factor of 1125899906842624 x 3 f64, expected 20 x 3 f64",
          [&](json& j) { j["factors"][1]["rows"] = kHuge; });
  refused("cpd: found a factor of 25 x 1125899906842624 f64, expected 25 x 3 f64",
          [&](json& j) { j["factors"][2]["cols"] = kHuge; });
  refused("cpd: found a factor of 30 x 3 f32, expected 30 x 3 f64",
          [](json& j) { j["factors"][0]["type"] = "f32"; });
  refused("found 2 factors, expected 3", [](json& j) { j["factors"].erase(0); });
  refused("found 2 weights, expected 3", [](json& j) { j["weights"].erase(0); });
  refused("a factor has another size than it states", [](json& j) {
    j["factors"][0]["values"] = json::binary({1, 2, 3});
  });
  // An array that announces 2^40 entries.
  const std::string endless("\x9b\x00\x00\x01\x00\x00\x00\x00\x00", 9);
  folder.write("model", sha256_hex(endless) + endless);
  CHECK_THROWS_WITH_AS(cpd::load_checkpoint(path, identity, problem),
                       doctest::Contains("not an intact checkpoint"), InputError);
}

TEST_CASE("a checkpoint of lists within lists under a right checksum is refused within its stack") {
  const TemporaryFolder folder;
  const std::string path = folder.file("model");
  const Problem problem = sparse_problem(cpd_spec(3, 2));
  const auto refused = [&](const std::string& part, const char* what) {
    std::string deep;
    for (int level = 0; level < 2'000'000; ++level) deep += part;
    folder.write("model", sha256_hex(deep) + deep);
    CAPTURE(part);
    CHECK_THROWS_WITH_AS(cpd::load_checkpoint(path, cpd::identity_of(problem), problem),
                         (path + ": " + what).c_str(), InputError);
  };
  const auto* deep = "found more than 8 lists within each other";
  refused("\x81", deep);                                          // [[...
  refused(std::string("\x9b\0\0\0\0\0\0\0\2\1", 10), deep);       // [1, [1, ..., of 64 bits
  refused(std::string("\xbb\x80\0\0\0\0\0\0\0\x61k", 11), deep);  // 2^63 keys
  refused("\xa1\x61k", deep);                                     // {"k": {"k": ...
  for (const char* unstated : {"\x9f", "\xbf\x61k", "\x7f", "\x5f"})
    refused(unstated, "found a part without a stated length");
}

TEST_CASE("damaged checkpoints are refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("model");
  const Problem problem = sparse_problem(cpd_spec(3, 2));
  const auto identity = cpd::identity_of(problem);
  cpd::save_checkpoint(path, identity, model_by("flycoo.cpu", problem));
  const std::string intact = folder.read("model");
  const auto refused = [&](const std::string& content) {
    folder.write("model", content);
    CHECK_THROWS_WITH_AS(cpd::load_checkpoint(path, identity, problem),
                         (path + ": not an intact checkpoint: its checksum is wrong").c_str(),
                         InputError);
  };
  for (std::size_t at = 0; at < intact.size(); at += 97) {
    std::string content = intact;
    content[at] = static_cast<char>(content[at] ^ 4);
    refused(content);
  }
  refused("");
  refused(intact.substr(0, 40));
  refused(intact.substr(0, intact.size() - 1));
  refused(intact + "x");
  // The method's row says it.
  CHECK(measured(problem, {{"checkpoint", path}}).reason.find("not an intact checkpoint") !=
        std::string::npos);
  folder.write("model", intact);
  CHECK(cpd::load_checkpoint(path, identity, problem).has_value());
  CHECK_THROWS_AS(cpd::save_checkpoint(folder.file("missing/model"), identity, {}), SystemError);
  const std::string itself = std::filesystem::path(path).parent_path().string();
  CHECK_THROWS_WITH_AS(cpd::load_checkpoint(itself, identity, problem),
                       (itself + ": found a folder, expected a file").c_str(), SystemError);
}

TEST_CASE("what ran is told") {
  const Measurement m = measured(sparse_problem(cpd_spec(4, 50, 1e-3)), {}, 2);
  REQUIRE_MESSAGE(m.status == "ok", m.reason);
  CHECK(m.executed.at("mttkrp") == "flycoo.cpu");
  CHECK(m.executed.at("mttkrp_kernel") == "FLYCOO-MTTKRP-OMP");
  CHECK(m.executed.at("stopped_by") == "tolerance");
  const int sweeps = std::stoi(m.executed.at("sweeps"));
  CHECK(sweeps > 1);
  CHECK(sweeps < 50);
  const auto& curve = m.executed.at("fit_curve");
  CHECK(std::count(curve.begin(), curve.end(), ' ') == sweeps - 1);
  CHECK(curve.substr(curve.rfind(' ') + 1) == m.executed.at("fit"));
  CHECK(m.footprint.format_bytes > 0);
  CHECK(measured(sparse_problem(cpd_spec(4, 3)), {}).executed.at("stopped_by") == "max_sweeps");
}

TEST_CASE("parameters reach the method of MTTKRP") {
  ProblemSpec spec = cpd_spec(4, 3);
  spec.dtype = DType::f32;
  const Problem problem = sparse_problem(spec);
  const auto run = [&](const std::string& mttkrp, const std::string& params) {
    return measured(problem, {{"mttkrp", mttkrp}, {"mttkrp_params", params}});
  };
  const Measurement half = run("hlsto.cpu", "format=hls_d  precision=fp16");
  REQUIRE_MESSAGE(half.status == "ok", half.reason);
  CHECK(half.executed.at("mttkrp_precision") == "fp16");
  CHECK(half.executed.at("mttkrp_sparse_nonzeros") == "0");
  const Measurement split = run("hlsto.cpu", "format=hls_d precision=split_fp16");
  CHECK(split.executed.at("mttkrp_precision") == "split_fp16");
  CHECK(half.executed.at("fit_curve") != split.executed.at("fit_curve"));
  const auto off = [](const Measurement& m) {
    return std::abs(std::stod(m.executed.at("fit")) - std::stod(m.executed.at("true_fit")));
  };
  CHECK(off(half) > 10 * off(split));
  CHECK(run("pasta.cpu.coo", "threads=2 update=owner").executed.at("mttkrp_threads") == "2");

  const auto refused = [&](const std::string& params, const std::string& why) {
    const Measurement m = run("hlsto.cpu", params);
    CHECK(m.status == "failed");
    CHECK_MESSAGE(m.reason.find(why) != std::string::npos, m.reason);
  };
  refused("precision=fp61", "parameter precision: found 'fp61'");
  refused("precison=fp16", "unknown parameter 'precison'");
  refused("threads=two", "parameter threads: found a word 'two', expected an integer");
  refused("threads=1.5", "found a number '1.5', expected an integer");
  refused("precision", "found 'precision', expected a parameter as name=value");
  refused("=fp16", "found '=fp16', expected a parameter as name=value");
  refused("edge=8 edge=16", "found parameter edge twice in 'edge=8 edge=16'");
}

TEST_CASE("what is declined or refused") {
  const Method& method = registry().find("cpd.cpu.als");
  CHECK_THROWS_WITH_AS(method.params().resolve({{"mttkrp", std::string("flyco.cpu")}}),
                       doctest::Contains("flycoo.cpu"), InputError);
  CHECK_THROWS_AS(method.params().resolve({{"mttkrp", std::string("cpd.cpu.als")}}), InputError);
  ProblemSpec spec = cpd_spec(4, 3);
  spec.operation = Operation::mttkrp;
  CHECK(measured(sparse_problem(spec), {}).reason == "supports only cpd, not mttkrp");
  const Problem vector(cpd_spec(4, 3),
                       std::make_shared<const Coo>(uniform({30}, 5, 1, DType::f64)));
  CHECK(measured(vector, {}).reason == "a tensor of order 1 is its own model");
  const Problem problem = sparse_problem(cpd_spec(4, 3));
  Als als(problem, registry().find("flycoo.cpu"));
  CHECK_THROWS_WITH_AS(als.resume({}), "cpd: found a model of rank 0 and order 0, expected 4 and 3",
                       InputError);
  KruskalModel model = als.model();
  model.factors[1] = Matrix(20, 4, DType::f32);
  CHECK_THROWS_WITH_AS(als.resume(model), "cpd: found a factor of 20 x 4 f32, expected 20 x 4 f64",
                       InputError);
}
