// A file as a read-only byte range, one that appears under its name only when it is complete, and a
// folder for files that nobody needs afterwards.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "common/core/error.hpp"

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

/// The file that a path leads to, through symbolic links, to be written or replaced. Throws
/// InputError where a device, a pipe, a folder or anything else but a regular file is there.
std::string writable_target(const std::string& path);

/// Writes to a temporary file beside writable_target(path); commit() flushes it to disk and renames
/// it. Destroyed without commit(), it leaves nothing behind. Every other failure throws
/// SystemError.
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

/// The folder and those that hold it, where they are not there yet. Throws SystemError.
void make_folder(const std::filesystem::path& path);

/// A new folder that only this user can enter, gone when the object is.
class ScratchFolder {
 public:
  /// Throws SystemError when the folder can't be made.
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

}  // namespace retensor
