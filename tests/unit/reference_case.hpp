// Random small problems and their answers by loops over all coordinates of dense arrays, written
// without the oracle's code.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/core/rng.hpp"
#include "common/reference/expected.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/matrix.hpp"
#include "common/tensor/result.hpp"

namespace reference_case {

using namespace retensor;
using reference::CheckReport;
using reference::Expected;
using reference::Limits;
using reference::Precision;
using Coordinate = std::vector<Index>;

inline const Precision kF64 = Precision::of(DType::f64), kF32 = Precision::of(DType::f32);

/// A value for counter i: reals in [-2, 2), or integers -4 to 4 without 0.
enum class Draw { reals, integers };
inline double draw(Draw kind, const CounterRng& rng, std::uint64_t i) {
  if (kind == Draw::reals) return 4 * rng.uniform(i) - 2;
  const auto n = static_cast<double>(rng.below(i, 8));
  return n < 4 ? n - 4 : n - 3;
}

/// About `nnz` distinct random coordinates in random order; the last index of each mode is taken.
inline Coo random_tensor(const Dims& dims, Count nnz, std::uint64_t seed, DType type = DType::f64,
                         Draw kind = Draw::reals) {
  const CounterRng rng(seed, 1);
  std::set<Coordinate> seen;
  std::vector<Coordinate> chosen;
  for (std::uint64_t i = 0; i < nnz; ++i) {
    Coordinate c;
    for (std::size_t m = 0; m < dims.size(); ++m)
      c.push_back(static_cast<Index>(i == 0 ? dims[m] - 1 : rng.below(i * 16 + m, dims[m])));
    if (seen.insert(c).second) chosen.push_back(c);
  }
  Coo x(dims, type, chosen.size());
  const CounterRng values(seed, 2);
  for (Count p = 0; p < chosen.size(); ++p) {
    for (std::size_t m = 0; m < dims.size(); ++m) x.indices[m][p] = chosen[p][m];
    x.values.set(p, draw(kind, values, p));
  }
  return x;
}

inline Matrix random_matrix(std::uint64_t rows, std::uint64_t cols, std::uint64_t seed,
                            DType type = DType::f64, Draw kind = Draw::reals) {
  Matrix m(rows, cols, type, cols + 3);
  const CounterRng rng(seed, 3);
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t j = 0; j < cols; ++j) m.set(i, j, draw(kind, rng, i * cols + j));
  return m;
}

inline std::vector<Matrix> random_factors(const Dims& dims, const Dims& ranks, std::uint64_t seed,
                                          DType type = DType::f64, Draw kind = Draw::reals) {
  std::vector<Matrix> factors;
  for (std::size_t m = 0; m < dims.size(); ++m)
    factors.push_back(random_matrix(dims[m], ranks[m], seed + 100 * m, type, kind));
  return factors;
}

/// Calls f with every coordinate, the last mode fastest; once, with none, for no modes.
inline void for_each_coordinate(const Dims& dims, const std::function<void(const Coordinate&)>& f) {
  std::uint64_t volume = 1;
  for (const auto n : dims) volume *= n;
  for (std::uint64_t v = 0; v < volume; ++v) {
    Coordinate c(dims.size());
    std::uint64_t rest = v;
    for (std::size_t m = dims.size(); m-- > 0; rest /= dims[m])
      c[m] = static_cast<Index>(rest % dims[m]);
    f(c);
  }
}

/// Every element of a tensor, and whether it is stored.
class Dense {
 public:
  explicit Dense(Dims dims) : dims_(std::move(dims)) {
    std::uint64_t volume = 1;
    for (const auto n : dims_) volume *= n;
    values_.resize(volume, 0.0);
    stored_.resize(volume, false);
  }
  explicit Dense(const Coo& x) : Dense(x.dims) {
    for (Count p = 0; p < x.nnz(); ++p) {
      Coordinate c;
      for (const auto& mode : x.indices) c.push_back(mode[p]);
      add(c, x.values.at(p));
    }
  }
  void add(const Coordinate& c, double v) {
    values_[offset(c)] += v;
    stored_[offset(c)] = true;
  }
  double value(const Coordinate& c) const { return values_[offset(c)]; }
  bool stored(const Coordinate& c) const { return stored_[offset(c)]; }
  const Dims& dims() const { return dims_; }

