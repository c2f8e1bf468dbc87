// Products of matrices are sums over k of l_ik times row k of a matrix of R columns. A tile of
// kRows rows and one vector of columns stays in registers over all k: one load of the matrix for
// kRows fused operations. Columns that fill no vector of the widest kind take narrower ones.
#include "common/decompose/block_products.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#define RETENSOR_HERE [[gnu::always_inline]] inline
#if defined(__x86_64__)
#define RETENSOR_FOR(...) __attribute__((target(__VA_ARGS__)))
#else
#define RETENSOR_FOR(...)
#endif

namespace retensor::cpd {
namespace {

typedef double Vector8 __attribute__((vector_size(64)));
typedef double Vector4 __attribute__((vector_size(32)));
typedef double Vector2 __attribute__((vector_size(16)));
typedef double Vector1 __attribute__((vector_size(8)));
template <class Vector>
constexpr Count kLanes = sizeof(Vector) / sizeof(double);

/// l_ik stands at data[i * of_i + k * of_k].
struct Left {
  const double* data;
  Count of_i, of_k;
  double at(Count i, Count k) const { return data[i * of_i + k * of_k]; }
};

/// What is added up: rows x R += left (rows x count) by right (count x R).
struct Product {
  Left left;
  const double* right;
  double* to;
  Count rows, count, rank;
  bool symmetric = false;  // no tile is needed whose columns all lie below its rows
};

template <class Vector, int kRows>
RETENSOR_HERE void add_tile(const Product& p, Count i, Count column) {
  Vector sum[kRows], row;
  for (int t = 0; t < kRows; ++t)
    std::memcpy(&sum[t], p.to + (i + static_cast<Count>(t)) * p.rank + column, sizeof row);
  for (Count k = 0; k < p.count; ++k) {
    std::memcpy(&row, p.right + k * p.rank + column, sizeof row);
    for (int t = 0; t < kRows; ++t) sum[t] += p.left.at(i + static_cast<Count>(t), k) * row;
  }
  for (int t = 0; t < kRows; ++t)
    std::memcpy(p.to + (i + static_cast<Count>(t)) * p.rank + column, &sum[t], sizeof row);
}

/// Adds as many columns from `column` on as whole vectors have; returns the next one.
template <class Vector, int kRows>
RETENSOR_HERE Count add_columns(const Product& p, Count i, Count column) {
  for (; column + kLanes<Vector> <= p.rank; column += kLanes<Vector>)
    if (!p.symmetric || i < column + kLanes<Vector>) add_tile<Vector, kRows>(p, i, column);
  return column;
}

template <int kRows>
RETENSOR_HERE void add_rows(const Product& p, Count i) {
  Count column = add_columns<Vector8, kRows>(p, i, 0);
  column = add_columns<Vector4, kRows>(p, i, column);
  column = add_columns<Vector2, kRows>(p, i, column);
  add_columns<Vector1, kRows>(p, i, column);
}

template <int kRows>
RETENSOR_HERE void add_product(const Product& p) {
  Count i = 0;
  for (; i + kRows <= p.rows; i += kRows) add_rows<kRows>(p, i);
  for (; i < p.rows; ++i) add_rows<1>(p, i);
}

// As many rows as leave no sum waiting for the one before and fit the registers.
RETENSOR_FOR("avx512f,avx2,fma") void add_product_avx512(const Product& p) {
  add_product<8>(p);
}
RETENSOR_FOR("avx2,fma") void add_product_avx2(const Product& p) {
  add_product<4>(p);
}
void add_product_compiled(const Product& p) {
  add_product<2>(p);
}

using Add = void (*)(const Product&);

Add widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return add_product_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return add_product_avx2;
#endif
  return add_product_compiled;
}

void add(const Product& p) {
  static const Add of_this_processor = widest();
  of_this_processor(p);
}

}  // namespace

void multiply_rows(const double* m, const double* w, double* a, Count n, Count rank) {
  std::fill_n(a, n * rank, 0.0);
  add({{m, rank, 1}, w, a, n, rank, rank});
}

void add_block_gram(const double* a, double* g, Count n, Count rank) {
  add({{a, 1, rank}, a, g, rank, n, rank, true});
}

void add_column_products(const double* m, const double* a, double* s, Count n, Count rank) {
  for (Count i = 0; i < n; ++i)
    for (Count r = 0; r < rank; ++r) s[r] += m[i * rank + r] * a[i * rank + r];
}

void drop_below(double least, double* a, Count n) {
  for (Count k = 0; k < n; ++k) a[k] = std::abs(a[k]) < least ? 0 : a[k];
}

}  // namespace retensor::cpd
