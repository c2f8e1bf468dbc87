// Random contractions and a dense einsum of the tests' own, entry by entry and pattern by pattern.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/core/rng.hpp"
#include "common/method/problem.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::bcb_sptc::test {

/// Random draws in turn.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : rng_(seed) {}
  double real() { return rng_.uniform(draw_++); }
  std::uint64_t below(std::uint64_t n) {
    return std::min(n - 1, static_cast<std::uint64_t>(real() * static_cast<double>(n)));
  }

 private:
  CounterRng rng_;
  std::uint64_t draw_ = 0;
};

/// Einsum, operands.
struct Case {
  std::string einsum;
  std::shared_ptr<const Coo> x, y;
};

inline Coo random_tensor(const Dims& dims, double density, Draws& draws) {
  Coo tensor(dims, DType::f32);
  std::vector<float> values;
  std::vector<Index> at(dims.size(), 0);
  for (std::uint64_t cell = checked_volume(dims); cell-- > 0;) {
    if (draws.real() < density) {
      for (std::size_t m = 0; m < dims.size(); ++m) tensor.indices[m].push_back(at[m]);
      values.push_back(static_cast<float>(draws.real()) - 0.5f);
    }
    for (std::size_t m = dims.size(); m-- > 0 && ++at[m] == dims[m];) at[m] = 0;
  }
  tensor.values = Values(values);
  return tensor;
}

inline void shuffle(std::string& letters, Draws& draws) {
  for (std::size_t left = letters.size(); left > 1; --left)
    std::swap(letters[left - 1], letters[draws.below(left)]);
}

/// Letters of the operands and the result.
struct Letters {
  std::string x, y, result;
};

/// Of operands of orders 1 to 5 that share `contracted` letters, all modes in random order.
inline Letters random_letters(std::size_t order_x, std::size_t order_y, std::size_t contracted,
                              Draws& draws) {
  const std::string shared = std::string("klmno").substr(0, contracted);
  Letters list{shared + std::string("abcde").substr(0, order_x - contracted),
               shared + std::string("vwxyz").substr(0, order_y - contracted), ""};
  list.result = list.x.substr(contracted) + list.y.substr(contracted);
  for (auto* letters : {&list.x, &list.y, &list.result}) shuffle(*letters, draws);
  return list;
}

/// Operands with modes of random lengths up to `longest` and random densities.
inline Case random_operands(const Letters& letters, std::uint64_t longest, Draws& draws) {
  std::map<char, std::uint64_t> length;
  for (const char letter : letters.x + letters.y)
    if (length.count(letter) == 0) length[letter] = 1 + draws.below(longest);
  const auto operand = [&](const std::string& modes) {
    Dims dims;
    for (const char letter : modes) dims.push_back(length[letter]);
    const double densities[] = {1, 0.3, 0.05, 0.01};
    return std::make_shared<const Coo>(random_tensor(dims, densities[draws.below(4)], draws));
  };
  return {letters.x + "," + letters.y + "->" + letters.result, operand(letters.x),
          operand(letters.y)};
}

inline Case random_case(std::size_t order_x, std::size_t order_y, std::size_t contracted,
                        Draws& draws) {
  const std::size_t highest = std::max(order_x, order_y);
  const std::uint64_t longest = highest < 3 ? 40 : highest == 3 ? 18 : highest == 4 ? 11 : 5;
  return random_operands(random_letters(order_x, order_y, contracted, draws), longest, draws);
}

struct Sum {
  double value = 0, magnitude = 0;
  int terms = 0;
};
using Answer = std::map<std::vector<Index>, Sum>;

/// Every pair of nonzeros whose letters agree, straight from the notation.
inline Answer einsum_of(const Case& c, double alpha) {
  const auto comma = c.einsum.find(','), arrow = c.einsum.find("->");
  const std::string x = c.einsum.substr(0, comma),
                    y = c.einsum.substr(comma + 1, arrow - comma - 1);
  const std::string result = c.einsum.substr(arrow + 2);
  // A letter's place among those of x, or beyond them among those of y.
  const auto places = [letters = x + y](const std::string& of) {
    std::vector<std::size_t> found;
    for (const char letter : of) found.push_back(letters.find(letter));
    return found;
  };
  const auto of_y = places(y), of_result = places(result);
  std::vector<Index> at(x.size() + y.size()), to(result.size());
  Answer answer;
  for (Count p = 0; p < c.x->nnz(); ++p) {
    for (std::size_t m = 0; m < x.size(); ++m) at[m] = c.x->indices[m][p];
    for (Count q = 0; q < c.y->nnz(); ++q) {
      bool agree = true;
      for (std::size_t m = 0; m < y.size() && agree; ++m) {
        at[x.size() + m] = c.y->indices[m][q];
        agree = at[of_y[m]] == at[x.size() + m];
      }
      if (!agree) continue;
      for (std::size_t m = 0; m < to.size(); ++m) to[m] = at[of_result[m]];
      const double product = alpha * c.x->values.at(p) * c.y->values.at(q);
      Sum& sum = answer[to];
      sum.value += product;
      sum.magnitude += std::abs(product);
      ++sum.terms;
    }
  }
  return answer;
}

inline Problem problem_of(const Case& c, double alpha = 1) {
  ProblemSpec spec;
  spec.operation = Operation::contraction;
  spec.variant = c.einsum;
  spec.alpha = alpha;
  return Problem(spec, c.x, c.y);
}

/// The first difference between a result and the dense answer, pattern included; empty if none.
inline std::string difference(const Coo& result, const Answer& expected, double operand_eps) {
  if (result.nnz() != expected.size())
    return std::to_string(result.nnz()) + " entries, expected " + std::to_string(expected.size());
  std::vector<const Sum*> met;
  std::vector<Index> at(result.dims.size());
  for (Count p = 0; p < result.nnz(); ++p) {
    for (std::size_t m = 0; m < at.size(); ++m) at[m] = result.indices[m][p];
    const auto entry = expected.find(at);
    if (entry == expected.end()) return "an entry of the pattern is missing";
    const Sum& sum = *met.emplace_back(&entry->second);
    // Halves below 2^-14 are off by 2^-25 at most, and operands are below 1/2.
    const double bound =
        (2.1 * operand_eps + (sum.terms + 4) * 0x1p-21) * sum.magnitude + sum.terms * 0x1p-25;
    const double value = result.values.at(p);
    if (!(std::abs(value - sum.value) <= bound))
      return std::to_string(value) + " where " + std::to_string(sum.value) + " is expected";
  }
  std::ranges::sort(met);
  if (std::ranges::adjacent_find(met) != met.end()) return "an entry stands twice";
  return "";
}

inline Coo cells(const Dims& dims, const std::vector<std::vector<Index>>& coordinates,
                 float value = 1) {
  Coo tensor(dims, DType::f32, coordinates.size());
  for (Count p = 0; p < tensor.nnz(); ++p) {
    for (std::size_t m = 0; m < dims.size(); ++m) tensor.indices[m][p] = coordinates[p][m];
    tensor.values.set(p, value);
  }
  return tensor;
}

inline std::shared_ptr<const Coo> shared(Coo tensor) {
  return std::make_shared<const Coo>(std::move(tensor));
}

inline std::shared_ptr<const Coo> full(const Dims& dims) {
  Draws draws(3);
  return shared(random_tensor(dims, 1.1, draws));
}

}  // namespace retensor::bcb_sptc::test
