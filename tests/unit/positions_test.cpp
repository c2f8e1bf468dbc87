// No method counts nonzeros in fewer bits than they need: it has 64 for them, or declines.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/method/registry.hpp"
#include "common/run/all_modes.hpp"

using namespace retensor;

namespace {

ProblemSpec spec_of(Operation operation) {
  ProblemSpec spec;
  spec.operation = operation;
  if (operation == Operation::contraction) spec.variant = "kla,klb->ab";
  return spec;
}

/// Orders that between them every method of an operation takes.
std::vector<int> orders_of(Operation operation) {
  if (operation == Operation::spmm) return {2};
  if (operation == Operation::contraction) return {3};
  return {3, 4};
}

/// Whether a method takes such an operation on a tensor with so many nonzeros, asked before there
/// is one.
Support answer(const Method& method, Operation operation, int order, Count nonzeros,
               const std::map<std::string, ParamValue>& given) {
  std::map<std::string, ParamValue> own;  // of what is given what the method has
  const auto schema = method.params();
  for (const auto& param : schema.specs())
    if (const auto at = given.find(param.name); at != given.end()) own.insert(*at);
  const Dims dims(static_cast<std::size_t>(order), 60000);
  const auto outline =
      Problem::outline(spec_of(operation), std::make_shared<Coo>(dims, DType::f32), nonzeros);
  return solves(method, outline, schema.resolve(own));
}

/// Methods that take an operation on a small tensor and decline it on one with so many nonzeros,
/// with the limit as the reason.
std::set<std::string> decliners(Count nonzeros, const std::map<std::string, ParamValue>& given) {
  static const Registry registry = all_methods();
  std::set<std::string> ids;
  for (const auto& method : registry.methods())
    for (const auto operation : method->operations())
      for (const int order : orders_of(operation)) {
        if (!answer(*method, operation, order, 1000, given).ok) continue;
        const auto support = answer(*method, operation, order, nonzeros, given);
        if (support.ok) continue;
        CHECK_MESSAGE(support.reason.find("2^3") != std::string::npos, method->id(),
                      support.reason);
        ids.insert(std::string(method->id()));
      }
  return ids;
}

// Positions of nonzeros are signed numbers of 32 bits in libraries and where CUB counts so.
const std::set<std::string> kSigned = {
    "bcb_sptc.cuda.coo", "bcb_sptc.cuda.rows",    "cusparse.cuda",
    "cusparse.cuda.ell", "cusparse_spgemm.cuda",  "dbcsr.cuda",
    "gsptc.cuda",        "hash_spgemm.cuda",      "hlsto.cuda",
    "hlsto.cuda.half",   "hlsto.cuda.khatri_rao", "hlsto.cuda.tuned",
    "sputnik.cuda",      "tca_spmm.cuda.gather",  "tsparse.cuda"};
const std::set<std::string> kUnsigned = {
    "bcb_sptc.cuda",      "bcb_sptc.cuda.slabs", "bcb_sptc.cuda.streamed", "flycoo.cuda",
    "flycoo.cuda.chunks", "flycoo.cuda.copies",  "flycoo.cuda.memoised",   "flycoo.cuda.tuned",
    "flycoo.cuda.wide",   "hlsto.cuda.fibers"};

/// Why a method declines the product of a matrix of this shape and one of `width` columns.
std::string declined(const char* id, const Dims& shape, std::uint64_t width, Count nonzeros = 1000,
                     const std::map<std::string, ParamValue>& given = {}) {
  static const Registry registry = all_methods();
  const Method& method = registry.find(id);
  auto spec = spec_of(Operation::spmm);
  spec.rank = width;
  const auto outline = Problem::outline(spec, std::make_shared<Coo>(shape, DType::f32), nonzeros);
  return solves(method, outline, method.params().resolve(given)).reason;
}

/// In words that a failure can show.
std::string listed(const std::set<std::string>& ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

}  // namespace

TEST_CASE("methods with positions of 32 bits decline more nonzeros than these count") {
  CHECK(decliners((Count{1} << 31) - 3, {}).empty());
  CHECK(listed(decliners(Count{1} << 31, {})) == listed(kSigned));
  auto both = kSigned;
  both.insert(kUnsigned.begin(), kUnsigned.end());
  CHECK(listed(decliners(Count{1} << 32, {})) == listed(both));
  CHECK(listed(decliners((Count{1} << 32) + 1, {})) == listed(both));
}

TEST_CASE("formats that the host makes take more where their kernels do") {
  const auto on_host = decliners(Count{1} << 32, {{"prepare", std::string("host")}});
  for (const char* id : {"flycoo.cuda", "hlsto.cuda", "hlsto.cuda.half"})
    CHECK(!on_host.contains(id));
  for (const char* id : {"flycoo.cuda.copies", "flycoo.cuda.tuned", "hlsto.cuda.tuned"})
    CHECK(on_host.contains(id));
}

TEST_CASE("products of a sparse matrix whose threads or places 32 bits don't number are declined") {
  const Count k28 = Count{1} << 28, k31 = Count{1} << 31, k32 = Count{1} << 32;
  const std::map<std::string, ParamValue> each{{"walk", std::string("each")}},
      passed{{"walk", std::string("passed")}};
  const char* const gather = "tca_spmm.cuda.gather";
  CHECK(declined(gather, {k28, 100}, 8, 1000, each).empty());
  CHECK(declined(gather, {k28 + 1, 100}, 8, 1000, each).find("2^28 rows") != std::string::npos);
  CHECK(declined(gather, {k28 + 1, 100}, 8).find("2^28 rows") != std::string::npos);
  CHECK(declined(gather, {k28 + 1, 100}, 8, k31 + 8).find("2^31 nonzeros") != std::string::npos);
  CHECK(declined(gather, {2 * k28, 100}, 8, 1000, passed).empty());
  CHECK(declined(gather, {2 * k28 + 1, 100}, 8, 1000, passed).find("2^29") != std::string::npos);
  CHECK(declined(gather, {1000, 100}, 8, k31 - 1, passed).empty());
  CHECK(declined(gather, {1000, 100}, 8, k31, passed).find("takes more") != std::string::npos);
  CHECK(declined(gather, {1000, 100}, 8, k32 - 4, each).empty());
  CHECK(declined(gather, {1000, 100}, 8, k32 - 3, each).find("2^32 - 4") != std::string::npos);
  // The copy engine's rows of D are signed, and one number of a row stands for none.
  CHECK(declined("tca_spmm.cuda.tiles", {100, k31 - 1}, 8).empty());
  CHECK(declined("tca_spmm.cuda.tiles", {100, k31}, 8).find("2^31 columns") != std::string::npos);
  CHECK(declined("tca_spmm.cuda.tuned", {100, k32 - 1}, 8).empty());
  CHECK(declined("tca_spmm.cuda.tuned", {100, k32}, 8).find("2^32 columns") != std::string::npos);
}

TEST_CASE("products with more columns than a grid has thread blocks for are declined") {
  const auto most = [](const char* id, const std::map<std::string, ParamValue>& given,
                       Count columns) {
    CAPTURE(id);
    CAPTURE(columns);
    const Count width = 65535 * columns;
    CHECK(declined(id, {100, 100}, width, 1000, given).empty());
    CHECK(declined(id, {100, 100}, width + 1, 1000, given).find("thread blocks") !=
          std::string::npos);
  };
  most("tca_spmm.cuda.gather", {{"walk", std::string("passed")}}, 64);
  most("tca_spmm.cuda.gather", {{"walk", std::string("each")}}, 128);
  most("tca_spmm.cuda.tiles", {}, 128);
  most("sputnik.cuda", {}, 64);
  most("sputnik.cuda", {{"walk", std::string("shuffled")}}, 128);
  most("voltrix.cuda", {}, 128);
}

TEST_CASE("a dense matrix is declined by what it takes with its padding") {
  const Count k30 = Count{1} << 30;
  CHECK(declined("cublas.cuda", {k30 / 8, 8}, 8).empty());
  CHECK(declined("cublas.cuda", {k30 / 8, 1}, 8).empty());
  CHECK(declined("cublas.cuda", {k30 / 8 + 1, 1}, 8).find("2^30 elements") != std::string::npos);
  CHECK(declined("cublas.cuda", {k30 / 8, 9}, 8).find("2^30 elements") != std::string::npos);
  CHECK(declined("cublas.cuda", {100, 0}, 8, 0).find("without columns") != std::string::npos);
}
