// pasta.cpu.packed: the format's round trip and its checks, and the kernel with every kind of word,
// rank, order and vectors beside the oracle.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/measure/timing.hpp"
#include "common/method/registry.hpp"
#include "common/tensor/operations.hpp"
#include "papers/pasta/format/packed_rows.hpp"
#include "papers/pasta/kernels/packed_cpu.hpp"

using namespace retensor;
using namespace retensor::pasta;

namespace {

/// Nonzeros in no order, of which a row has none, one or many.
Coo tensor_of(const Dims& dims, Count nnz, DType dtype = DType::f32) {
  Coo x(dims, dtype, nnz);
  for (std::size_t m = 0; m < dims.size(); ++m)
    for (Count p = 0; p < nnz; ++p)
      x.indices[m][p] =
          static_cast<Index>(CounterRng(5, m).below(p % 97 * (p % 3) + p / 41, dims[m]));
  for (Count p = 0; p < nnz; ++p) x.values.set(p, CounterRng(6).uniform(p) - 0.5);
  return x;
}

Problem problem_of(const Coo& x, int mode, std::uint64_t rank) {
  ProblemSpec spec;
  spec.dtype = x.dtype();
  spec.operation = Operation::mttkrp;
  spec.mode = mode, spec.rank = rank;
  return Problem(spec, std::make_shared<const Coo>(x));
}

const std::vector<Dims> kRowShapes = {{40, 30},       {300, 7, 9},     {5, 70'000, 70'000},
                                      {9, 8, 30, 11}, {6, 5, 4, 3, 7}, {30, 1, 20},
                                      {1, 20, 30},    {1, 1, 40, 3},   {50, 1, 30, 1, 1}};

}  // namespace

TEST_CASE("packed rows hold the tensor, in words of 32 and of 64 bits") {
  for (const Dims& dims : kRowShapes)
    for (int mode = 0; mode < static_cast<int>(dims.size()); ++mode) {
      const Coo x = tensor_of(dims, 500);
      const PackedRows rows = to_packed_rows(x, mode);
      rows.check();
      Coo sorted = x;
      const int by[] = {mode};
      sort_nonzeros(sorted, by);
      const Coo back = rows.to_coo();
      CHECK(back.indices == sorted.indices);
      CHECK(std::holds_alternative<Array<std::uint32_t>>(rows.words) ==
            (packed_bits(dims, mode) <= 32));
    }
}

TEST_CASE("what cannot be packed is refused, and the check finds planted faults") {
  const Coo wide(Dims{2, Count{1} << 32, Count{1} << 32, 2}, DType::f32, 0);
  CHECK_THROWS_WITH_AS(to_packed_rows(wide, 0), doctest::Contains("65 bits"), InputError);
  const PackedRows rows = to_packed_rows(tensor_of({300, 7, 9}, 500), 0);
  PackedRows fault = rows;
  std::swap(fault.run_row[0], fault.run_row[1]);
  CHECK_THROWS_AS(fault.check(), InputError);
  fault = rows;
  fault.run_start[1] = 0;
  CHECK_THROWS_AS(fault.check(), InputError);
  fault = rows;
  fault.values = Values(DType::f32, rows.nnz() - 1);
  CHECK_THROWS_AS(fault.check(), InputError);
  fault = rows;
  std::get<Array<std::uint32_t>>(fault.words)[3] |= 7U << rows.shift[0];
  CHECK_THROWS_AS(fault.check(), InputError);
}

TEST_CASE("every order, mode, rank and precision meets the oracle with more threads than rows") {
  const Registry registry = all_methods();
  const Method& method = registry.find("pasta.cpu.packed");
  for (const Dims& dims : kRowShapes)
    for (int mode = 0; mode < static_cast<int>(dims.size()); ++mode)
      for (const std::uint64_t rank : {1, 8, 16, 17, 33, 64, 80}) {
        if (rank > 17 && dims[1] > 1000) continue;  // factors of 70,000 rows
        const auto dtype = rank % 2 == 0 && mode % 2 == 0 ? DType::f64 : DType::f32;
        const Problem problem = problem_of(tensor_of(dims, 700, dtype), mode, rank);
        const Trial trials[] = {
            {&method, &problem, method.params().resolve({{"threads", std::int64_t{13}}})}};
        const auto m = measure(trials, {.warmup = 0, .samples = 2}).front();
        CHECK_MESSAGE(m.status == "ok", "order " << dims.size() << " mode " << mode << " rank "
                                                 << rank << ": " << m.reason);
      }
}

TEST_CASE(
    "vectors as compiled give what vectors of 512 bits do, and other factors something else") {
  const PackedRows x = to_packed_rows(tensor_of({300, 7, 9}, 900), 0);
  Array<float> a(7 * 16), b(9 * 16), out[3], carry(4 * 16);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) - 6;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 11) - 5;
  PackedMttkrp<float> m{&x, {a.data(), b.data()}, 16, nullptr, carry.data(), 4};
  const Vectors kinds[] = {Vectors::compiled, widest_vectors(), Vectors::compiled};
  for (int i = 0; i < 3; ++i) {
    if (i == 2) b[5] += 1;
    out[i].assign(300 * 16, 0);
    m.out = out[i].data();
    mttkrp_packed(m, kinds[i]);
  }
  double largest = 0;
  for (std::size_t i = 0; i < out[0].size(); ++i)
    largest = std::max<double>(largest, std::abs(out[0][i] - out[1][i]));
  CHECK(largest < 1e-3);
  CHECK(out[0] != out[2]);
}

TEST_CASE("orders that it does not take are declined") {
  const Registry registry = all_methods();
  const Method& method = registry.find("pasta.cpu.packed");
  const Problem six = problem_of(tensor_of({2, 3, 2, 3, 2, 3}, 10), 0, 4);
  CHECK(method.supports(six, method.params().resolve({})).reason.find("order 6") !=
        std::string::npos);
}
