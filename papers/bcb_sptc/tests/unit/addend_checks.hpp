// Checks of equation (1), of sorted output and of refusals, for the methods of the host and of a
// device.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "common/measure/timing.hpp"
#include "common/tensor/einsum.hpp"
#include "papers/bcb_sptc/kernels/addend_cpu.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"
#include "papers/bcb_sptc/methods/update.hpp"
#include "papers/bcb_sptc/tests/unit/dense.hpp"

namespace retensor::bcb_sptc::test {

using Given = std::map<std::string, ParamValue>;

/// A method, its run, and parameters of all its runs.
struct Runs {
  MethodSpec (*method)();
  PrepareRun prepare;
  Given given;

  Params params(const Given& more) const {
    Given all = given;
    all.insert(more.begin(), more.end());
    return method().params.resolve(all);
  }
};

/// Several runs on a device, each with the expected result.
inline void check_runs(Prepared& prepared, const Answer& expected) {
  const auto timer = device::make_event_timer();
  for (int run = 0; run < 4; ++run) {
    timer->start();
    prepared.run(*timer);
    timer->stop();
    const Result result = prepared.result();
    CHECK(difference(std::get<Coo>(result), expected, 0x1p-11) == "");
  }
}

inline Coo sum_of(const Case& c, double alpha, const Addend& addend, const Runs& runs,
                  const Given& given = {}) {
  const Params params = runs.params(given);
  return contract(
      c.einsum, alpha, *c.x, *c.y, addend,
      [&](const Problem& problem, const Addend& z) { return runs.prepare(problem, params, z); });
}

inline Answer sum_of(const Case& c, double alpha, const Addend& addend) {
  Answer answer = einsum_of(c, alpha);
  for (Count p = 0; p < addend.z.nnz(); ++p) {
    std::vector<Index> at;
    for (const auto& index : addend.z.indices) at.push_back(index[p]);
    Sum& sum = answer[at];
    sum.value += addend.beta * addend.z.values.at(p);
    sum.magnitude += std::abs(addend.beta * addend.z.values.at(p));
    ++sum.terms;
  }
  return answer;
}

/// A tensor of the result's shape: its nonzeros in a random order, some coordinates twice.
inline Coo random_addend(const Dims& dims, Draws& draws) {
  const Coo tensor = random_tensor(dims, 0.1, draws);
  const Count more = tensor.nnz() / 4;
  std::vector<Count> from;
  for (Count p = 0; p < tensor.nnz() + more; ++p) from.push_back(p < tensor.nnz() ? p : p % more);
  for (std::size_t left = from.size(); left > 1; --left)
    std::swap(from[left - 1], from[draws.below(left)]);
  Coo mixed(dims, DType::f32, from.size());
  for (Count p = 0; p < from.size(); ++p) {
    for (std::size_t m = 0; m < dims.size(); ++m) mixed.indices[m][p] = tensor.indices[m][from[p]];
    mixed.values.set(p, tensor.values.at(from[p]));
  }
  return mixed;
}

inline Dims result_dims(const Case& c) {
  return Contraction(c.einsum, c.x->dims, c.y->dims).result_dims(c.x->dims, c.y->dims);
}

/// Random contractions of orders 1 to `highest` with small results.
template <class Check>
void for_each_small_case(std::size_t highest, Draws& draws, const Check& check) {
  int cases = 0;
  for (std::size_t order_x = 1; order_x <= highest; ++order_x)
    for (std::size_t order_y = 1; order_y <= highest; ++order_y)
      for (std::size_t contracted = 0; contracted <= std::min(order_x, order_y); ++contracted) {
        const auto free = order_x + order_y - 2 * contracted;
        if (free == 0 || free > 8) continue;
        const Case c = random_case(order_x, order_y, contracted, draws);
        const double products = static_cast<double>(c.x->nnz()) * static_cast<double>(c.y->nnz());
        if (products > 3e5 || checked_volume(result_dims(c)) > 300'000) continue;
        check(c);
        ++cases;
      }
  CHECK(cases > static_cast<int>(4 * highest));
}

inline void check_sums(const Runs& runs, std::size_t highest) {
  Draws draws(21);
  for_each_small_case(highest, draws, [&](const Case& c) {
    const Addend addend{-0.75, random_addend(result_dims(c), draws)};
    INFO(c.einsum << " with " << addend.z.nnz() << " nonzeros of Z");
    CHECK(difference(sum_of(c, 1.5, addend, runs), sum_of(c, 1.5, addend), 0x1p-11) == "");
  });
}

/// Contractions without Z.
inline void check_products(const Runs& runs, std::size_t highest) {
  Draws draws(22);
  for_each_small_case(highest, draws, [&](const Case& c) {
    INFO(c.einsum);
    CHECK(difference(sum_of(c, 1.5, {}, runs), einsum_of(c, 1.5), 0x1p-11) == "");
  });
}

inline bool is_sorted(const Coo& tensor) {
  const auto coordinate = [&](Count p) {
    std::vector<Index> at;
    for (const auto& index : tensor.indices) at.push_back(index[p]);
    return at;
  };
  for (Count p = 1; p < tensor.nnz(); ++p)
    if (coordinate(p) <= coordinate(p - 1)) return false;
  return true;
}

inline void check_sorted_output(const Runs& runs) {
  Draws draws(23);
  const Case c{"abk,kcd->dacb", shared(random_tensor({12, 11, 30}, 0.05, draws)),
               shared(random_tensor({30, 10, 9}, 0.05, draws))};
  const Given sorted = {{"output", std::string("sorted")}};
  CHECK_FALSE(is_sorted(sum_of(c, 1, {}, runs)));
  CHECK(is_sorted(sum_of(c, 1, {}, runs, sorted)));
  CHECK(difference(sum_of(c, 1, {}, runs, sorted), einsum_of(c, 1), 0x1p-11) == "");
  Given dropped = sorted;
  dropped["zeros"] = std::string("drop");
  CHECK(is_sorted(sum_of(c, 1, {}, runs, dropped)));
  const Addend addend{-0.75, random_addend(result_dims(c), draws)};
  CHECK(is_sorted(sum_of(c, 1, addend, runs, sorted)));
  CHECK(difference(sum_of(c, 1, addend, runs, sorted), sum_of(c, 1, addend), 0x1p-11) == "");
  const Case none{"ak,kb->ab", shared(Coo({9, 8}, DType::f32)), full({8, 7})};
  CHECK(sum_of(none, 1, {}, runs, sorted).nnz() == 0);
}

inline void check_planted_differences(const Runs& runs) {
  const Case c{"ak,kb->ab", full({9, 8}), full({8, 7})};
  const Addend addend{2, cells({9, 7}, {{8, 6}, {0, 0}})};
  const Coo sum = sum_of(c, 1, addend, runs);
  CHECK(difference(sum, sum_of(c, 1, addend), 0x1p-11) == "");
  CHECK(difference(sum, sum_of(c, 1, {1, addend.z}), 0x1p-11) != "");
  CHECK(difference(sum, sum_of(c, 1, {2, cells({9, 7}, {{8, 6}})}), 0x1p-11) != "");
  const Case none{"ak,kb->ab", shared(Coo({9, 8}, DType::f32)), c.y};
  CHECK(difference(sum_of(none, 1, addend, runs), sum_of(none, 1, addend), 0) == "");
}

inline void check_beta_zero(const Runs& runs) {
  const Case c{"ak,kb->ab", shared(cells({9, 9}, {{1, 1}})), shared(cells({9, 9}, {{1, 2}}))};
  Coo z = cells({9, 9}, {{3, 3}});
  z.values.set(0, std::numeric_limits<double>::quiet_NaN());
  CHECK(difference(sum_of(c, 1, {0, z}, runs), einsum_of(c, 1), 0) == "");
}

/// The oracle knows nothing of the parameter: the sum must be the whole contraction.
inline void check_updates(const Runs& runs) {
  Draws draws(5);
  const Case c{"abk,kcd->acbd", shared(random_tensor({12, 11, 30}, 0.05, draws)),
               shared(random_tensor({30, 10, 9}, 0.05, draws))};
  const Problem problem = problem_of(c, 0.5);
  const DescribedMethod method(runs.method());
  for (const double beta : {1.0, -0.25, 3.0})
    for (const char* zeros : {"keep", "drop"}) {
      const Params params = runs.params({{"beta", beta}, {"zeros", std::string(zeros)}});
      REQUIRE(method.supports(problem, params).ok);
      const auto prepared = method.prepare(problem, params);
      const auto timer =
          method.backend() == Backend::cpu ? make_host_timer() : device::make_event_timer();
      for (int run = 0; run < 2; ++run) {
        timer->start();
        prepared->run(*timer);
        const auto stages = timer->stop();
        CHECK(stages.back().first == "addend");
      }
      const auto report =
          problem.oracle().check(prepared->result(), method.precision(problem, params));
      CHECK_MESSAGE(report.ok, report.reason);
      CHECK(std::stoll(prepared->executed().at("z_nonzeros")) > 0);
    }
}

inline void check_refusals(const Runs& runs) {
  // 900 x 900 entries of 12 bytes; 900 and 900 nonzeros in 113 blocks each.
  const Case c{"a,b->ab", full({900}), full({900})};
  const auto reason = [&](double gib) -> std::string {
    try {
      runs.prepare(problem_of(c), runs.params({{"memory", gib}}), {});
    } catch (const OutOfMemory& error) {
      return error.what();
    }
    return "";
  };
  CHECK(reason(0) == "");
  CHECK(reason(0x1p-30 * 900 * 900 * 12) == "");
  CHECK(reason(0x1p-30 * 900 * 900 * 11).find("entries of the result: 810000 of 12 bytes") == 0);
  CHECK(reason(0x1p-30 * 1000).find("found room for 9.31e-07 GiB") != std::string::npos);
}

}  // namespace retensor::bcb_sptc::test