  /// Stored elements from the last coordinate to the first: a legal, unsorted result.
  Coo to_coo(DType type) const {
    std::vector<Coordinate> kept;
    for_each_coordinate(dims_, [&](const Coordinate& c) {
      if (stored(c)) kept.insert(kept.begin(), c);
    });
    Coo x(dims_, type, kept.size());
    for (Count p = 0; p < kept.size(); ++p) {
      for (std::size_t m = 0; m < dims_.size(); ++m) x.indices[m][p] = kept[p][m];
      x.values.set(p, value(kept[p]));
    }
    return x;
  }

 private:
  std::size_t offset(const Coordinate& c) const {
    std::size_t at = 0;
    for (std::size_t m = 0; m < dims_.size(); ++m) at = at * dims_[m] + c[m];
    return at;
  }
  Dims dims_;
  std::vector<double> values_;
  std::vector<bool> stored_;
};

inline double apply(const std::string& variant, double a, double b) {
  if (variant == "add") return a + b;
  if (variant == "sub") return a - b;
  return variant == "mul" ? a * b : a / b;
}

inline Coo brute_tew(const Coo& x, const Coo& y, const std::string& variant, DType type) {
  const Dense a(x), b(y);
  Dense z(x.dims);
  for_each_coordinate(x.dims, [&](const Coordinate& c) {
    const bool either = a.stored(c) || b.stored(c), both = a.stored(c) && b.stored(c);
    if (variant == "add" || variant == "sub" ? either : both)
      z.add(c, apply(variant, a.value(c), b.value(c)));
  });
  return z.to_coo(type);
}

inline Coo brute_ts(const Coo& x, double s, const std::string& variant, DType type) {
  const Dense a(x);
  Dense z(x.dims);
  for_each_coordinate(x.dims, [&](const Coordinate& c) {
    if (a.stored(c)) z.add(c, apply(variant, a.value(c), s));
  });
  return z.to_coo(type);
}

inline Coordinate without(Coordinate c, int mode) {
  c.erase(c.begin() + mode);
  return c;
}

inline Coo brute_ttv(const Coo& x, const Matrix& v, int mode, DType type) {
  const Dense a(x);
  Dims dims = x.dims;
  dims.erase(dims.begin() + mode);
  Dense z(dims);
  for_each_coordinate(x.dims, [&](const Coordinate& c) {
    if (a.stored(c))
      z.add(without(c, mode), a.value(c) * v.at(c[static_cast<std::size_t>(mode)], 0));
  });
  return z.to_coo(type);
}

inline SemiSparseCoo brute_ttm(const Coo& x, const Matrix& u, int mode, DType type) {
  const Dense a(x);
  Dims dims = x.dims;
  dims[static_cast<std::size_t>(mode)] = u.cols();
  Dense z(dims);
  for_each_coordinate(x.dims, [&](const Coordinate& c) {
    for (std::uint64_t r = 0; r < u.cols() && a.stored(c); ++r) {
      Coordinate d = c;
      d[static_cast<std::size_t>(mode)] = static_cast<Index>(r);
      z.add(d, a.value(c) * u.at(c[static_cast<std::size_t>(mode)], r));
    }
  });
  return to_semi_sparse(z.to_coo(type), {mode});
}

inline Matrix brute_mttkrp(const Coo& x, const std::vector<Matrix>& factors, int mode, DType type) {
  const auto at = static_cast<std::size_t>(mode);
  const Dense a(x);
  Matrix z(x.dims[at], factors[at].cols(), type);
  for (std::uint64_t r = 0; r < z.cols(); ++r) {
    std::vector<double> column(z.rows(), 0.0);
    for_each_coordinate(x.dims, [&](const Coordinate& c) {
      double term = a.value(c);
      for (std::size_t m = 0; m < factors.size(); ++m)
        if (m != at) term *= factors[m].at(c[m], r);
      column[c[at]] += term;
    });
    for (std::uint64_t i = 0; i < z.rows(); ++i) z.set(i, r, column[i]);
  }
  return z;
}

inline Matrix brute_mttkrp_all(const Coo& x, const std::vector<Matrix>& factors, DType type) {
  std::uint64_t rows = 0;
  for (const auto length : x.dims) rows += length;
  Matrix z(rows, factors.front().cols(), type);
  rows = 0;
  for (int mode = 0; mode < x.order(); ++mode) {
    const Matrix one = brute_mttkrp(x, factors, mode, type);
    for (std::uint64_t i = 0; i < one.rows(); ++i)
      for (std::uint64_t r = 0; r < one.cols(); ++r) z.set(rows + i, r, one.at(i, r));
    rows += one.rows();
  }
  return z;
}

