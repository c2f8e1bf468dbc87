// What the tests of readers share: equality of tensors, and the place and words of a refusal.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/tensor/coo.hpp"
#include "tests/support/complaint.hpp"

namespace retensor::testing {

inline void check_same(const Coo& a, const Coo& b) {
  CHECK(a.dims == b.dims);
  CHECK(a.indices == b.indices);
  REQUIRE(a.dtype() == b.dtype());
  a.values.visit([&b]<class T>(const Array<T>& v) {
    const auto w = b.values.as<T>();
    CHECK(v == Array<T>(w.begin(), w.end()));
  });
}

/// The read must throw ParseError at this place, with these words in its message.
inline void check_refused(const std::function<Coo()>& read, std::uint64_t line,
                          std::uint64_t column, const std::string& found,
                          const std::string& expected) {
  try {
    read();
  } catch (const ParseError& e) {
    const std::string message = e.what();
    CAPTURE(message);
    CHECK(e.position().line == line);
    CHECK(e.position().column == column);
    CHECK(message.find("found " + found) != std::string::npos);
    CHECK(message.find("expected " + expected) != std::string::npos);
    return;
  }
  FAIL("accepted, but expected: ", expected);
}

/// Texts, each with the place and the words of its refusal: "2:1: found '0', expected 1".
inline void check_refusals(const std::function<Coo(const std::string&)>& read,
                           const std::vector<std::pair<std::string, std::string>>& texts) {
  for (const auto& one : texts) {
    const auto message = test::refusal_of([&] { read(one.first); }, "accepted");
    CHECK_MESSAGE(test::contains(message, one.second), one.first);
  }
}

}  // namespace retensor::testing
