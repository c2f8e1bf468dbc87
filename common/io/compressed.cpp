#include "common/io/compressed.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <algorithm>
#include <filesystem>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/io/options.hpp"

namespace retensor {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kGzipMagic = "\x1f\x8b"sv;
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd"sv;
constexpr std::size_t kFirstRoom = std::size_t{1} << 16;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in unsigned int

/// Parallel packers open with a skippable zstd frame: 5x 2a 4d 18.
bool starts_skippable(std::string_view bytes) {
  return bytes.size() >= 4 && (bytes[0] & 0xf0) == 0x50 && bytes.substr(1, 3) == "\x2a\x4d\x18"sv;
}

/// The archive being read and the text gained from it.
struct Job {
  std::string_view archive;
  const std::string& name;
  std::uint64_t limit;
  std::size_t used = 0;
  Unpacked content;

  [[noreturn]] void refuse(const std::string& found, std::string_view kind) const {
    throw ParseError({name}, fmt::format("{} at byte {}", found, used),
                     fmt::format("a complete {} archive", kind));
  }
  /// Notes that text was written into the room of the content.
  void added(std::size_t bytes) {
    content.added(bytes);
    if (content.size() > limit)
      throw ParseError({name}, fmt::format("more than {} unpacked bytes", limit),
                       "an archive within this limit");
  }
};

void unpack_gzip(Job& job) {
  constexpr int gzip_only = 16;
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + gzip_only) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, inflateEnd);
  // zlib never writes through next_in.
  const auto bytes = [](const char* p) { return reinterpret_cast<Bytef*>(const_cast<char*>(p)); };
  while (true) {
    const auto in = static_cast<uInt>(std::min(job.archive.size() - job.used, kMostAtOnce));
    stream.next_out = bytes(job.content.room());
    const auto out = static_cast<uInt>(std::min(job.content.room_bytes(), kMostAtOnce));
    stream.next_in = bytes(job.archive.data() + job.used);
    stream.avail_in = in;
    stream.avail_out = out;
    const int code = inflate(&stream, Z_NO_FLUSH);
    job.used += in - stream.avail_in;
    job.added(out - stream.avail_out);
    if (code == Z_STREAM_END) {
      if (job.used == job.archive.size()) return;
      inflateReset(&stream);  // the next member
    } else if (code == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (code != Z_OK) {
      job.refuse(code == Z_BUF_ERROR ? "the end" : "damaged data", "gzip");
    }
  }
}

void unpack_zstd(Job& job) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  std::size_t pending = 1;  // 0: a frame is complete and fully flushed
  while (pending != 0 || job.used < job.archive.size()) {
    char* to = job.content.room();
    ZSTD_outBuffer out{to, job.content.room_bytes(), 0};
    ZSTD_inBuffer in{job.archive.data() + job.used, job.archive.size() - job.used, 0};
    pending = ZSTD_decompressStream(context.get(), &out, &in);
    job.used += in.pos;
    if (ZSTD_isError(pending)) job.refuse(ZSTD_getErrorName(pending), "zstd");
    job.added(out.pos);
    if (pending != 0 && in.pos == in.size && out.pos < out.size) job.refuse("the end", "zstd");
  }
}

}  // namespace

