// Attempts go on while bytes arrive, and a few times without; the waits between them grow. The
// partial file is locked while it is written, so that two processes never mix. What an earlier call
// left may be of another version: when a resumed file turns out wrong, it is fetched once afresh.
#include "experiments/driver/data/fetch/download.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "experiments/driver/data/fetch/transfer.hpp"

namespace retensor::fetch {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kAttemptsWithoutProgress = 5;
constexpr std::chrono::milliseconds kFirstWait{200};

[[noreturn]] void refuse(const std::string& path, const char* what) {
  throw SystemError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

/// The partial file, locked as long as the object lives.
class Part {
 public:
  explicit Part(std::string path) : path_(std::move(path)) {
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ < 0) refuse(path_, "can't be opened");
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      close(fd_);
      throw SystemError(path_ + ": another process is fetching it");
    }
  }
  ~Part() {
    struct stat facts {};
    if (fstat(fd_, &facts) == 0 && facts.st_size == 0) remove();
    close(fd_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  std::uint64_t size() const {
    struct stat facts {};
    if (fstat(fd_, &facts) != 0) refuse(path_, "can't be read");
    return static_cast<std::uint64_t>(facts.st_size);
  }
  void clear() {
    if (ftruncate(fd_, 0) != 0) refuse(path_, "can't be emptied");
  }
  void remove() { unlink(path_.c_str()); }
  void become(const std::string& final_path) {
    if (fsync(fd_) != 0) refuse(path_, "can't be flushed to disk");
    if (rename(path_.c_str(), final_path.c_str()) != 0) refuse(final_path, "can't be renamed");
  }

 private:
  std::string path_;
  int fd_;
};

/// Why the file is not the requested one; empty when it is.
std::string difference(const std::string& path, const Request& request) {
  const auto bytes = fs::file_size(path);
  if (bytes != request.bytes)
    return fmt::format("found {} bytes, expected {}", bytes, request.bytes);
  if (const auto found = sha256_file(path); found != request.sha256)
    return fmt::format("found SHA-256 {}, expected {}", found, request.sha256);
  return {};
}

class Download {
 public:
  Download(const Request& request, Part& part, const OnProgress& progress, const OnNote& note)
      : request_(request), part_(part), progress_(progress), note_(note) {}

  /// Why the server's file is not the requested one; empty when the partial file is right. Throws
  /// InputError when the server refuses.
  std::string attempt_all() {
    std::string validator;
    auto wait = kFirstWait;
    for (int idle = 0; part_.size() < request_.bytes;) {
      const auto before = part_.size();
      const auto [end, reason] =
          transfer(request_, part_.fd(), before, seconds_left(), validator, progress_);
      if (end == End::complete) break;
      if (end == End::wrong) return reason;
      if (end == End::refused) throw InputError(fmt::format("{}: {}", request_.url, reason));
      idle = part_.size() > before ? 0 : idle + 1;
      if (idle == kAttemptsWithoutProgress)
        throw SystemError(fmt::format("{}; {} of {} bytes are here, a later call resumes", reason,
                                      part_.size(), request_.bytes));
      note_(fmt::format("{}; resuming at {} of {} bytes", reason, part_.size(), request_.bytes));
      wait = idle == 0 ? kFirstWait : wait * 2;
      std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(
          wait, std::chrono::duration<double>(seconds_left())));
    }
    return difference(part_.path(), request_);
  }

 private:
  double seconds_left() const {
    const std::chrono::duration<double> spent = Clock::now() - start_;
    if (spent.count() >= request_.time_limit)
      throw SystemError(fmt::format("{} s are over; {} of {} bytes are here, a later call resumes",
                                    request_.time_limit, part_.size(), request_.bytes));
    return request_.time_limit - spent.count();
  }

  const Request& request_;
  Part& part_;
  const OnProgress& progress_;
  const OnNote& note_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

void download(const Request& request, const OnProgress& progress, const OnNote& note) {
  if (fs::is_regular_file(request.out)) {
    const auto what = difference(request.out, request);
    if (what.empty()) return;
    note(fmt::format("{}: {}; fetching it anew", request.out, what));
  }
  Part part(request.out + ".part");
  if (part.size() > request.bytes) part.clear();
  const bool resumed = part.size() > 0;
  Download all(request, part, progress, note);
  auto what = all.attempt_all();
  if (!what.empty() && resumed) {
    note(fmt::format("resumed: {}; once more from the start", what));
    part.clear();
    what = all.attempt_all();
  }
  if (!what.empty()) {
    part.remove();
    throw InputError(fmt::format("{}: {}", request.url, what));
  }
  part.become(request.out);
}

}  // namespace retensor::fetch
