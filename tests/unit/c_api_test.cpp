// The C interface as a program in C meets it: views, versions of the call, errors, results.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "common/c_api/retensor.h"
#include "tests/unit/temporary_folder.hpp"

namespace {

/// A tensor of 2 x 3 x 2 with the nonzeros (0, 0, 1): 2, (1, 2, 0): 3, (1, 2, 1): 4.
struct Small {
  std::array<std::uint64_t, 3> dims = {2, 3, 2};
  std::array<std::uint32_t, 3> i = {0, 1, 1}, j = {0, 2, 2}, k = {1, 0, 1};
  std::array<const std::uint32_t*, 3> indices = {i.data(), j.data(), k.data()};
  std::array<float, 3> values = {2, 3, 4};
  std::array<float, 2> vector = {10, 100};
  std::array<std::uint64_t, 2> shape = {2, 1};
  retensor_tensor x{dims.data(), indices.data(), values.data(), 3, 3, RETENSOR_F32};
  retensor_array operand{vector.data(), shape.data(), 2, RETENSOR_F32};

  retensor_call ttv() const {
    retensor_call call{};
    call.size = sizeof call;
    call.operation = "ttv";
    call.x = &x;
    call.dense = &operand;
    call.dense_count = 1;
    call.mode = 2;
    return call;
  }
};

std::string refusal(const retensor_call& call) {
  retensor_result* result = nullptr;
  const auto status = retensor_run(&call, &result);
  CHECK(result == nullptr);
  CHECK(status == RETENSOR_INPUT);
  return retensor_last_error();
}

/// The array of a name, for as long as the result lives; null where there is none.
const retensor_array* array_of(const retensor_result* result, const std::string& name) {
  for (std::int32_t a = 0; retensor_result_name(result, a) != nullptr; ++a)
    if (retensor_result_name(result, a) == name) return retensor_result_array(result, a);
  return nullptr;
}

}  // namespace

TEST_CASE("a result is arrays with names") {
  const Small small;
  const auto call = small.ttv();
  CHECK(retensor_supports(&call) == RETENSOR_OK);
  retensor_result* result = nullptr;
  REQUIRE(retensor_run(&call, &result) == RETENSOR_OK);
  const auto* values = array_of(result, "values");
  REQUIRE(values != nullptr);
  CHECK(values->order == 1);
  CHECK(values->dtype == RETENSOR_F32);
  REQUIRE(values->shape[0] == 2);
  CHECK(static_cast<const float*>(values->data)[1] == 430);
  CHECK(array_of(result, "index1") != nullptr);
  CHECK(array_of(result, "index2") == nullptr);
  CHECK(retensor_result_array(result, 99) == nullptr);
  CHECK(std::string(retensor_result_executed(result)).starts_with("method=pasta.cpu.coo\n"));
  retensor_result_free(result);
}

TEST_CASE("auto is the planner's choice") {
  const Small small;
  auto call = small.ttv();
  call.method = "auto";
  CHECK(retensor_supports(&call) == RETENSOR_OK);
  retensor_result* result = nullptr;
  REQUIRE(retensor_run(&call, &result) == RETENSOR_OK);
  CHECK(static_cast<const float*>(array_of(result, "values")->data)[1] == 430);
  const std::string executed = retensor_result_executed(result);
  CHECK(executed.starts_with("method="));
  CHECK(executed.find("method=auto") == std::string::npos);
  retensor_result_free(result);
  call.params = "threads=2";
  CHECK(refusal(call).find("beside the method auto") != std::string::npos);
}

TEST_CASE("auto takes contractions with a second tensor of other lengths and another order") {
  const std::array<std::uint64_t, 2> matrix = {2, 9};
  const std::array<std::uint64_t, 3> third = {2, 9, 4};
  const std::array<std::uint32_t, 1> one = {1};
  const std::array<const std::uint32_t*, 3> indices = {one.data(), one.data(), one.data()};
  const std::array<float, 1> five = {5};
  const Small small;
  auto call = small.ttv();
  call.operation = "contraction";
  call.method = "auto";
  call.dense_count = 0;
  for (const bool is_matrix : {true, false}) {
    const retensor_tensor y{is_matrix ? matrix.data() : third.data(),
                            indices.data(),
                            five.data(),
                            1,
                            is_matrix ? 2 : 3,
                            RETENSOR_F32};
    call.y = &y;
    call.variant = is_matrix ? "abc,cp->abp" : "abc,cpq->abpq";
    retensor_result* result = nullptr;
    REQUIRE_MESSAGE(retensor_run(&call, &result) == RETENSOR_OK, retensor_last_error());
    const auto* values = array_of(result, "values");
    REQUIRE(values->shape[0] == 2);
    CHECK(static_cast<const float*>(values->data)[0] == 10);
    CHECK(static_cast<const float*>(values->data)[1] == 20);
    retensor_result_free(result);
  }
}

