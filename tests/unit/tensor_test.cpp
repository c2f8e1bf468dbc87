// Tensor and matrix types: construction, invariants, conversions between them.
#include <doctest/doctest.h>

#include <limits>

#include "common/core/error.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/csr.hpp"
#include "common/tensor/linear_index.hpp"
#include "common/tensor/matrix.hpp"
#include "common/tensor/operations.hpp"
#include "common/tensor/semi_sparse.hpp"
#include "tests/support/complaint.hpp"

using namespace retensor;
using test::complaint;

namespace {

Coo small_tensor(DType type = DType::f32) {  // 3 x 4 x 2, unsorted
  Coo t({3, 4, 2}, type, 5);
  t.indices = {{2, 0, 1, 0, 2}, {3, 1, 0, 1, 3}, {1, 0, 1, 1, 0}};
  for (Count x = 0; x < t.nnz(); ++x) t.values.set(x, static_cast<double>(x) + 1);
  return t;
}

}  // namespace

TEST_CASE("values keep their type, narrow to nearest and refuse the wrong type") {
  Values v(std::vector<double>{1.0, 1.0 + 0x1.0p-24, 1.0 + 0x1.8p-23});
  const Values narrow = v.cast(DType::f32);
  CHECK(narrow.dtype() == DType::f32);
  CHECK(narrow.bytes() == 12);
  CHECK(narrow.at(1) == 1.0);              // a tie goes to even
  CHECK(narrow.at(2) == 1.0 + 0x1.0p-22);  // and so does this one
  CHECK(narrow.cast(DType::f64).at(2) == narrow.at(2));
  CHECK_THROWS_AS(v.as<float>(), LogicError);
  CHECK(Values(DType::f64, 0).cast(DType::f32).size() == 0);
}

TEST_CASE("COO accepts orders 1 to 8 and counts the bytes of PASTA section III.A") {
  for (const int order : {1, 2, 8}) {
    const Coo t(Dims(static_cast<std::size_t>(order), 2), DType::f32, 7);
    CHECK(t.order() == order);
    CHECK(t.bytes() == 4u * (static_cast<Count>(order) + 1) * 7);
    t.check();
  }
  CHECK(Coo({2, 2}, DType::f64, 3).bytes() == 3 * (4 + 4 + 8));
  CHECK_THROWS_AS(Coo({}, DType::f32), InputError);
  CHECK_THROWS_AS(Coo(Dims(9, 2), DType::f32), InputError);
  CHECK_THROWS_AS(Coo({(1ULL << 32) + 1}, DType::f32), InputError);
  Coo({1ULL << 32, 0}, DType::f32).check();
}

TEST_CASE("COO names the first broken invariant") {
  Coo t = small_tensor();
  CHECK(complaint(t) == "none");
  t.indices[1][2] = 4;
  t.indices[1][4] = 9;
  CHECK(complaint(t) == "nonzero 3 (2, 5, 2): index of mode 2 is beyond its length 4");
  t = small_tensor();
  t.values.set(3, std::numeric_limits<double>::infinity());
  CHECK(complaint(t) == "nonzero 4 (1, 2, 2): value inf is not finite");
  t = small_tensor();
  t.indices[2].pop_back();
  CHECK(complaint(t) == "mode 3: 4 indices for 5 values");
  t.indices.pop_back();
  CHECK(complaint(t) == "2 index arrays for order 3");
  Coo last({1ULL << 32}, DType::f32, 1);
  last.indices[0][0] = std::numeric_limits<Index>::max();
  CHECK(coordinate_text(last, 0) == "(4294967296)");
  last.check();
}

TEST_CASE("matrices are padded to their leading dimension and refuse impossible shapes") {
  Matrix m(3, 5, DType::f64, 8);
  m.set(2, 4, 7.5);
  CHECK(m.view<double>()(2, 4) == 7.5);
  CHECK(m.view<double>().row(2)[4] == 7.5);
  CHECK(m.values().at(2 * 8 + 4) == 7.5);
  CHECK(m.bytes() == 3 * 8 * 8);
  CHECK(Matrix(3, 5, DType::f32).ld() == 5);
  CHECK_THROWS_AS(Matrix(3, 5, DType::f32, 4), InputError);
  CHECK_THROWS_AS(Matrix(1ULL << 40, 1ULL << 40, DType::f32), InputError);
  CHECK_THROWS_AS(m.view<float>(), LogicError);
}

TEST_CASE("linear index orders coordinates lexicographically in 64 and in 128 bits") {
  CHECK(bits_for(0) == 0);
  CHECK(bits_for(1) == 0);
  CHECK(bits_for(2) == 1);
  CHECK(bits_for(5) == 3);
  CHECK(bits_for(1ULL << 32) == 32);

  const std::vector<int> modes{2, 0, 1};
  const LinearIndex narrow({5, 1, 9}, modes);
  CHECK(narrow.bits() == 7);
  CHECK(narrow.fits64());
  const std::vector<Index> at{4, 0, 8};
  const auto key = narrow.encode<std::uint64_t>(at);
  CHECK(key == (8u << 3 | 4u));
  CHECK(narrow.decode(key, 0) == 8);
  CHECK(narrow.decode(key, 1) == 4);
  CHECK(narrow.decode(key, 2) == 0);

  const Dims wide(4, 1ULL << 32);
  const LinearIndex full(wide, natural_order(4));
  CHECK(full.bits() == 128);
  CHECK_FALSE(full.fits64());
  const std::vector<Index> last(4, std::numeric_limits<Index>::max());
  CHECK(full.encode<Uint128>(last) == ~Uint128{0});
  CHECK(full.decode(full.encode<Uint128>(last), 0) == last[0]);
  CHECK_THROWS_AS(LinearIndex(Dims(5, 1ULL << 32), natural_order(5)), InputError);

  // A mode of length 1 in front of 64 full bits.
  const LinearIndex leading({1, 1ULL << 32, 1ULL << 32}, natural_order(3));
  const std::vector<Index> corner{0, 7, 9};
  CHECK(leading.encode<std::uint64_t>(corner) == ((std::uint64_t{7} << 32) | 9));
}

