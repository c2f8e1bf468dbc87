// Attempts go on while bytes arrive, and a few times without; the waits between them grow. The
// partial file is locked while it is written, so that two processes never mix. What an earlier call
// left may be of another version: when a resumed file turns out wrong, it is fetched once afresh. A
// file without a known SHA-256 can't turn out wrong, so the server's mark of its version is kept
// beside the partial file, and without that mark nothing is resumed.
#include "experiments/driver/data/fetch/download.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "common/core/hash.hpp"
#include "common/core/message.hpp"

namespace retensor::fetch {
namespace fs = std::filesystem;

namespace {

/// How one connection ended.
enum class End {
  complete,  ///< the file has its length
  cut,       ///< before that; worth another attempt
  refused,   ///< by the server or by the rules for redirects and certificates
  wrong,     ///< the server's file has another length
};

struct Transfer {
  End end;
  std::string reason;  ///< empty when complete
};

/// What is known of the server's file; an answer adds to it.
struct Version {
  std::uint64_t length;   ///< 0: not known yet
  std::string validator;  ///< ETag or date of the last answer: keeps parts of two versions apart
  std::function<void(const std::string&)> on_validator;  ///< called before its first bytes are kept
};

constexpr long kMostRedirects = 5;
constexpr long kConnectSeconds = 30;
constexpr long kStallBytesPerSecond = 1000;
constexpr long kPartial = 206, kNoSuchRange = 416, kTooManyRequests = 429, kTimeout = 408;

/// What the callbacks of libcurl share.
struct State {
  CURL* curl;
  const Request& request;
  const OnProgress& progress;
  Version& version;
  int fd;
  std::uint64_t have;
  bool begun = false;          ///< the first bytes of the body have come
  std::string refusal;         ///< why the body is not wanted
  std::exception_ptr failure;  ///< no exception may pass through libcurl
};

/// A header of the last answer, which is that of the file; empty without it.
std::string header_of(const State& s, const char* name) {
  curl_header* found = nullptr;
  const auto code = curl_easy_header(s.curl, name, 0, CURLH_HEADER, -1, &found);
  return code == CURLHE_OK ? found->value : "";
}

/// Only a strong tag promises equal bytes; it wins over the date.
std::string validator_of(const State& s) {
  const auto tag = header_of(s, "etag");
  return tag.starts_with('"') ? tag : header_of(s, "last-modified");
}

long status_of(const State& s) {
  long status = 0;
  curl_easy_getinfo(s.curl, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

/// The number after `before` in a text such as "bytes 5-9/10".
std::optional<std::uint64_t> number_after(const std::string& text, std::string_view before) {
  const auto at = text.find(before);
  if (at == text.npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* const first = text.data() + at + before.size();
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

void write_all(int fd, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const auto written = ::write(fd, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw system_error("writing: {}", std::strerror(errno));
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

/// The length that the server announces is the file's where none is known.
void compare_length(State& s, std::uint64_t announced) {
  auto& length = s.version.length;
  if (length == 0) length = announced;
  if (announced != length)
    s.refusal = fmt::format("found {} bytes, expected {}", announced, length);
  else if (s.request.bytes == 0 && length > s.request.most_bytes)
    s.refusal = fmt::format("found {} bytes, expected at most {}", length, s.request.most_bytes);
}

/// Puts the file where the body belongs and compares the announced length.
void begin_body(State& s) {
  s.begun = true;
  s.version.on_validator(validator_of(s));
  std::uint64_t whole = s.version.length;
  if (status_of(s) == kPartial) {
    const auto range = header_of(s, "content-range");
    const auto from = number_after(range, "bytes ");
    if (from != s.have) {
      s.refusal = fmt::format("found a range from {}, expected one from {}",
                              from ? std::to_string(*from) : "nowhere", s.have);
      return;
    }
    whole = number_after(range, "/").value_or(whole);
  } else {
    curl_off_t announced = -1;
    curl_easy_getinfo(s.curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    if (announced >= 0) whole = static_cast<std::uint64_t>(announced);
    if (ftruncate(s.fd, 0) != 0 || lseek(s.fd, 0, SEEK_SET) != 0)
      throw system_error("emptying: {}", std::strerror(errno));
    s.have = 0;
  }
  compare_length(s, whole);
}

std::uint64_t most_bytes(const State& s) {
  return s.version.length != 0 ? s.version.length : s.request.most_bytes;
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& s = *static_cast<State*>(user);
  try {
    if (!s.begun) begin_body(s);
    if (s.refusal.empty() && size > most_bytes(s) - s.have)
      s.refusal = fmt::format("found more than {} bytes", most_bytes(s));
    if (!s.refusal.empty()) return 0;
    write_all(s.fd, data, size);
    s.have += size;
    s.progress(s.have, s.version.length);
    return size;
  } catch (...) {
    s.failure = std::current_exception();
    return 0;
  }
}

/// Whether a failure lies in the file or the server's answer, so that asking again is of no use.
bool is_final(CURLcode code, long status) {
  switch (code) {
    case CURLE_HTTP_RETURNED_ERROR:
      return status < 500 && status != kTimeout && status != kTooManyRequests;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return true;
    default:
      return false;
  }
}

/// How a connection without refusal ended. A server may send less of a range than was asked for; it
/// has no range behind the file's end, which tells that all of a file of unknown length is here.
Transfer outcome(const State& s, CURLcode code, const char* text) {
  const auto status = status_of(s);
  const auto length = s.version.length;
  const auto shorter = fmt::format("found {} bytes, expected {}", s.have, length);
  if (length != 0 && s.have == length) return {End::complete, ""};
  if (status == kNoSuchRange && length == 0 &&
      number_after(header_of(s, "content-range"), "*/") == s.have)
    return {End::complete, ""};
  if (status == kNoSuchRange) return {End::wrong, shorter};
  if (code == CURLE_OK && length == 0 && s.have > 0) return {End::complete, ""};
  if (code == CURLE_OK && status == kPartial) return {End::cut, "the server sent a part"};
  if (code == CURLE_OK) return {End::wrong, shorter};
  const std::string reason = *text != '\0' ? text : curl_easy_strerror(code);
  return {is_final(code, status) ? End::refused : End::cut, reason};
}

struct Cleanup {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

void set_limits(CURL* curl, const Request& request, double seconds) {
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirects);
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kStallBytesPerSecond);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                   std::max(1L, static_cast<long>(request.stall_limit)));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(seconds * 1000)));
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  if (request.cacert.empty()) return;
  curl_easy_setopt(curl, CURLOPT_CAINFO, request.cacert.c_str());
  curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
}

/// Asks for what follows the `have` bytes of the file `fd`, written from there on; the file is
/// emptied when the server sends all of its own from the start. `seconds` bounds the request.
/// Throws SystemError when the file can't be written.
Transfer transfer(const Request& request, int fd, std::uint64_t have, double seconds,
                  Version& version, const OnProgress& progress) {
  const std::unique_ptr<CURL, Cleanup> curl(curl_easy_init());
  if (curl == nullptr) throw system_error("libcurl can't be started");
  if (lseek(fd, static_cast<off_t>(have), SEEK_SET) < 0)
    throw system_error("seeking: {}", std::strerror(errno));
  State s{curl.get(), request, progress, version, fd, have, false, {}, {}};
  char text[CURL_ERROR_SIZE] = "";
  set_limits(s.curl, request, seconds);
  curl_easy_setopt(s.curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(s.curl, CURLOPT_ERRORBUFFER, text);
  curl_easy_setopt(s.curl, CURLOPT_USERAGENT, "retensor-fetch");
  curl_easy_setopt(s.curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(s.curl, CURLOPT_WRITEDATA, &s);
  std::unique_ptr<curl_slist, Cleanup> headers;
  const auto range = fmt::format("{}-", have);
  if (have > 0) curl_easy_setopt(s.curl, CURLOPT_RANGE, range.c_str());
  if (have > 0 && !version.validator.empty()) {
    headers.reset(curl_slist_append(nullptr, ("If-Range: " + version.validator).c_str()));
    curl_easy_setopt(s.curl, CURLOPT_HTTPHEADER, headers.get());
  }

  const auto code = curl_easy_perform(s.curl);
  if (code == CURLE_OK && !s.begun) begin_body(s);  // an empty one
  if (s.failure) std::rethrow_exception(s.failure);
  if (!s.refusal.empty()) return {End::wrong, s.refusal};
  if (s.begun) version.validator = validator_of(s);
  return outcome(s, code, text);
}

using Clock = std::chrono::steady_clock;
constexpr int kAttemptsWithoutProgress = 5;
constexpr std::chrono::milliseconds kFirstWait{200};

[[noreturn]] void refuse(const std::string& path, const char* what) {
  throw system_error("{}: {}: {}", path, what, std::strerror(errno));
}

/// The partial file, locked as long as the object lives.
class Part {
 public:
  explicit Part(std::string path) : path_(std::move(path)) {
    do {
      if (fd_ >= 0) close(fd_);
      fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
      if (fd_ < 0) refuse(path_, "can't be opened");
      if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
        close(fd_);
        throw SystemError(path_ + ": another process is fetching it");
      }
    } while (!is_at_path());
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
  /// Another process may have renamed the file after it was opened here and before it was locked.
  bool is_at_path() const {
    struct stat locked {
    }, found{};
    return fstat(fd_, &locked) == 0 && stat(path_.c_str(), &found) == 0 &&
           locked.st_dev == found.st_dev && locked.st_ino == found.st_ino;
  }

  std::string path_;
  int fd_ = -1;
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

/// What the server called the version of a partial file, which is kept beside it; empty: unknown.
std::string marked(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Download {
 public:
  /// `mark` is the path of a file with the version of `part`.
  Download(const Request& request, Part& part, const std::string& mark, const OnProgress& progress,
           const OnNote& note)
      : request_(request),
        part_(part),
        progress_(progress),
        note_(note),
        version_{request.bytes, request.sha256.empty() ? marked(mark) : "",
                 [this, mark](const std::string& text) {
                   if (request_.sha256.empty() && text != marked(mark))
                     std::ofstream(mark, std::ios::trunc) << text;
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
      if (end == End::refused) throw input_error("{}: {}", request_.url, reason);
      idle = part_.size() > before ? 0 : idle + 1;
      if (idle == kAttemptsWithoutProgress)
        throw system_error("{}; {} are here, a later call resumes", reason, so_far());
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
      throw system_error("{} s are over; {} are here, a later call resumes", request_.time_limit,
                         so_far());
    return request_.time_limit - spent.count();
  }

  std::string so_far() const {
    if (version_.length == 0) return fmt::format("{} bytes", part_.size());
    return fmt::format("{} of {} bytes", part_.size(), version_.length);
  }

  const Request& request_;
  Part& part_;
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
  const auto mark = request.out + ".part.mark";
  const bool unmarked = request.sha256.empty() && marked(mark).empty();
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
  unlink(mark.c_str());
  if (!what.empty()) throw input_error("{}: {}", request.url, what);
}

}  // namespace retensor::fetch
