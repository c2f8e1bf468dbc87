// A contraction as a product of two matrices: numbering, duplicates, nonzeros without a partner.
#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "common/generate/generators.hpp"
#include "papers/bcb_sptc/format/matricised.hpp"
#include "tests/support/values.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using retensor::test::numbered;

namespace {

using Product = std::map<std::vector<Index>, float>;

/// The result of "abk,kcd->abcd" entry by entry.
Product product_of(const Matricised& m) {
  Product product;
  for (Count row = 0; row < m.rows(); ++row)
    for (auto a = m.row_start[row]; a < m.row_start[row + 1]; ++a)
      for (auto b = m.group_start[m.x_group[a]]; b < m.group_start[m.x_group[a] + 1]; ++b) {
        const auto column = m.y_column[b];
        product[{m.row_index[0][row], m.row_index[1][row], m.column_index[0][column],
                 m.column_index[1][column]}] += m.x_values[a] * m.y_values[b];
      }
  return product;
}

Product expected_of(const Coo& x, const Coo& y) {
  Product product;
  for (Count p = 0; p < x.nnz(); ++p)
    for (Count q = 0; q < y.nnz(); ++q)
      if (x.indices[2][p] == y.indices[0][q])
        product[{x.indices[0][p], x.indices[1][p], y.indices[1][q], y.indices[2][q]}] +=
            static_cast<float>(x.values.at(p) * y.values.at(q));
  return product;
}

}  // namespace

TEST_CASE("rows and columns that occur are numbered, nonzeros without a partner left out") {
  // Contracted: 3 and 7 meet, 5 of x and 9 of y do not. Row (2, 0) has 5 alone.
  const Dims x_dims = {4, 4'000'000'000, 10}, y_dims = {10, 4'000'000'000, 4};
  const Index far = 3'999'999'999;
  const Coo x = numbered(x_dims, {{1, far, 7}, {0, 5, 3}, {2, 0, 5}, {0, 5, 7}, {1, far, 7}});
  const Coo y = numbered(y_dims, {{7, far, 1}, {9, 0, 0}, {3, 2, 2}, {7, 2, 2}});
  const Matricised m(Contraction("abk,kcd->abcd", x_dims, y_dims), x, y);
  CHECK(m.rows() == 2);
  CHECK(m.groups() == 3);
  CHECK(m.columns == 3);
  CHECK(m.row_start == std::vector<std::uint32_t>{0, 2, 3});
  CHECK(m.row_index == std::vector<std::vector<Index>>{{0, 1}, {5, far}});
  CHECK(m.x_values == std::vector<float>{2, 4, 6});  // 1 and 5 stand at the same place
  CHECK(m.products == 5);                            // 1 of group 3, 2 of group 7 twice
  CHECK(product_of(m) == expected_of(x, y));
}

TEST_CASE("the product of the matrices is the contraction") {
  const Coo x = uniform({9, 8, 13}, 200, 1, DType::f32),
            y = uniform({13, 7, 6}, 150, 2, DType::f32);
  const Matricised m(Contraction("abk,kcd->abcd", x.dims, y.dims), x, y);
  const auto found = product_of(m), expected = expected_of(x, y);
  REQUIRE(found.size() == expected.size());
  for (const auto& entry : expected) {
    REQUIRE(found.count(entry.first) == 1);
    CHECK(found.at(entry.first) == doctest::Approx(entry.second).epsilon(1e-5));
  }
}

TEST_CASE("without contracted or free modes there is one group, row or column") {
  const Coo x = numbered({3}, {{0}, {2}}), y = numbered({4}, {{1}});
  const Matricised outer(Contraction("a,b->ab", x.dims, y.dims), x, y);
  CHECK(outer.groups() == 1);
  CHECK(outer.products == 2);
  const Coo z = numbered({3, 2}, {{0, 1}, {2, 0}});
  const Matricised columns(Contraction("k,ka->a", x.dims, z.dims), x, z);
  CHECK(columns.rows() == 1);
  CHECK(columns.row_index.empty());
  CHECK(columns.products == 2);
}