inline Matrix brute_ttm_chain(const Coo& x, const std::vector<Matrix>& factors, int mode,
                              DType type) {
  const auto at = static_cast<std::size_t>(mode);
  const Dense a(x);
  Dims ranks;
  std::uint64_t columns = 1;
  for (std::size_t m = 0; m < factors.size(); ++m)
    if (m != at) {
      ranks.push_back(factors[m].cols());
      columns *= factors[m].cols();
    }
  Matrix z(x.dims[at], columns, type);
  std::uint64_t j = 0;
  for_each_coordinate(ranks, [&](const Coordinate& r) {
    std::vector<double> column(z.rows(), 0.0);
    for_each_coordinate(x.dims, [&](const Coordinate& c) {
      double term = a.value(c);
      std::size_t k = 0;
      for (std::size_t m = 0; m < factors.size(); ++m)
        if (m != at) term *= factors[m].at(c[m], r[k++]);
      column[c[at]] += term;
    });
    for (std::uint64_t i = 0; i < z.rows(); ++i) z.set(i, j, column[i]);
    ++j;
  });
  return z;
}

inline Matrix brute_spmm(const Coo& s, const Matrix& d, DType type) {
  const Dense a(s);
  Matrix z(s.dims[0], d.cols(), type, d.cols() + 2);
  for (Index i = 0; i < s.dims[0]; ++i)
    for (std::uint64_t j = 0; j < d.cols(); ++j) {
      double sum = 0;
      for (Index k = 0; k < s.dims[1]; ++k) sum += a.value({i, k}) * d.at(k, j);
      z.set(i, j, sum);
    }
  return z;
}

/// Loops over all letters of the einsum.
inline Coo brute_contraction(const Coo& x, const Coo& y, const std::string& einsum, double alpha,
                             DType type) {
  const auto comma = einsum.find(','), arrow = einsum.find("->");
  const std::string lx = einsum.substr(0, comma), ly = einsum.substr(comma + 1, arrow - comma - 1),
                    lz = einsum.substr(arrow + 2);
  std::string letters;
  Dims lengths;
  for (std::size_t i = 0; i < lx.size() + ly.size(); ++i) {
    const char letter = i < lx.size() ? lx[i] : ly[i - lx.size()];
    if (letters.find(letter) != std::string::npos) continue;
    letters += letter;
    lengths.push_back(i < lx.size() ? x.dims[i] : y.dims[i - lx.size()]);
  }
  const auto pick = [&](const Coordinate& c, const std::string& wanted) {
    Coordinate d;
    for (const char letter : wanted) d.push_back(c[letters.find(letter)]);
    return d;
  };
  Dims dims;
  for (const char letter : lz) dims.push_back(lengths[letters.find(letter)]);
  const Dense a(x), b(y);
  Dense z(dims);
  for_each_coordinate(lengths, [&](const Coordinate& c) {
    const Coordinate cx = pick(c, lx), cy = pick(c, ly);
    if (a.stored(cx) && b.stored(cy)) z.add(pick(c, lz), alpha * a.value(cx) * b.value(cy));
  });
  return z.to_coo(type);
}

/// An operation on a tensor: its answer by brute force, its oracle, both from (x, operand seed).
struct Case {
  std::string name;
  Dims dims;
  std::function<Result(const Coo& x, std::uint64_t seed, DType type)> brute;
  std::function<reference::Expected(const Coo& x, std::uint64_t seed, DType type,
                                    const reference::Limits&)>
      oracle;
};

inline Coo second(const Coo& x, std::uint64_t seed, DType type, Draw kind) {
  return random_tensor(x.dims, x.nnz(), seed + 50, type, kind);
}
/// x's pattern with other values.
inline Coo revalued(const Coo& x, std::uint64_t seed, DType type, Draw kind) {
  Coo y(x.dims, type, x.nnz());
  y.indices = x.indices;
  const CounterRng rng(seed, 4);
  for (Count p = 0; p < x.nnz(); ++p) y.values.set(p, draw(kind, rng, p));
  return y;
}

