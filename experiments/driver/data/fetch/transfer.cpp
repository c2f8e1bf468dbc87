// The server is not trusted: https alone, also after redirects, of which there may be a few; no
// more bytes are written than the file has; a range that does not continue the file is refused. A
// range is answered with 206 by servers that know ranges, with 200 and the whole file by those that
// don't or (If-Range, RFC 9110 section 13.1.5) whose file has changed, and with 416 when the
// server's file ends before the range begins.
#include "experiments/driver/data/fetch/transfer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <curl/curl.h>
#include <fmt/format.h>

#include "common/core/error.hpp"

namespace retensor::fetch {
namespace {

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
  std::string validator;       ///< of the answer that is read
  std::string content_range;   ///< the same
  std::string refusal;         ///< why the body is not wanted
  std::exception_ptr failure;  ///< no exception may pass through libcurl
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (auto& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

/// Value of the header line "name: value", empty when it is another one.
std::string value_of(std::string_view line, std::string_view name) {
  const auto colon = line.find(':');
  if (colon == line.npos || lower(line.substr(0, colon)) != name) return {};
  auto value = line.substr(colon + 1);
  constexpr std::string_view kBlank = " \t\r\n";
  value.remove_prefix(std::min(value.find_first_not_of(kBlank), value.size()));
  return std::string(value.substr(0, value.find_last_not_of(kBlank) + 1));
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& s = *static_cast<State*>(user);
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) {  // of a redirect or of the file: each answer starts afresh
    s.validator.clear();
    s.content_range.clear();
  }
  // Only a strong tag promises equal bytes; it wins over the date.
  if (const auto tag = value_of(line, "etag"); tag.starts_with('"')) s.validator = tag;
  if (const auto date = value_of(line, "last-modified"); !date.empty() && s.validator.empty())
    s.validator = date;
  if (const auto range = value_of(line, "content-range"); !range.empty()) s.content_range = range;
  return size;
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
    if (written < 0) throw SystemError(fmt::format("writing: {}", std::strerror(errno)));
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
  s.version.on_validator(s.validator);
  std::uint64_t whole = s.version.length;
  if (status_of(s) == kPartial) {
    const auto from = number_after(s.content_range, "bytes ");
    if (from != s.have) {
      s.refusal = fmt::format("found a range from {}, expected one from {}",
                              from ? std::to_string(*from) : "nowhere", s.have);
      return;
    }
    whole = number_after(s.content_range, "/").value_or(whole);
  } else {
    curl_off_t announced = -1;
    curl_easy_getinfo(s.curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    if (announced >= 0) whole = static_cast<std::uint64_t>(announced);
    if (ftruncate(s.fd, 0) != 0 || lseek(s.fd, 0, SEEK_SET) != 0)
      throw SystemError(fmt::format("emptying: {}", std::strerror(errno)));
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
  if (status == kNoSuchRange && length == 0 && number_after(s.content_range, "*/") == s.have)
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

}  // namespace

Transfer transfer(const Request& request, int fd, std::uint64_t have, double seconds,
                  Version& version, const OnProgress& progress) {
  const std::unique_ptr<CURL, Cleanup> curl(curl_easy_init());
  if (curl == nullptr) throw SystemError("libcurl can't be started");
  if (lseek(fd, static_cast<off_t>(have), SEEK_SET) < 0)
    throw SystemError(fmt::format("seeking: {}", std::strerror(errno)));
  State s{curl.get(), request, progress, version, fd, have, false, {}, {}, {}, {}};
  char text[CURL_ERROR_SIZE] = "";
  set_limits(s.curl, request, seconds);
  curl_easy_setopt(s.curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(s.curl, CURLOPT_ERRORBUFFER, text);
  curl_easy_setopt(s.curl, CURLOPT_USERAGENT, "retensor-fetch");
  curl_easy_setopt(s.curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(s.curl, CURLOPT_HEADERDATA, &s);
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
  if (s.begun) version.validator = s.validator;
  return outcome(s, code, text);
}

}  // namespace retensor::fetch
