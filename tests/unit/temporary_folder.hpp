// A folder of its own for a test that needs files; removed with all that is in it.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "common/io/files.hpp"

namespace retensor::testing {

class TemporaryFolder : public ScratchFolder {
 public:
  std::string file(const std::string& name) const { return (path() / name).string(); }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream out(path() / name, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!out.flush()) throw std::runtime_error("a test file can't be written");
    return file(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

/// A file in a folder of its own.
struct TemporaryFile {
  TemporaryFile(const std::string& name, std::string_view content)
      : path(folder.write(name, content)) {}

  TemporaryFolder folder;
  std::string path;
};

}  // namespace retensor::testing
