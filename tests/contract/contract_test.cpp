#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "common/device/device.hpp"
#include "common/method/registry.hpp"
#include "common/run/all_modes.hpp"
#include "tests/contract/checks.hpp"
#include "tests/contract/scenarios.hpp"
#include "tests/contract/variants.hpp"
#include "tests/support/lowered_method.hpp"
#include "tests/support/planted_method.hpp"

using namespace retensor;
using contract::run_battery;
using contract::Scope;
using test::Fault;
using test::PlantedMethod;

namespace {

contract::Report report_on(Fault fault) {
  const PlantedMethod method(fault);
  return run_battery({&method}, {2, 3, {Operation::mttkrp}});
}

/// Ids that $RETENSOR_CONTRACT begins: while a method is written, the battery over it alone takes
/// seconds. Empty: all.
std::string asked_for() {
  const char* id = std::getenv("RETENSOR_CONTRACT");
  return id == nullptr ? "" : id;
}

/// With a device at hand, the gpu suite runs the battery over the CUDA methods; without one they
/// must decline with a reason.
void check_registry(const Scope& scope) {
  const Registry registry = all_methods();
  const auto methods = contract::methods_of(registry, [](const Method& m) {
    return (m.backend() == Backend::cpu || !device::available().ok) &&
           m.id().starts_with(asked_for());
  });
  REQUIRE_MESSAGE(!methods.empty(), "no method has an id that begins with " << asked_for());
  const auto report = run_battery(methods, scope);
  contract::check(report);
  for (const auto* method : methods) {
    const int solved = report.solved.at(std::string(method->id()));
    MESSAGE(method->id() << ": " << solved << " right answers to " << report.problems
                         << " problems");
    CHECK_MESSAGE((solved > 0) == (method->backend() == Backend::cpu), method->id());
  }
}

}  // namespace

TEST_CASE("every method of the registry keeps the contract") {
  check_registry({});
}

// In place of the case above where sanitizers make it long.
TEST_CASE("every method of the registry keeps the contract on a few problems" * doctest::skip()) {
  check_registry(
      {2,
       3,
       {},
       {16, 33},
       {"empty", "dense fibers", "modes of one index", "unsorted", "duplicates", "y overlaps x"}});
}

TEST_CASE("a right method passes and solves every problem of its operation") {
  const auto report = report_on(Fault::none);
  contract::check(report);
  // Tensors x modes of orders 2 and 3 x ranks x types; one tensor has four ranks more.
  CHECK(report.problems == (8 * 3 + 4) * (2 + 3) * 2);
  CHECK(report.solved.at("planted.cpu.coo") == report.problems);
}

TEST_CASE("the battery finds each planted fault") {
  for (const auto fault :
       {Fault::drops_last, Fault::swaps_modes, Fault::accumulates, Fault::keeps_one, Fault::throws,
        Fault::throws_foreign, Fault::out_of_memory, Fault::bad_alloc, Fault::wrong_kind,
        Fault::declines_silently, Fault::says_nothing}) {
    CAPTURE(static_cast<int>(fault));
    CHECK_FALSE(report_on(fault).findings.empty());
  }
}

TEST_CASE("a method may decline with a reason") {
  const auto report = report_on(Fault::unsupported);
  CHECK(report.findings.empty());
  CHECK(report.solved.at("planted.cpu.coo") == 0);
}

TEST_CASE("a finding names method, problem and fault") {
  const auto report = report_on(Fault::keeps_one);
  REQUIRE_FALSE(report.findings.empty());
  const auto line = contract::text(report.findings.front());
  for (const char* part : {"planted.cpu.coo", "mttkrp", "duplicates", "wrong"})
    CHECK_MESSAGE(line.find(part) != std::string::npos, line);
}

TEST_CASE("every method of the registry says what it may solve") {
  const Registry registry = all_methods();
  for (const auto& method : registry.methods())
    CHECK_MESSAGE(!method->operations().empty(), method->id());
}

