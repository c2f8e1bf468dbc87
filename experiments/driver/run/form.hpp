// Whether what ran in a row is what the paper of its method describes.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace retensor::driver {

inline constexpr std::string_view kPublishedForm = "published";
inline constexpr std::string_view kOwnForm = "own";

/// One of both, from the case of a row, what it says was executed, and the method's description
/// today.
std::string_view form_of(const nlohmann::json& line);

}  // namespace retensor::driver
