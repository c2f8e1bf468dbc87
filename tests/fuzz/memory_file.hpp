// A file in memory, for readers that take a path.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/invariants.hpp"

namespace retensor::fuzz {

/// One file for all inputs: making one takes longer than most inputs.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("input", MFD_CLOEXEC)) { require(fd_ >= 0, "a file in memory"); }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void hold(std::string_view content) {
    require(ftruncate(fd_, 0) == 0 && pwrite(fd_, content.data(), content.size(), 0) ==
                                          static_cast<ssize_t>(content.size()),
            "a file in memory");
  }
  const std::string& path() const { return path_; }
  std::string content() const {
    std::string all(static_cast<std::size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    require(pread(fd_, all.data(), all.size(), 0) == static_cast<ssize_t>(all.size()), "read back");
    return all;
  }

 private:
  int fd_;
  std::string path_ = "/proc/self/fd/" + std::to_string(fd_);
};

}  // namespace retensor::fuzz
