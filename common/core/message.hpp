// Errors whose messages are formatted: `throw input_error("{}: found {}", path, word)`. Apart from
// error.hpp, since CUDA sources, which throw few, need not read fmt.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include "common/core/error.hpp"

namespace retensor {

template <class... Args>
InputError input_error(fmt::format_string<Args...> text, Args&&... args) {
  return InputError(fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
SystemError system_error(fmt::format_string<Args...> text, Args&&... args) {
  return SystemError(fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
LogicError logic_error(fmt::format_string<Args...> text, Args&&... args) {
  return LogicError(fmt::format(text, std::forward<Args>(args)...));
}

/// What `work` returns; its InputErrors get this in front.
template <class Work>
auto in_context(const std::string& where, Work work) {
  try {
    return work();
  } catch (InputError& e) {
    e.add_context(where);
    throw;
  }
}

}  // namespace retensor