char* Unpacked::room() {
  if (size_ == capacity_) {
    const std::size_t wanted = std::max(kFirstRoom, capacity_ + capacity_ / 2);
    char* moved = static_cast<char*>(std::realloc(data_.get(), wanted));
    if (moved == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(moved);
    capacity_ = wanted;
  }
  return data_.get() + size_;
}

std::uint64_t most_unpacked_bytes() {
  const auto memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  return std::min(memory / 2, std::uint64_t{64} << 30);
}

bool is_archive(std::string_view bytes) {
  return bytes.starts_with(kGzipMagic) || bytes.starts_with(kZstdMagic) || starts_skippable(bytes);
}

Unpacked unpack(std::string_view archive, const std::string& name, std::uint64_t limit) {
  Job job{archive, name, limit, 0, {}};
  if (archive.starts_with(kGzipMagic))
    unpack_gzip(job);
  else
    unpack_zstd(job);
  return std::move(job.content);
}

namespace {

constexpr std::size_t kBlock = 512;

/// A field of a header block: where it begins and how long it is.
struct TarField {
  std::size_t at, length;
};
constexpr TarField kName{0, 100}, kSize{124, 12}, kSum{148, 8}, kPrefix{345, 155};
constexpr std::size_t kTypeAt = 156, kMagicAt = 257;

std::string_view tar_field(std::string_view block, TarField f) {
  const auto whole = block.substr(f.at, f.length);
  return whole.substr(0, whole.find('\0'));
}

/// Octal digits between blanks; sizes beyond 8 GiB are big-endian bytes after a byte 0x80.
std::optional<std::uint64_t> tar_number(std::string_view block, TarField f) {
  std::uint64_t value = 0;
  if (block[f.at] == '\x80') {
    constexpr std::size_t kBytes = 8;
    for (const unsigned char c : block.substr(f.at + f.length - kBytes, kBytes))
      value = value << 8 | c;
    return value;
  }
  auto text = tar_field(block, f);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find(' '));
  if (text.empty()) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

/// The sum of a header's bytes, its own field counted as blanks.
std::uint64_t sum_of(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kSum.at && i < kSum.at + kSum.length;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::string name_of(std::string_view block) {
  const auto prefix = tar_field(block, kPrefix);
  const auto name = std::string(tar_field(block, kName));
  return prefix.empty() ? name : fmt::format("{}/{}", prefix, name);
}

/// The path in a pax header: records "LENGTH path=NAME\n"; empty when it has none.
std::string pax_path(std::string_view records) {
  constexpr auto key = " path="sv;
  const auto at = records.find(key);
  if (at == records.npos) return {};
  const auto from = at + key.size();
  return std::string(records.substr(from, records.find('\n', from) - from));
}

bool is_sidecar(const std::string& name) {
  return std::filesystem::path(name).filename().string().starts_with("._");
}

bool is_called_as_its_folder(const std::string& name) {
  const std::filesystem::path path = name;
  return path.stem() == path.parent_path().filename();
}

class TarReader {
 public:
  TarReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  /// Regular files that are no sidecars.
  std::vector<TarMember> files() {
    std::vector<TarMember> found;
    std::string long_name;  // of the next member
    while (at_ + kBlock <= bytes_.size() && bytes_[at_] != '\0') {
      const auto head = bytes_.substr(at_, kBlock);
      if (tar_number(head, kSum) != sum_of(head)) refuse("a damaged header");
      const auto content = take(head);
      const char type = head[kTypeAt];
      if (type == 'x' || type == 'L') {
        long_name =
            type == 'x' ? pax_path(content) : std::string(content.substr(0, content.find('\0')));
        continue;
      }
      const auto name = std::exchange(long_name, {});
      TarMember member{name.empty() ? name_of(head) : name, content};
      const bool is_file = type == '0' || type == '\0';
      if (is_file && !is_sidecar(member.name)) found.push_back(std::move(member));
    }
    return found;
  }

  [[noreturn]] void refuse(const std::string& found) const {
    throw ParseError({name_}, fmt::format("{} at byte {} of the tar archive", found, at_),
                     "a complete archive");
  }

 private:
  /// The content behind a header; moves on to the next one.
  std::string_view take(std::string_view head) {
    const auto size = tar_number(head, kSize);
    const auto left = bytes_.size() - at_ - kBlock;
    if (!size || *size > left) refuse("a member cut short");
    const auto content = bytes_.substr(at_ + kBlock, *size);
    const auto padded = (*size + kBlock - 1) / kBlock * kBlock;
    at_ += kBlock + std::min<std::uint64_t>(padded, left);
    return content;
  }

  std::string_view bytes_;
  const std::string& name_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_tar(std::string_view bytes) {
  // Text holds no zero byte, whatever it says.
  return bytes.size() >= kBlock && bytes.substr(kMagicAt, 5) == "ustar" &&
         bytes.substr(0, kMagicAt).find('\0') != bytes.npos;
}

TarMember tensor_of_tar(std::string_view bytes, const std::string& name) {
  auto files = TarReader(bytes, name).files();
  constexpr std::size_t kMostNamed = 3;
  std::string found =
      fmt::format("{} files that could be the tensor in the tar archive", files.size());
  for (std::size_t f = 0; f < std::min(files.size(), kMostNamed); ++f)
    found += (f == 0 ? ": " : ", ") + files[f].name;
  if (files.size() > kMostNamed) found += ", ...";
  if (files.size() > 1)
    std::erase_if(files, [](const TarMember& f) { return !is_called_as_its_folder(f.name); });
  if (files.size() == 1) return files.front();
  throw ParseError({name}, found, "one, or one that is called as its folder");
}

}  // namespace retensor
