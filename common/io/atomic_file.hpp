// A file that appears under its name only when it is complete.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace retensor {

/// Writes to a temporary file beside `path`; commit() flushes it to disk and renames it. Destroyed
/// without commit(), it leaves nothing behind. Every failure throws SystemError.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void commit();

 private:
  std::string path_, temporary_;
  int fd_ = -1;
};

/// The whole content at once.
void write_file(const std::string& path, std::string_view content);

}  // namespace retensor
