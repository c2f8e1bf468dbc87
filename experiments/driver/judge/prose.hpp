// What came of a paper's headline claims, in two sentences made from their verdicts.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace retensor::driver {

/// `entries` are those of one paper as `verdict --json` lists them. The first sentence says which
/// of its headline claims hold, the second which do not and why; what was not tested follows. None
/// where no claim is a headline.
std::vector<std::string> prose_of(const std::vector<nlohmann::json>& entries);

/// The published and the measured number of an entry in words: `{paper, here}`.
nlohmann::json numbers_in_words(const nlohmann::json& entry);

}  // namespace retensor::driver
