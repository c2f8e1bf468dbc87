// A file of given content that lies in memory, for readers that take a path.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/invariants.hpp"

namespace retensor::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : fd_(memfd_create("input", MFD_CLOEXEC)) {
    require(fd_ >= 0 &&
                write(fd_, content.data(), content.size()) == static_cast<ssize_t>(content.size()),
            "a file in memory");
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  std::string content() const {
    std::string all(static_cast<std::size_t>(lseek(fd_, 0, SEEK_END)), '\0');
    require(pread(fd_, all.data(), all.size(), 0) == static_cast<ssize_t>(all.size()), "read back");
    return all;
  }

 private:
  int fd_;
};

}  // namespace retensor::fuzz