TEST_CASE("a method says of a problem's outline what it says of the problem") {
  const Registry registry = all_methods();
  std::size_t asked = 0, declined = 0;
  for (const int order : {1, 2, 3, 6})
    for (const auto& operation : operation_names())
      for (const DType type : {DType::f32, DType::f64}) {
        ProblemSpec spec;
        spec.operation = operation_from_name(operation);
        spec.dtype = type;
        if (spec.operation == Operation::contraction) spec.variant = "ab,cb->ac";
        const auto x = contract::scenarios(order).back().x;
        if (spec.operation == Operation::spmm && order != 2) continue;
        if (spec.operation == Operation::ttv && order < 2) continue;
        if (spec.operation == Operation::contraction && order != 2) continue;
        const Problem problem(spec, x), outline = Problem::outline(spec, x);
        const auto bare = Problem::outline(spec, std::make_shared<const Coo>(x->dims, type));
        for (const auto& method : registry.methods()) {
          const auto params = method->params().resolve({});
          const auto reason = supports(*method, problem, params).reason;
          CHECK_MESSAGE(supports(*method, outline, params).reason == reason, method->id());
          // So few nonzeros decide nothing.
          CHECK_MESSAGE(supports(*method, bare, params).reason == reason, method->id());
          ++asked;
          declined += !solves(*method, problem, params).ok;
        }
      }
  CHECK(declined > 0);
  CHECK(declined < asked);
}

TEST_CASE("competitors take MTTKRP of one mode and of all, and nothing else") {
  const Registry registry = all_methods();
  const auto reason = [&](const Method& method, Operation op) {
    ProblemSpec spec;
    spec.operation = op;
    const Problem problem(spec, contract::scenarios(3).back().x);
    return supports(method, problem, method.params().resolve({})).reason;
  };
  for (const char* id :
       {"parti.cuda", "b_csf.cuda", "blco.cuda", "mm_csf.cuda", "f_coo.cuda", "fwc.cuda"}) {
    const Method& method = registry.find(id);
    const bool one_copy = method.id() == "blco.cuda" || method.id() == "mm_csf.cuda";
    CHECK_MESSAGE(method.takes_all_modes() == one_copy, id);
    CHECK_MESSAGE(reason(method, Operation::mttkrp) == device::available().reason, id);
    CHECK_MESSAGE(reason(method, Operation::mttkrp_all) == device::available().reason, id);
    CHECK_MESSAGE(
        reason(method, Operation::ttm) == (one_copy ? "supports only mttkrp and mttkrp_all, not ttm"
                                                    : "supports only mttkrp, not ttm"),
        id);
  }
}

TEST_CASE("competitors of TTM-chain take orders 3 to 5 and nothing else") {
  const Registry registry = all_methods();
  const auto reason = [&](const Method& method, Operation op, int order, std::uint64_t rank) {
    ProblemSpec spec;
    spec.operation = op;
    spec.rank = rank;
    const Problem problem(spec, contract::scenarios(order).back().x);
    return supports(method, problem, method.params().resolve({})).reason;
  };
  for (const char* id : {"hicoo_chain.cuda", "mm_csf_chain.cuda"}) {
    const Method& method = registry.find(id);
    CHECK_MESSAGE(reason(method, Operation::ttm_chain, 3, 16) == device::available().reason, id);
    CHECK_MESSAGE(reason(method, Operation::mttkrp, 3, 16) == "supports only ttm_chain, not mttkrp",
                  id);
    CHECK_MESSAGE(
        reason(method, Operation::ttm_chain, 2, 16) == "found a tensor of order 2, expected 3 to 5",
        id);
    CHECK_MESSAGE(reason(method, Operation::ttm_chain, 5, 100) ==
                      "found 490000 tiles of 16 x 16 columns, expected at most 65535",
                  id);
  }
}

TEST_CASE("methods of MTTKRP run a mode at a time with factors that change") {
  contract::check_passes(Backend::cpu,
                         {"pasta.cpu.coo", "pasta.cpu.hicoo", "flycoo.cpu", "hlsto.cpu"});
}

TEST_CASE("a preparation that takes from an earlier one is found") {
  const PlantedMethod right(Fault::none);
  const test::LoweredMethod lowered;
  CHECK(contract::run_variants({&right}).findings.empty());
  const auto report = contract::run_variants({&lowered});
  REQUIRE(report.findings.size() == 2);  // of MTTKRP and of all modes
  CHECK(report.findings[0].what.find("warps=4 after a preparation with warps=1") !=
        std::string::npos);
}

TEST_CASE("the format of FLYCOO takes orders 6 to 8") {
  contract::check_high_orders({"flycoo.cpu"});
}

TEST_CASE("a method that keeps the factors of prepare is found") {
  const PlantedMethod right(Fault::none), stale(Fault::keeps_factors);
  CHECK(contract::run_passes({&right}).findings.empty());
  CHECK(contract::run_passes({&stale}).findings.size() == 4);
}
