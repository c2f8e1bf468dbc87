// Words that users write and mistype.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace retensor {

/// The candidate with the smallest edit distance to `word`; empty when there is none.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace retensor
