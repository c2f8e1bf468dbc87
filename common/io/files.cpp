#include "common/io/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "common/core/message.hpp"

namespace retensor {
namespace fs = std::filesystem;
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
  if (!S_ISREG(status.st_mode)) throw input_error("{}: is not a regular file", path);
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

namespace {

[[noreturn]] void fail_to_write(const std::string& path, const char* what) {
  throw system_error("{}: {}: {}", path, what, std::strerror(errno));
}

const char* kind_of(const fs::file_status& status) {
  switch (status.type()) {
    case fs::file_type::directory:
      return "a folder";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    case fs::file_type::socket:
      return "a socket";
    default:
      return "something else";
  }
}

}  // namespace

std::string writable_target(const std::string& path) {
  std::error_code error;
  const auto there = fs::status(path, error);
  if (fs::exists(there) && !fs::is_regular_file(there))
    throw input_error("{}: found {}, expected a regular file", path, kind_of(there));
  // A link that leads nowhere yet is followed too, as a shell does.
  constexpr int kMostLinks = 40;
  fs::path target = path;
  for (int links = 0; links < kMostLinks; ++links) {
    const auto next = fs::read_symlink(target, error);
    if (error) return target.string();
    target = target.parent_path() / next;
  }
  throw input_error("{}: found a circle of symbolic links, expected a file", path);
}

AtomicFile::AtomicFile(const std::string& path)
    : path_(writable_target(path)),
      temporary_(fmt::format("{}.{:x}-{:x}.part", path_, ::getpid(), std::random_device{}())) {
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

void make_folder(const fs::path& path) {
  std::error_code error;
  if (!path.empty()) fs::create_directories(path, error);
  if (error) throw system_error("{}: the folder can't be made: {}", path.string(), error.message());
}

}  // namespace retensor
