#include "common/io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "common/core/error.hpp"

namespace retensor {
namespace {

[[noreturn]] void fail_to_write(const std::string& path, const char* what) {
  throw SystemError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path)
    : path_(path),
      temporary_(fmt::format("{}.{:x}-{:x}.part", path, ::getpid(), std::random_device{}())) {
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_to_write(path_, "can't be created");
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd_, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_to_write(path_, "can't be written");
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) fail_to_write(path_, "can't be flushed to disk");
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) fail_to_write(path_, "can't be closed");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    fail_to_write(path_, "can't be renamed into place");
  temporary_.clear();
}

void write_file(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

}  // namespace retensor
