// A file as a read-only byte range.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace retensor {

/// What the system is told: to fetch the whole file, or to read ahead of the reader and drop what
/// lies behind, for files larger than memory.
enum class Reading { whole, in_order };

class MappedFile {
 public:
  /// Throws InputError when there is no such regular file, SystemError when it can't be mapped.
  explicit MappedFile(const std::string& path, Reading reading = Reading::whole);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view view() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace retensor
