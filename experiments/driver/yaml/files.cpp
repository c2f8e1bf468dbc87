// A size is looked at before anything is read: input is untrusted.
#include "experiments/driver/yaml/files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "common/core/error.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;

std::string read_small_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) throw InputError(path + ": there is no such file");
  const auto bytes = fs::file_size(path, error);
  if (error || bytes > kMaxSmallFile)
    throw InputError(
        fmt::format("{}: found {} bytes, expected at most {}", path, bytes, kMaxSmallFile));
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!file) throw SystemError(path + ": can't be read");
  return text;
}

bool lies_below(const std::string& path, const std::string& directory) {
  std::error_code error;
  const auto inner = fs::weakly_canonical(fs::absolute(path), error);
  if (error) return false;
  const auto outer = fs::weakly_canonical(fs::absolute(directory), error);
  if (error) return false;
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace retensor::driver