TEST_CASE("auto settles close calls of long decompositions by a trial, and tells it") {
  const Small small;
  auto call = small.ttv();
  call.method = "auto";
  call.operation = "cpd";
  call.dense_count = 0;
  const std::array<std::uint64_t, 1> rank = {2};
  call.ranks = rank.data();
  call.rank_count = 1;
  call.max_sweeps = 20000;  // beside so many a trial takes little
  retensor_result* result = nullptr;
  REQUIRE(retensor_run(&call, &result) == RETENSOR_OK);
  const std::string executed = retensor_result_executed(result);
  CHECK(executed.find("s a run") != std::string::npos);
  CHECK(executed.find("\ntrial_time=") != std::string::npos);
  retensor_result_free(result);
}

TEST_CASE("a caller of an older header leaves out the last members") {
  const Small small;
  auto call = small.ttv();
  call.max_sweeps = -1;  // lies beyond `size` and is not read
  call.operation = "cpd";
  call.dense_count = 0;
  const std::array<std::uint64_t, 1> rank = {2};
  call.ranks = rank.data();
  call.rank_count = 1;
  call.size = offsetof(retensor_call, max_sweeps);
  CHECK(refusal(call) == "cpd: found max_sweeps 0, expected at least 1");
  call.size = 0;
  CHECK(refusal(call) == "expected an operation");
}

TEST_CASE("what is missing or wrong is said") {
  const Small small;
  auto call = small.ttv();
  call.operation = "tvt";
  CHECK(refusal(call).find("expected one of tew") != std::string::npos);
  call = small.ttv();
  call.x = nullptr;
  CHECK(refusal(call) == "expected a tensor x");
  call = small.ttv();
  call.dense = nullptr;
  CHECK(refusal(call) == "ttv: found 0 dense operands, expected 1");
  call = small.ttv();
  call.method = "pasta.cpu.co";
  CHECK(refusal(call).find("pasta.cpu.coo") != std::string::npos);
  call = small.ttv();
  call.params = "threads";
  CHECK(refusal(call).find("threads") != std::string::npos);
  CHECK(retensor_run(nullptr, nullptr) == RETENSOR_INPUT);
}

TEST_CASE("NULL where a pointer is needed is an error, and of no result there is nothing") {
  const Small small;
  const auto call = small.ttv();
  CHECK(retensor_run(&call, nullptr) == RETENSOR_INPUT);
  CHECK(std::string(retensor_last_error()) == "found NULL, expected a place for the result");
  retensor_result* result = nullptr;
  CHECK(retensor_read(nullptr, RETENSOR_F32, &result) == RETENSOR_INPUT);
  CHECK(retensor_read("x.tns", RETENSOR_F32, nullptr) == RETENSOR_INPUT);
  CHECK(retensor_write(nullptr, &small.x) == RETENSOR_INPUT);
  CHECK(retensor_device_allocate(1, nullptr) != RETENSOR_OK);
  CHECK(retensor_result_name(nullptr, 0) == nullptr);
  CHECK(retensor_result_array(nullptr, 0) == nullptr);
  CHECK(std::string(retensor_result_executed(nullptr)).empty());
  retensor_result_free(nullptr);
}

TEST_CASE("a tolerance and counts that are none are refused") {
  const Small small;
  auto call = small.ttv();
  for (const double tolerance : {-1.0, std::nan("")}) {
    call.tolerance = tolerance;
    CHECK(refusal(call).find("expected 0 or more") != std::string::npos);
  }
  call = small.ttv();
  call.rank_count = -1;
  CHECK(refusal(call).find("a negative number of") != std::string::npos);
}

