#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/datasets.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "common/core/hash.hpp"
#include "common/core/message.hpp"
#include "common/io/files.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

/// "{01..57}" in an address.
struct Numbers {
  std::string before, after;
  int from, to;
  std::size_t digits;
};

std::optional<Numbers> numbers_in(const std::string& url) {
  const auto open = url.find('{'), dots = url.find("..", open), close = url.find('}', open);
  if (open == url.npos || dots == url.npos || close == url.npos) return std::nullopt;
  const auto from = url.substr(open + 1, dots - open - 1);
  const auto to = url.substr(dots + 2, close - dots - 2);
  return Numbers{url.substr(0, open), url.substr(close + 1), std::stoi(from), std::stoi(to),
                 from.size()};
}

std::string name_of(const std::string& url) {
  const auto path = url.substr(0, url.find_first_of("?#"));
  return path.substr(path.rfind('/') + 1);
}

/// The name of the numbered files without their number.
std::string folder_name(const Numbers& numbers) {
  auto name = name_of(numbers.before);
  while (!name.empty() && !std::isalnum(static_cast<unsigned char>(name.back()))) name.pop_back();
  return name.empty() ? "files" : name;
}

std::vector<Checksum> read_checksums(const std::string& path) {
  std::vector<Checksum> records;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return records;
  const auto tree = load_yaml(path, checksums_shape());
  for (const auto& entry : tree.items_of("checksums"))
    records.push_back({entry.need("url").text, entry.need("sha256").text,
                       as_integer(entry.need("bytes")), entry.need("by").text, path});
  return records;
}

std::string beside_fetched(const std::string& cache) {
  return (fs::path(cache) / "fetched" / "checksums.yaml").string();
}

std::vector<Checksum> of_url(const std::vector<Checksum>& records, const std::string& url) {
  std::vector<Checksum> found;
  std::ranges::copy_if(records, std::back_inserter(found),
                       [&](const Checksum& c) { return c.url == url; });
  return found;
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

/// The file of one's own records.
std::string text_of(const std::vector<Checksum>& records) {
  std::string text =
      "# What was fetched here first, by address; from then on a file has to agree. Lines of it "
      "may\n"
      "# be contributed to datasets/checksums.yaml, `by` with your name.\nschema: 1\nchecksums:";
  text += records.empty() ? " []\n" : "\n";
  for (const auto& c : records)
    text += fmt::format("  - {{url: {}, sha256: {}, bytes: {}, by: {}}}\n", quoted(c.url),
                        quoted(c.sha256), c.bytes, quoted(c.by));
  return text;
}

/// A folder that no other process, nor another thread of this one, holds as well. It is the folder
/// that is locked: the file in it is replaced by renaming, which a lock of its own would not
/// survive.
class LockedFolder {
 public:
  explicit LockedFolder(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ < 0) fail(path);
    while (flock(fd_, LOCK_EX) != 0)
      if (errno != EINTR) fail(path);
  }
  ~LockedFolder() { close(fd_); }
  LockedFolder(const LockedFolder&) = delete;
  LockedFolder& operator=(const LockedFolder&) = delete;

 private:
  [[noreturn]] static void fail(const std::string& path) {
    throw system_error("{}: the folder can't be locked: {}", path, std::strerror(errno));
  }

  int fd_;
};

}  // namespace

std::string fetched_path(const FetchSource& source) {
  constexpr std::size_t kDigits = 12;
  const auto identity = source.sha256.empty() ? sha256_hex(source.url) : source.sha256;
  const auto numbers = numbers_in(source.url);
  return fmt::format("fetched/{}-{}", identity.substr(0, kDigits),
                     numbers ? folder_name(*numbers) : name_of(source.url));
}

std::vector<FetchedFile> fetched_files(const FetchSource& source) {
  const auto path = fetched_path(source);
  const auto numbers = numbers_in(source.url);
  if (!numbers) return {{source.url, path}};
  std::vector<FetchedFile> files;
  for (int number = numbers->from; number <= numbers->to; ++number) {
    const auto url =
        fmt::format("{}{:0{}}{}", numbers->before, number, numbers->digits, numbers->after);
    files.push_back({url, fmt::format("{}/{}", path, name_of(url))});
  }
  return files;
}

std::string at_mirror(const std::string& url, const std::string& mirror) {
  if (mirror.empty()) return url;
  const std::string scheme = "https://";
  return fmt::format("{}{}{}", mirror, mirror.ends_with('/') ? "" : "/", url.substr(scheme.size()));
}

Checksums::Checksums(const std::string& folder, const std::string& shared, const std::string& cache)
    : own_file_(beside_fetched(cache)), own_(read_checksums(own_file_)) {
  others_ = read_checksums((fs::path(folder) / "checksums.yaml").string());
  if (shared.empty()) return;
  for (auto& record : read_checksums(beside_fetched(shared))) others_.push_back(std::move(record));
}

std::vector<Checksum> Checksums::expected(const FetchSource& source, const std::string& url) const {
  if (!source.sha256.empty())
    return {{url, source.sha256, source.bytes, "the source, as the registry states it", ""}};
  auto found = of_url(own_, url);
  return found.empty() ? of_url(others_, url) : found;
}

void Checksums::check(const FetchSource& source, const std::string& url,
                      const std::string& path) const {
  const auto records = expected(source, url);
  if (records.empty()) return;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path));
  const auto right_length = std::ranges::any_of(
      records, [&](const Checksum& c) { return c.bytes == 0 || c.bytes == bytes; });
  if (!right_length)
    throw input_error("{}: found {}, expected {}", path,
                      count_text(static_cast<Count>(bytes), "byte"), records.front().bytes);
  const auto found = sha256_file(path);
  std::string known;
  for (const auto& record : records) {
    if (record.sha256 == found) return;
    known += fmt::format("{}{} by {}{}", known.empty() ? "" : " or ", record.sha256, record.by,
                         record.file.empty() ? "" : fmt::format(" in {}", record.file));
  }
  throw input_error("{}: found SHA-256 {}, expected {}", path, found, known);
}

void Checksums::record(const std::string& url, const std::string& path) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  replace({url}, {{url, sha256_file(path), static_cast<std::int64_t>(fs::file_size(path)),
                   fmt::format("the first fetch here, {:%Y-%m-%d}", fmt::gmtime(now)), own_file_}});
}

void Checksums::forget(const std::vector<std::string>& urls) {
  replace(urls, {});
}

void Checksums::replace(const std::vector<std::string>& urls, const std::vector<Checksum>& by) {
  const auto folder = fs::path(own_file_).parent_path();
  make_folder(folder);
  const LockedFolder lock(folder.string());
  own_ = read_checksums(own_file_);
  std::erase_if(own_, [&](const Checksum& c) { return std::ranges::count(urls, c.url) > 0; });
  own_.insert(own_.end(), by.begin(), by.end());
  write_file(own_file_, text_of(own_));
}

}  // namespace retensor::driver