TEST_CASE("CSR from COO and back, empty rows and the empty matrix included") {
  for (const DType type : {DType::f32, DType::f64}) {
    Coo m({4, 3}, type, 4);
    m.indices = {{3, 0, 3, 0}, {2, 1, 0, 0}};
    for (Count x = 0; x < 4; ++x) m.values.set(x, static_cast<double>(x) + 1);
    const Csr csr = to_csr(m);
    csr.check();
    CHECK(csr.row_start == std::vector<Count>{0, 2, 2, 2, 4});
    CHECK(csr.columns == std::vector<Index>{0, 1, 0, 2});
    CHECK(csr.values.at(0) == 4);
    CHECK(csr.values.dtype() == type);
    sort_nonzeros(m, natural_order(2));
    const Coo back = csr.to_coo();
    CHECK(back.indices == m.indices);
    CHECK(back.values.at(3) == m.values.at(3));
  }
  const Csr empty = to_csr(Coo({5, 5}, DType::f32));
  empty.check();
  CHECK(empty.to_coo().nnz() == 0);
  CHECK_THROWS_AS(to_csr(small_tensor()), InputError);
}

TEST_CASE("CSR check finds a broken row start and a column beyond the matrix") {
  Coo matrix({3, 8}, DType::f32, 5);
  matrix.indices = {{0, 0, 1, 2, 2}, {1, 7, 4, 0, 3}};
  const Csr good = to_csr(matrix);
  good.check();
  Csr bad = good;
  bad.row_start[1] = 5;
  bad.row_start[2] = 3;
  CHECK_THROWS_WITH_AS(bad.check(), "row 2: its end 3 lies before its start 5", InputError);
  bad = good;
  bad.columns[4] = 8;
  CHECK_THROWS_WITH_AS(bad.check(), "nonzero 5: column 9 is beyond 8", InputError);
  bad = good;
  bad.row_start.back() = 4;
  CHECK_THROWS_AS(bad.check(), InputError);
}

TEST_CASE("semi-sparse COO stores zeros inside dense blocks and gives them back") {
  for (const DType type : {DType::f32, DType::f64}) {
    const Coo t = small_tensor(type);
    const SemiSparseCoo s = to_semi_sparse(t, {2});
    s.check();
    CHECK(s.sparse_modes() == std::vector<int>{0, 1});
    CHECK(s.fibers() == 3);
    CHECK(s.indices[0] == std::vector<Index>{0, 1, 2});
    CHECK(s.indices[1] == std::vector<Index>{1, 0, 3});
    const std::vector<double> expected{2, 4, 0, 3, 5, 1};
    for (Count i = 0; i < s.nnz(); ++i) CHECK(s.values.at(i) == expected[i]);
    const Coo back = s.to_coo();
    back.check();
    CHECK(back.nnz() == 6);
    CHECK(coordinate_text(back, 2) == "(2, 1, 1)");
    CHECK(coordinate_text(back, 5) == "(3, 4, 2)");
  }
}

TEST_CASE("semi-sparse COO with every mode dense, none dense, two dense, and empty") {
  const Coo t = small_tensor();
  const SemiSparseCoo dense = to_semi_sparse(t, {0, 1, 2});
  dense.check();
  CHECK(dense.fibers() == 1);
  CHECK(dense.nnz() == 24);
  CHECK(dense.values.at((2 * 4 + 3) * 2 + 1) == 1);
  CHECK(coordinate_text(dense.to_coo(), 23) == "(3, 4, 2)");

  const SemiSparseCoo sparse = to_semi_sparse(t, {});
  sparse.check();
  CHECK(sparse.fibers() == 5);
  CHECK(sparse.bytes() == t.bytes());

  const SemiSparseCoo two = to_semi_sparse(t, {0, 2});
  two.check();
  CHECK(two.fibers() == 3);
  CHECK(two.dense_volume() == 6);
  CHECK(two.values.at(2 * 6 + 2 * 2 + 1) == 1);  // fiber j = 3, block (i, k) = (2, 1)

  const SemiSparseCoo empty = to_semi_sparse(Coo({3, 4, 2}, DType::f32), {1});
  empty.check();
  CHECK(empty.nnz() == 0);
  CHECK(empty.to_coo().nnz() == 0);
}

TEST_CASE("semi-sparse check finds wrong lengths, indices and mode lists") {
  const SemiSparseCoo good = to_semi_sparse(small_tensor(), {2});
  SemiSparseCoo bad = good;
  bad.indices[1][2] = 4;
  CHECK_THROWS_WITH_AS(bad.check(), "fiber 3: index 5 of mode 2 is beyond its length 4",
                       InputError);
  bad = good;
  bad.values = Values(DType::f32, 5);
  CHECK_THROWS_AS(bad.check(), InputError);
  bad = good;
  bad.indices[1].pop_back();
  CHECK_THROWS_AS(bad.check(), InputError);
  CHECK_THROWS_AS(to_semi_sparse(small_tensor(), {2, 1}), InputError);
  CHECK_THROWS_AS(to_semi_sparse(small_tensor(), {3}), InputError);
}