namespace {

/// A decomposition of `small` with up to three ranks.
retensor_call decomposition(const Small& small, const char* operation,
                            const std::array<std::uint64_t, 3>& ranks, std::int32_t count) {
  auto call = small.ttv();
  call.operation = operation;
  call.dense_count = 0;
  call.ranks = ranks.data();
  call.rank_count = count;
  call.max_sweeps = 5;
  return call;
}

/// What run says; supports must say the same.
std::string both_refuse(const retensor_call& call) {
  const auto said = refusal(call);
  CHECK(retensor_supports(&call) == RETENSOR_INPUT);
  CHECK(retensor_last_error() == said);
  return said;
}

}  // namespace

TEST_CASE("tucker refuses what it would ignore, and supports says so too") {
  const Small small;
  const std::array<std::uint64_t, 3> ranks = {2, 2, 2}, large = {2, 9, 2};
  const auto good = decomposition(small, "tucker", ranks, 3);
  CHECK(retensor_supports(&good) == RETENSOR_OK);
  CHECK(both_refuse(decomposition(small, "tucker", large, 3)).find("found rank 9 of mode 1") == 8);
  CHECK(both_refuse(decomposition(small, "tucker", ranks, 2)).find("found 2 ranks") == 8);
  CHECK(both_refuse(decomposition(small, "tucker", ranks, 0)).find("found 0 ranks") == 8);
  for (const std::int32_t sweeps : {-7, 0}) {
    auto call = good;
    call.max_sweeps = sweeps;
    CHECK(both_refuse(call) ==
          "tucker: found max_sweeps " + std::to_string(sweeps) + ", expected at least 1");
  }
  auto call = good;
  call.constraint = "nonnegative";
  CHECK(both_refuse(call).find("expected none") != std::string::npos);
  call = good;
  call.checkpoint = "state";
  CHECK(both_refuse(call).find("expected none") != std::string::npos);
}

TEST_CASE("tucker refuses first factors of another type than the tensor's") {
  Small small;
  const std::array<double, 3> wide = {2, 3, 4};
  small.x.dtype = RETENSOR_F64;
  small.x.values = wide.data();
  const std::array<float, 6> numbers = {1, 0, 0, 1, 0, 0};
  const std::array<std::array<std::uint64_t, 2>, 3> shapes = {{{2, 2}, {3, 2}, {2, 2}}};
  std::array<retensor_array, 3> factors;
  for (std::size_t m = 0; m < 3; ++m)
    factors[m] = {numbers.data(), shapes[m].data(), 2, RETENSOR_F32};
  auto call = decomposition(small, "tucker", {}, 0);
  call.ranks = nullptr;
  call.dense = factors.data();
  call.dense_count = 3;
  CHECK(both_refuse(call) == "tucker: found a factor of mode 0 of 2 x 2 f32, expected 2 x 2 f64");
}

TEST_CASE("supports refuses what a method with its own decomposition refuses") {
  const Small small;
  const std::array<std::uint64_t, 3> ranks = {2};
  auto call = decomposition(small, "cpd", ranks, 1);
  call.method = "cpd.cpu.als";
  CHECK(retensor_supports(&call) == RETENSOR_OK);
  call.constraint = "nonnegative";
  CHECK(both_refuse(call).find("cpd.cpu.als: found a constraint") == 0);
}

TEST_CASE("a folder is no checkpoint") {
  const Small small;
  const std::array<std::uint64_t, 3> ranks = {2};
  auto call = decomposition(small, "cpd", ranks, 1);
  call.checkpoint = "/";
  CHECK(both_refuse(call) == "cpd: found the folder / as checkpoint, expected a file");
}

TEST_CASE("decompositions refuse values whose norm fp64 does not hold") {
  Small small;
  small.x.dtype = RETENSOR_F64;
  const std::array<std::uint64_t, 3> ranks = {2, 2, 2};
  for (const double value : {1e200, 1e-200}) {
    const std::array<double, 3> values = {value, value, value};
    small.x.values = values.data();
    for (const char* operation : {"cpd", "tucker"})
      CHECK(both_refuse(decomposition(small, operation, ranks, operation[0] == 'c' ? 1 : 3))
                .find("as the largest magnitude of a value, expected 0 or") != std::string::npos);
  }
}

TEST_CASE("a model of numbers that are not finite is an error") {
  Small small;
  const std::array<float, 3> values = {3e38F, 3e38F, 3e38F};
  small.x.values = values.data();
  const std::array<std::uint64_t, 3> ranks = {2};
  auto call = decomposition(small, "cpd", ranks, 1);
  call.seed = 1;
  call.start = "signs";  // of which two nonzeros of a row add up to infinity
  CHECK(refusal(call).find("not finite") != std::string::npos);
}

