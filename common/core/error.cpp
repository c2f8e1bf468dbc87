#include "common/core/error.hpp"

#include <fmt/format.h>

namespace retensor {
namespace {

std::string place(const FilePosition& p) {
  if (p.line == 0) return p.file;
  if (p.column == 0) return fmt::format("{}:{}", p.file, p.line);
  return fmt::format("{}:{}:{}", p.file, p.line, p.column);
}

}  // namespace

ParseError::ParseError(FilePosition where, const std::string& found, const std::string& expected)
    : InputError(fmt::format("{}: found {}, expected {}", place(where), found, expected)),
      position_(std::move(where)) {}

}  // namespace retensor
