// Which runs of a method have the form that its paper describes, and which the project's own; and
// whether they are made to be fast.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace retensor {

struct Form {
  bool own = false;  ///< no run is the paper's
  /// The paper's values, as text: of a parameter, or after "executed." of what ran. What is not
  /// named here the paper leaves open or varies.
  std::map<std::string, std::vector<std::string>> published = {};

  /// Runs compute as another processor does, to check that one's arithmetic: whoever asks for speed
  /// is offered none.
  bool emulates = false;

  /// Whether a run is the paper's; `told` gives its value by name, an empty text where the run does
  /// not tell, which does not count against it.
  bool is_published(const std::function<std::string(const std::string&)>& told) const;
};

/// Of methods that no paper describes.
inline Form own_form() {
  return {.own = true};
}

}  // namespace retensor