TEST_CASE("a decomposition tells its true fit") {
  const Small small;
  const std::array<std::uint64_t, 3> ranks = {2};
  for (const char* method : {"pasta.cpu.coo", "cpd.cpu.als"}) {
    auto call = decomposition(small, "cpd", ranks, 1);
    call.method = method;
    retensor_result* result = nullptr;
    REQUIRE(retensor_run(&call, &result) == RETENSOR_OK);
    const auto* fit = array_of(result, "true_fit");
    REQUIRE(fit != nullptr);
    CHECK(fit->shape[0] == 1);
    const auto* fits = array_of(result, "fit");
    const double last = static_cast<const double*>(fits->data)[fits->shape[0] - 1];
    CHECK(last > 0.5);
    CHECK(static_cast<const double*>(fit->data)[0] == doctest::Approx(last).epsilon(1e-4));
    retensor_result_free(result);
  }
}

TEST_CASE("an error is gone after a call that succeeds") {
  const Small small;
  auto call = small.ttv();
  call.mode = 7;
  CHECK_FALSE(refusal(call).empty());
  call = small.ttv();
  CHECK(retensor_supports(&call) == RETENSOR_OK);
  CHECK(std::string(retensor_last_error()).empty());
}

TEST_CASE("impossible views are refused") {
  Small small;
  const auto call = small.ttv();
  small.x.order = 9;
  CHECK(refusal(call) == "x: found order 9, expected 1 to 8");
  small.x.order = 3;
  small.x.dtype = RETENSOR_U32;
  CHECK(refusal(call).find("expected RETENSOR_F32 or RETENSOR_F64") != std::string::npos);
  small.x.dtype = RETENSOR_F32;
  small.x.indices = nullptr;
  CHECK(refusal(call) == "x: expected mode lengths, indices and values");
  small.x.indices = small.indices.data();
  const auto* const second = std::exchange(small.indices[1], nullptr);
  CHECK(refusal(call) == "x: expected indices of every mode");
  small.indices[1] = second;
  small.x.nnz = std::uint64_t{1} << 62;
  retensor_result* none = nullptr;
  CHECK(retensor_run(&call, &none) == RETENSOR_MEMORY);
  small.x.nnz = small.i.size();
  small.j[1] = 3;
  CHECK(refusal(call).find("index of mode 2 is beyond its length 3") != std::string::npos);
  small.j[1] = 2;
  small.operand.order = 1;
  CHECK(refusal(call) == "found a dense operand of order 1, expected a matrix");
  small.operand.order = 2;
  small.shape[0] = 1;
  CHECK(refusal(call) == "ttv: found dense operand 0 of 1 x 1 f32, expected 2 x 1 f32");
}

TEST_CASE("a decomposition of a tensor without nonzeros is refused") {
  Small small;
  small.x.nnz = 0;
  auto call = small.ttv();
  const std::array<std::uint64_t, 3> ranks = {2, 2, 2};
  call.dense = nullptr;
  call.dense_count = 0;
  call.max_sweeps = 2;
  call.ranks = ranks.data();
  for (const bool is_tucker : {true, false}) {
    call.operation = is_tucker ? "tucker" : "cpd";
    call.rank_count = is_tucker ? 3 : 1;
    CHECK(refusal(call) == std::string(call.operation) + ": the tensor has no nonzeros");
  }
}

TEST_CASE("an error belongs to its thread") {
  const Small small;
  auto call = small.ttv();
  call.mode = 7;
  const auto here = refusal(call);
  std::string there = "untouched";
  std::thread([&] { there = retensor_last_error(); }).join();
  CHECK(there.empty());
  CHECK(retensor_last_error() == here);
}

TEST_CASE("methods are counted up to the last") {
  std::int32_t count = 0, solving = 0;
  for (; retensor_method_id(count) != nullptr; ++count) {
    CHECK(std::strlen(retensor_method_summary(count)) > 0);
    solving += retensor_method_solves(count, "ttv");
  }
  CHECK(count > 10);
  CHECK(solving >= 2);
  CHECK(retensor_method_summary(count) == nullptr);
  CHECK(retensor_method_id(-1) == nullptr);
  CHECK(retensor_method_solves(count, "ttv") == 0);
  CHECK(retensor_c_api() == RETENSOR_C_API);
}

