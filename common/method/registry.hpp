// The list of methods, filled explicitly by the modules.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/method/method_spec.hpp"

namespace retensor {

class Registry {
 public:
  /// Throws LogicError when the id is taken or not of the form <module>.<backend>, with or
  /// without .<variant>.
  void add(std::unique_ptr<Method> method);
  void add(MethodSpec spec);
  /// The methods that these functions describe, in their order.
  void add_all(std::initializer_list<MethodSpec (*)()> descriptions) {
    for (const auto describe : descriptions) add(describe());
  }
  /// Throws InputError naming the nearest id.
  const Method& find(std::string_view id) const;
  const std::vector<std::unique_ptr<Method>>& methods() const { return methods_; }
  /// Of an id that is not here: every run is a paper's, but for those of methods named tuned.
  Form form(std::string_view id) const;

 private:
  std::vector<std::unique_ptr<Method>> methods_;
  std::map<std::string, Form, std::less<>> forms_;
};

/// Calls register_<id> of every module in papers/meson.build; generated at configure time.
Registry all_methods();

}  // namespace retensor
