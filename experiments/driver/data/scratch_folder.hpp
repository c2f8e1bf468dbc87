// A temporary folder that is removed with its owner.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "common/core/error.hpp"

namespace retensor::driver {

class ScratchFolder {
 public:
  ScratchFolder() {
    auto name = (std::filesystem::temp_directory_path() / "retensor-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw SystemError(name + ": the folder can't be made");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace retensor::driver
