#include "common/io/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/core/error.hpp"

namespace retensor {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void fail_to_read(const std::string& path, const char* what) {
  const int code = errno;
  const std::string message = fmt::format("{}: {}: {}", path, what, std::strerror(code));
  if (code == ENOENT || code == ENOTDIR) throw InputError(message);
  throw SystemError(message);
}

}  // namespace

MappedFile::MappedFile(const std::string& path, Reading reading) {
  // O_NONBLOCK: opening a pipe without a writer must not hang before it is refused.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail_to_read(path, "can't be opened");
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) fail_to_read(path, "can't be examined");
  if (!S_ISREG(status.st_mode)) throw InputError(fmt::format("{}: is not a regular file", path));
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* at = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (at == MAP_FAILED) fail_to_read(path, "can't be mapped");
  ::madvise(at, size_, reading == Reading::whole ? MADV_WILLNEED : MADV_SEQUENTIAL);
  data_ = static_cast<const char*>(at);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace retensor
