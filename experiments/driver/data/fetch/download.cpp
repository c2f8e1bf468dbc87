// Attempts go on while bytes arrive, and a few times without; the waits between them grow. The
// partial file is locked while it is written, so that two processes never mix. What an earlier call
// left may be of another version: when a resumed file turns out wrong, it is fetched once afresh. A
// file without a known SHA-256 can't turn out wrong, so the server's mark of its version is kept
// beside the partial file, and without that mark nothing is resumed.
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
#include <fstream>
#include <iterator>
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

/// Why the file is not the requested one; empty when it is, as far as anything is known of it.
std::string difference(const std::string& path, const Request& request) {
  const auto bytes = fs::file_size(path);
  if (request.bytes != 0 && bytes != request.bytes)
    return fmt::format("found {} bytes, expected {}", bytes, request.bytes);
  if (bytes == 0) return "found an empty file";
  if (request.sha256.empty()) return {};
  if (const auto found = sha256_file(path); found != request.sha256)
    return fmt::format("found SHA-256 {}, expected {}", found, request.sha256);
  return {};
}

/// The version of a partial file, kept beside it: what the server calls it.
class Mark {
 public:
  explicit Mark(std::string path) : path_(std::move(path)) {
    std::ifstream in(path_);
    text_.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::string& text() const { return text_; }
  void set(const std::string& text) {
    if (text == text_) return;
    text_ = text;
    std::ofstream(path_, std::ios::trunc) << text;
  }
  void remove() { unlink(path_.c_str()); }

 private:
  std::string path_, text_;
};

class Download {
 public:
  Download(const Request& request, Part& part, Mark& mark, const OnProgress& progress,
           const OnNote& note)
      : request_(request),
        part_(part),
        mark_(mark),
        progress_(progress),
        note_(note),
        version_{request.bytes, request.sha256.empty() ? mark.text() : "",
                 [this](const std::string& text) {
                   if (request_.sha256.empty()) mark_.set(text);
                 }} {}

  /// Why the server's file is not the requested one; empty when the partial file is right. Throws
  /// InputError when the server refuses.
  std::string attempt_all() {
    auto wait = kFirstWait;
    for (int idle = 0; version_.length == 0 || part_.size() < version_.length;) {
      const auto before = part_.size();
      const auto [end, reason] =
          transfer(request_, part_.fd(), before, seconds_left(), version_, progress_);
      if (end == End::complete) break;
      if (end == End::wrong) return reason;
      if (end == End::refused) throw InputError(fmt::format("{}: {}", request_.url, reason));
      idle = part_.size() > before ? 0 : idle + 1;
      if (idle == kAttemptsWithoutProgress)
        throw SystemError(fmt::format("{}; {} are here, a later call resumes", reason, so_far()));
      note_(fmt::format("{}; resuming at {}", reason, so_far()));
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
      throw SystemError(fmt::format("{} s are over; {} are here, a later call resumes",
                                    request_.time_limit, so_far()));
    return request_.time_limit - spent.count();
  }

  std::string so_far() const {
    if (version_.length == 0) return fmt::format("{} bytes", part_.size());
    return fmt::format("{} of {} bytes", part_.size(), version_.length);
  }

  const Request& request_;
  Part& part_;
  Mark& mark_;
  const OnProgress& progress_;
  const OnNote& note_;
  Version version_;
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
  Mark mark(request.out + ".part.mark");
  const bool unmarked = request.sha256.empty() && mark.text().empty();
  if (unmarked || (request.bytes != 0 && part.size() > request.bytes)) part.clear();
  const bool resumed = part.size() > 0;
  Download all(request, part, mark, progress, note);
  auto what = all.attempt_all();
  if (!what.empty() && resumed) {
    note(fmt::format("resumed: {}; once more from the start", what));
    part.clear();
    what = all.attempt_all();
  }
  if (!what.empty()) part.remove();
  if (what.empty()) part.become(request.out);
  mark.remove();
  if (!what.empty()) throw InputError(fmt::format("{}: {}", request.url, what));
}

}  // namespace retensor::fetch
