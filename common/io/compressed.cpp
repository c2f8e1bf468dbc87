#include "common/io/compressed.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <new>

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

}  // namespace retensor
