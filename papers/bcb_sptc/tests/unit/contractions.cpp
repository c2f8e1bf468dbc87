// Prints random contractions by bcb_sptc.cpu for numpy_test.py, a line of JSON each: every order of
// the modes of operands of orders 1 to 5 and of results of up to four modes, the others drawn.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "papers/bcb_sptc/methods/methods.hpp"
#include "papers/bcb_sptc/tests/unit/dense.hpp"
#include "tests/support/run_once.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::test;
using namespace retensor::bcb_sptc::test;

namespace {

constexpr double kAlpha = -0.75;
constexpr std::uint64_t kLongest = 4;  ///< of a mode

nlohmann::json json_of(const Coo& tensor) {
  nlohmann::json values = nlohmann::json::array();
  for (Count p = 0; p < tensor.nnz(); ++p) values.push_back(tensor.values.at(p));
  nlohmann::json indices = nlohmann::json::array();
  for (std::size_t m = 0; m < tensor.dims.size(); ++m)
    indices.push_back(std::vector<Index>(tensor.indices[m].begin(), tensor.indices[m].end()));
  return {{"dims", tensor.dims}, {"indices", indices}, {"values", values}};
}

Coo product_of(const Case& c) {
  const Given given = {{"precision", std::string("split_fp16")}, {"edge", std::int64_t{2}}};
  return std::get<Coo>(run_once(make_bcb_cpu(), problem_of(c, kAlpha), given).result);
}

void print(const Letters& letters, Draws& draws) {
  const Case c = random_operands(letters, kLongest, draws);
  std::cout << nlohmann::json{{"einsum", c.einsum},
                              {"alpha", kAlpha},
                              {"x", json_of(*c.x)},
                              {"y", json_of(*c.y)},
                              {"result", json_of(product_of(c))}}
            << "\n";
}

/// Prints the contraction with each order of one of its lists of letters.
void print_orders(Letters letters, std::string Letters::*list, Draws& draws) {
  std::string& permuted = letters.*list;
  std::ranges::sort(permuted);
  do print(letters, draws);
  while (std::ranges::next_permutation(permuted).found);
}

}  // namespace

int main() {
  Draws draws(5);
  for (std::size_t order_x = 1; order_x <= 5; ++order_x)
    for (std::size_t order_y = 1; order_y <= 5; ++order_y)
      for (std::size_t contracted = 0; contracted <= std::min(order_x, order_y); ++contracted) {
        const auto free = order_x + order_y - 2 * contracted;
        if (free == 0 || free > 8) continue;
        const Letters letters = random_letters(order_x, order_y, contracted, draws);
        for (const auto list : {&Letters::x, &Letters::y, &Letters::result})
          if ((letters.*list).size() <= (list == &Letters::result ? 4 : 5))
            print_orders(letters, list, draws);
      }
}
