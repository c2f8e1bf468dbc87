// A library to be loaded before the program's own (LD_PRELOAD): the n-th call that changes a file
// below a folder fails, or the process ends there. Calls are counted over all processes of a run in
// a file that they share.
//
//   SHIM_BELOW    the folder
//   SHIM_COUNTER  file of 8 bytes, the number of calls so far
//   SHIM_FAIL     n, from 1; 0: none
//   SHIM_HOW      error (EIO), full (ENOSPC; a write takes half of its bytes first), exit
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

bool below(int fd) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const auto length = readlink(link, path, sizeof path - 1);
  if (length < 0) return false;
  path[length] = '\0';
  return below(path);
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

}  // namespace

extern "C" {

ssize_t write(int fd, const void* data, size_t bytes) {
  static const auto call = real<ssize_t (*)(int, const void*, size_t)>("write");
  if (!fails(fd)) return call(fd, data, bytes);
  const int cause = errno;
  if (cause == ENOSPC && bytes > 1) return call(fd, data, bytes / 2);
  errno = cause;
  return -1;
}
int fsync(int fd) {
  static const auto call = real<int (*)(int)>("fsync");
  return fails(fd) ? -1 : call(fd);
}
int fdatasync(int fd) {
  static const auto call = real<int (*)(int)>("fdatasync");
  return fails(fd) ? -1 : call(fd);
}
int ftruncate(int fd, off_t size) noexcept {
  static const auto call = real<int (*)(int, off_t)>("ftruncate");
  return fails(fd) ? -1 : call(fd, size);
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
  return fails(to) ? -1 : call(from, to);
}

}  // extern "C"