TEST_CASE("a method of a GPU that is not there is an error of the device") {
  const Small small;
  auto call = small.ttv();
  call.method = "pasta.cuda.coo";
  retensor_result* result = nullptr;
  const auto status = retensor_run(&call, &result);
  retensor_result_free(result);
  CHECK((status == RETENSOR_OK || status == RETENSOR_DEVICE));
  CHECK(retensor_supports(&call) == status);
}

TEST_CASE("a decomposition refuses what it would ignore or what kills it") {
  Small small;
  auto call = small.ttv();
  call.operation = "cpd";
  call.dense_count = 0;
  call.max_sweeps = 1;
  const std::array<std::uint64_t, 3> ranks = {1, 1, 1};
  call.ranks = ranks.data();
  call.rank_count = 2;
  CHECK(refusal(call) == "cpd: found 2 ranks, expected one");

  const std::array<std::uint64_t, 2> shapes[] = {{2, 1}, {3, 1}, {2, 1}};
  const std::array<float, 3> ones = {1, 1, 1};
  const retensor_array first[] = {{ones.data(), shapes[0].data(), 2, RETENSOR_F32},
                                  {ones.data(), shapes[1].data(), 2, RETENSOR_F32},
                                  {ones.data(), shapes[2].data(), 2, RETENSOR_F32}};
  call.rank_count = 0;
  call.dense = first;
  call.dense_count = 3;
  call.start = "normal";
  CHECK(refusal(call) == "cpd: found a start beside first factors, expected one of them");

  // 48 TiB of factors, which the kernel would promise and not have.
  small.dims.fill(std::uint64_t{1} << 32);
  const std::array<std::uint64_t, 3> wide = {512, 512, 512};
  for (const auto& [operation, count] : {std::pair{"tucker", 3}, std::pair{"cpd", 1}}) {
    call = small.ttv();
    call.operation = operation;
    call.dense_count = 0;
    call.max_sweeps = 1;
    call.ranks = wide.data();
    call.rank_count = count;
    retensor_result* result = nullptr;
    CHECK(retensor_run(&call, &result) == RETENSOR_MEMORY);
    CHECK(std::string(retensor_last_error()).starts_with("the factors take 49152.0 GiB"));
  }
}

TEST_CASE("a binary tensor is read in its own type, a text in single precision") {
  const retensor::testing::TemporaryFolder folder;
  Small small;
  const std::array<double, 3> values = {0.1, 1e-200, 4};
  small.x.values = values.data();
  small.x.dtype = RETENSOR_F64;
  for (const std::string name : {"x.tnsb", "x.tns"}) {
    REQUIRE(retensor_write(folder.file(name).c_str(), &small.x) == RETENSOR_OK);
    retensor_result* back = nullptr;
    REQUIRE(retensor_read(folder.file(name).c_str(), RETENSOR_OWN, &back) == RETENSOR_OK);
    const auto* const read = array_of(back, "values");
    CHECK(read->dtype == (name == "x.tnsb" ? RETENSOR_F64 : RETENSOR_F32));
    if (read->dtype == RETENSOR_F64) CHECK(static_cast<const double*>(read->data)[1] == 1e-200);
    retensor_result_free(back);
  }
}

TEST_CASE("files are written in the format that their names promise") {
  const retensor::testing::TemporaryFolder folder;
  const Small small;
  for (const char* name : {"x.tns", "x.tnsb", "x"}) {
    REQUIRE(retensor_write(folder.file(name).c_str(), &small.x) == RETENSOR_OK);
    retensor_result* back = nullptr;
    REQUIRE(retensor_read(folder.file(name).c_str(), RETENSOR_F32, &back) == RETENSOR_OK);
    CHECK(static_cast<const float*>(array_of(back, "values")->data)[2] == 4);
    retensor_result_free(back);
  }
  CHECK(retensor_write(folder.file("x.mtx").c_str(), &small.x) == RETENSOR_INPUT);  // of order 3
  for (const char* name : {"x.npz", "x.h5", "x.smtx", "x.tns.gz"}) {
    CHECK(retensor_write(folder.file(name).c_str(), &small.x) == RETENSOR_INPUT);
    CHECK(std::string(retensor_last_error()).find("expected .tns, .tnsb or .mtx") !=
          std::string::npos);
  }
}
