// The nearest-name search that every "unknown ..." message uses.
#include "common/core/text.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace retensor {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [word](const std::string& a, const std::string& b) {
                                       return edit_distance(word, a) < edit_distance(word, b);
                                     });
  return best == candidates.end() ? std::string() : *best;
}

}  // namespace retensor