/// Every operation but cpd, every variant, every mode of an order-3 tensor (spmm: a matrix).
inline std::vector<Case> all_cases(Draw kind = Draw::reals) {
  using reference::Limits;
  std::vector<Case> cases;
  const Dims dims{7, 6, 5}, ranks{3, 2, 4};
  for (const std::string v : {"add", "sub", "mul"})
    cases.push_back({"tew " + v, dims,
                     [v, kind](const Coo& x, std::uint64_t s, DType t) {
                       return brute_tew(x, second(x, s, t, kind), v, t);
                     },
                     [v, kind](const Coo& x, std::uint64_t s, DType t, const Limits& l) {
                       return reference::tew(x, second(x, s, t, kind), v, l);
                     }});
  for (const std::string v : {"add", "sub", "mul", "div"})
    cases.push_back({"tew of equal patterns, " + v, dims,
                     [v, kind](const Coo& x, std::uint64_t s, DType t) {
                       return brute_tew(x, revalued(x, s, t, kind), v, t);
                     },
                     [v, kind](const Coo& x, std::uint64_t s, DType t, const Limits& l) {
                       return reference::tew(x, revalued(x, s, t, kind), v, l);
                     }});
  for (const std::string v : {"add", "sub", "mul", "div"})
    cases.push_back({"ts " + v, dims,
                     [v](const Coo& x, std::uint64_t s, DType t) {
                       return brute_ts(x, 2.0 + static_cast<double>(s % 8), v, t);
                     },
                     [v](const Coo& x, std::uint64_t s, DType, const Limits& l) {
                       return reference::ts(x, 2.0 + static_cast<double>(s % 8), v, l);
                     }});
  for (int mode = 0; mode < 3; ++mode) {
    const std::string of_mode = " of mode " + std::to_string(mode);
    const auto length = dims[static_cast<std::size_t>(mode)];
    cases.push_back({"ttv" + of_mode, dims,
                     [=](const Coo& x, std::uint64_t s, DType t) {
                       return brute_ttv(x, random_matrix(length, 1, s, t, kind), mode, t);
                     },
                     [=](const Coo& x, std::uint64_t s, DType t, const Limits& l) {
                       return reference::ttv(x, random_matrix(length, 1, s, t, kind), mode, l);
                     }});
    cases.push_back({"ttm" + of_mode, dims,
                     [=](const Coo& x, std::uint64_t s, DType t) {
                       return brute_ttm(x, random_matrix(length, 4, s, t, kind), mode, t);
                     },
                     [=](const Coo& x, std::uint64_t s, DType t, const Limits& l) {
                       return reference::ttm(x, random_matrix(length, 4, s, t, kind), mode, l);
                     }});
    cases.push_back(
        {"mttkrp" + of_mode, dims,
         [=](const Coo& x, std::uint64_t s, DType t) {
           return brute_mttkrp(x, random_factors(dims, {4, 4, 4}, s, t, kind), mode, t);
         },
         [=](const Coo& x, std::uint64_t s, DType t, const Limits& l) {
           return reference::mttkrp(x, random_factors(dims, {4, 4, 4}, s, t, kind), mode, l);
         }});
    cases.push_back({"ttm_chain" + of_mode, dims,
                     [=](const Coo& x, std::uint64_t s, DType t) {
                       return brute_ttm_chain(x, random_factors(dims, ranks, s, t, kind), mode, t);
                     },
                     [=](const Coo& x, std::uint64_t s, DType t, const Limits& l) {
                       return reference::ttm_chain(x, random_factors(dims, ranks, s, t, kind), mode,
                                                   l);
                     }});
  }
  cases.push_back(
      {"mttkrp_all", dims,
       [=](const Coo& x, std::uint64_t s, DType t) {
         return brute_mttkrp_all(x, random_factors(dims, {4, 4, 4}, s, t, kind), t);
       },
       [=](const Coo& x, std::uint64_t s, DType t, const Limits& l) {
         return reference::mttkrp_all(x, random_factors(dims, {4, 4, 4}, s, t, kind), l);
       }});
  for (const std::string e : {"abk,dck->abdc", "kab,kcb->ca", "abk,dek->edba"}) {
    const Dims square{5, 6, 6};
    cases.push_back({"contraction " + e, square,
                     [=](const Coo& x, std::uint64_t s, DType t) {
                       return brute_contraction(x, second(x, s, t, kind), e, 1.5, t);
                     },
                     [=](const Coo& x, std::uint64_t s, DType t, const Limits& l) {
                       return reference::contraction(x, second(x, s, t, kind), e, 1.5, l);
                     }});
  }
  cases.push_back({"spmm",
                   {9, 8},
                   [=](const Coo& x, std::uint64_t s, DType t) {
                     return brute_spmm(x, random_matrix(8, 5, s, t, kind), t);
                   },
                   [=](const Coo& x, std::uint64_t s, DType t, const Limits& l) {
                     return reference::spmm(x, random_matrix(8, 5, s, t, kind), l);
                   }});
  return cases;
}

/// Limits under which every problem samples two rows or more and sums the rest.
inline reference::Limits sampling_limits() {
  reference::Limits limits;
  limits.entries = 0;
  limits.fibers = 2;
  return limits;
}

}  // namespace reference_case
