// Parsing and checking of einsum notation.
#include "common/tensor/einsum.hpp"

#include <fmt/format.h>

#include "common/core/message.hpp"

namespace retensor {
namespace {

struct Letters {
  std::string x, y, result;
};

[[noreturn]] void refuse(const std::string& einsum, const std::string& why) {
  throw input_error("contraction '{}': {}", einsum, why);
}

void check_letters(const std::string& einsum, const std::string& part) {
  for (std::size_t k = 0; k < part.size(); ++k) {
    if (part[k] < 'a' || part[k] > 'z')
      refuse(einsum, fmt::format("found '{}', expected a letter a to z", part[k]));
    if (part.find(part[k], k + 1) != std::string::npos)
      refuse(einsum, fmt::format("the letter {} stands twice in '{}'", part[k], part));
  }
}

Letters parse(const std::string& einsum) {
  const auto comma = einsum.find(',');
  const auto arrow = einsum.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma)
    refuse(einsum, "expected the form abk,kcd->abcd");
  Letters l{einsum.substr(0, comma), einsum.substr(comma + 1, arrow - comma - 1),
            einsum.substr(arrow + 2)};
  for (const auto* part : {&l.x, &l.y, &l.result}) check_letters(einsum, *part);
  return l;
}

void check_order(const std::string& einsum, const std::string& letters, const Dims& dims) {
  if (letters.size() == dims.size()) return;
  refuse(einsum, fmt::format("'{}' names {} modes, the tensor has {}", letters, letters.size(),
                             dims.size()));
}

}  // namespace

Contraction::Contraction(const std::string& einsum, const Dims& x, const Dims& y) {
  const Letters l = parse(einsum);
  check_order(einsum, l.x, x);
  check_order(einsum, l.y, y);
  for (std::size_t m = 0; m < l.x.size(); ++m) {
    const auto in_y = l.y.find(l.x[m]);
    if (in_y == std::string::npos) {
      free_x.push_back(static_cast<int>(m));
      continue;
    }
    if (x[m] != y[in_y])
      refuse(einsum, fmt::format("mode {} has length {} in x and {} in y", l.x[m], x[m], y[in_y]));
    contracted_x.push_back(static_cast<int>(m));
    contracted_y.push_back(static_cast<int>(in_y));
  }
  for (std::size_t m = 0; m < l.y.size(); ++m)
    if (l.x.find(l.y[m]) == std::string::npos) free_y.push_back(static_cast<int>(m));

  for (const char letter : l.result) {
    const auto in_x = l.x.find(letter), in_y = l.y.find(letter);
    if ((in_x == std::string::npos) == (in_y == std::string::npos))
      refuse(einsum, fmt::format("the result's letter {} is not free in one operand", letter));
    const bool from_x = in_x != std::string::npos;
    result.push_back({from_x, static_cast<int>(from_x ? in_x : in_y)});
  }
  if (result.size() != free_x.size() + free_y.size())
    refuse(einsum, "the result leaves out a letter that is not summed over");
  if (result.empty() || result.size() > kMaxOrder)
    refuse(einsum,
           fmt::format("the result has {} modes, expected 1 to {}", result.size(), kMaxOrder));
}

Dims Contraction::result_dims(const Dims& x, const Dims& y) const {
  Dims dims;
  for (const auto& source : result)
    dims.push_back((source.from_x ? x : y)[static_cast<std::size_t>(source.mode)]);
  return dims;
}

}  // namespace retensor
