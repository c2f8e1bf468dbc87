// What the check() of a tensor or a format finds.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "common/core/error.hpp"

namespace retensor::test {

/// The message of the InputError that `act` throws, `otherwise` where it throws nothing.
template <class Act>
std::string refusal_of(const Act& act, const std::string& otherwise = "") {
  try {
    act();
  } catch (const InputError& e) {
    return e.what();
  }
  return otherwise;
}

template <class Checked>
std::string complaint(const Checked& x) {
  return refusal_of([&] { x.check(); }, "none");
}

inline bool contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

/// Fails unless x.check() throws an InputError with these words in its message.
template <class Checked>
void expect_complaint(const Checked& x, const std::string& words) {
  const std::string what = complaint(x);
  CHECK_MESSAGE(what.find(words) != std::string::npos, what);
}

}  // namespace retensor::test
