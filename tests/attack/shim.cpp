// A library to be loaded before the program's own (LD_PRELOAD): the n-th call that changes a file
// below a folder fails, or the process ends there. Calls are counted over all processes of a run in
// a file that they share, and told in a log, from which a power loss can be replayed.
//
//   SHIM_BELOW    the folder
//   SHIM_COUNTER  file of 8 bytes, the number of calls so far
//   SHIM_FAIL     n, from 1; 0: none
//   SHIM_HOW      error (EIO), full (ENOSPC; a write takes half of its bytes first), exit
//   SHIM_LOG      file to which calls that went well are added as records; none: no log
//
// A record is a line `<call> <offset> <bytes of data> <path>[\t<other path>]` and the data. Calls:
// make (a file or folder that was not there), write, cut (to `offset` bytes), sync, move, remove.
// The C library's own names: with this macro its headers rename open to open64, and both are here.
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::atomic<std::uint64_t>* counter() {
  static void* const shared = [] {
    const int fd = open(setting("SHIM_COUNTER"), O_RDWR | O_CLOEXEC);
    void* at = fd < 0 ? MAP_FAILED : mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? nullptr : at;
  }();
  return static_cast<std::atomic<std::uint64_t>*>(shared);
}

bool below(const char* path) {
  const char* folder = setting("SHIM_BELOW");
  return *folder != '\0' && std::strncmp(path, folder, std::strlen(folder)) == 0;
}

std::string path_of(int fd) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const auto length = readlink(link, path, sizeof path);
  return length < 0 ? std::string() : std::string(path, static_cast<std::size_t>(length));
}

bool below(int fd) {
  return below(path_of(fd).c_str());
}

/// Whether this call is the one that fails; sets errno, or ends the process.
template <class Place>
bool fails(Place place) {
  if (counter() == nullptr || !below(place)) return false;
  const auto number = counter()->fetch_add(1) + 1;
  if (number != std::strtoull(setting("SHIM_FAIL"), nullptr, 10)) return false;
  const char* how = setting("SHIM_HOW");
  if (std::strcmp(how, "exit") == 0) _exit(99);
  errno = std::strcmp(how, "full") == 0 ? ENOSPC : EIO;
  return true;
}

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

/// Adds what a call did; processes share the log, so each record is one write.
void tell(const char* call, off_t offset, const std::string& path, const void* data = nullptr,
          size_t bytes = 0) {
  static const int log = open(setting("SHIM_LOG"), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (log < 0) return;
  char head[64];
  std::snprintf(head, sizeof head, "%s %lld %zu ", call, static_cast<long long>(offset), bytes);
  auto record = head + path + '\n';
  record.append(static_cast<const char*>(data), bytes);
  if (real<ssize_t (*)(int, const void*, size_t)>("write")(log, record.data(), record.size()) < 0)
    _exit(98);
}

void tell_write(int fd, const void* data, ssize_t written) {
  if (written <= 0 || !below(fd)) return;
  const int cause = errno;
  const auto bytes = static_cast<size_t>(written);
  tell("write", lseek(fd, 0, SEEK_CUR) - written, path_of(fd), data, bytes);
  errno = cause;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  static const auto call = real<int (*)(int, const char*, int, ...)>("openat");
  if ((flags & O_CREAT) == 0 && (flags & O_TRUNC) == 0) return call(folder, path, flags, mode);
  const bool there = faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (fails(path)) return -1;
  const int fd = call(folder, path, flags, mode);
  if (fd >= 0 && below(fd) && !there) tell("make", 0, path_of(fd));
  if (fd >= 0 && below(fd) && there && (flags & O_TRUNC) != 0) tell("cut", 0, path_of(fd));
  return fd;
}

FILE* opened(const char* name, const char* path, const char* mode) {
  const auto call = real<FILE* (*)(const char*, const char*)>(name);
  if (*mode == 'r' || !below(path)) return call(path, mode);
  const bool there = access(path, F_OK) == 0;
  if (fails(path)) return nullptr;
  FILE* file = call(path, mode);
  if (file != nullptr && !there) tell("make", 0, path);
  if (file != nullptr && there && *mode == 'w') tell("cut", 0, path);
  return file;
}

int removed(const char* name, const char* path) {
  const auto call = real<int (*)(const char*)>(name);
  if (fails(path)) return -1;
  const int result = call(path);
  if (result == 0 && below(path)) tell("remove", 0, path);
  return result;
}

int synced(const char* name, int fd) {
  const auto call = real<int (*)(int)>(name);
  if (fails(fd)) return -1;
  const int result = call(fd);
  if (result == 0 && below(fd)) tell("sync", 0, path_of(fd));
  return result;
}

mode_t mode_of(int flags, va_list rest) {
  return (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* data, size_t bytes) {
  static const auto call = real<ssize_t (*)(int, const void*, size_t)>("write");
  if (fails(fd)) {
    if (errno != ENOSPC || bytes < 2) return -1;
    bytes /= 2;
  }
  const auto written = call(fd, data, bytes);
  tell_write(fd, data, written);
  return written;
}
ssize_t writev(int fd, const iovec* parts, int count) {
  std::string all;
  for (int k = 0; k < count; ++k)
    all.append(static_cast<const char*>(parts[k].iov_base), parts[k].iov_len);
  return write(fd, all.data(), all.size());
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = mode_of(flags, rest);
  va_end(rest);
  return open_at(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int fsync(int fd) {
  return synced("fsync", fd);
}
int fdatasync(int fd) {
  return synced("fdatasync", fd);
}
int ftruncate(int fd, off_t size) noexcept {
  static const auto call = real<int (*)(int, off_t)>("ftruncate");
  if (fails(fd)) return -1;
  const int result = call(fd, size);
  if (result == 0 && below(fd)) tell("cut", size, path_of(fd));
  return result;
}
int close(int fd) {
  static const auto call = real<int (*)(int)>("close");
  const bool failed = fails(fd);
  const int cause = errno, result = call(fd);
  if (failed) errno = cause;
  return failed ? -1 : result;
}
int rename(const char* from, const char* to) noexcept {
  static const auto call = real<int (*)(const char*, const char*)>("rename");
  if (fails(to)) return -1;
  const int result = call(from, to);
  if (result == 0 && below(to)) tell("move", 0, std::string(from) + '\t' + to);
  return result;
}
int mkdir(const char* path, mode_t mode) noexcept {
  static const auto call = real<int (*)(const char*, mode_t)>("mkdir");
  if (fails(path)) return -1;
  const int result = call(path, mode);
  if (result == 0 && below(path)) tell("make", 0, std::string(path) + '/');
  return result;
}
int unlink(const char* path) noexcept {
  return removed("unlink", path);
}
int remove(const char* path) noexcept {
  return removed("remove", path);
}
FILE* fopen(const char* path, const char* mode) {
  return opened("fopen", path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return opened("fopen64", path, mode);
}

}  // extern "C"
