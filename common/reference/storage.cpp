// Oracles on disk, so that a worker process need not build what another one built.
//
// Little-endian: 8 bytes of magic, a version, the payload, and the SHA-256 of all before it as 64
// hexadecimal digits.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <type_traits>

#include "common/core/hash.hpp"
#include "common/core/message.hpp"
#include "common/io/files.hpp"
#include "common/reference/data.hpp"

namespace retensor::reference {
namespace {

constexpr std::uint64_t kMagic = 0x454c4341524f5452;  // RTORACLE
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kDigestSize = 64;

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Writes fields, and the digest of all that was written.
class Writer {
 public:
  explicit Writer(const std::string& path) : file_(path) {}

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }
  void finish() {
    const std::string digest = hash_.hex();
    file_.write(digest.data(), digest.size());
    file_.commit();
  }

 private:
  void raw(const void* data, std::size_t bytes) {
    file_.write(data, bytes);
    hash_.update(data, bytes);
  }
  template <Number T>
  void put(T field) {
    raw(&field, sizeof field);
  }
  template <class T, class Allocator>
  void put(const std::vector<T, Allocator>& v) {
    put(Count{v.size()});
    raw(v.data(), v.size() * sizeof(T));
  }
  void put(const Coo& x) {
    put(x.dims);
    for (const auto& mode : x.indices) put(mode);
    put(x.dtype());
    x.values.visit([this](const auto& v) { put(v); });
  }

  AtomicFile file_;
  Sha256 hash_;
};

/// Reads what a Writer wrote.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) throw system_error("{}: can't be read", path);
    const auto size = std::filesystem::file_size(path);
    if (size < kDigestSize) refuse("too short");
    left_ = size - kDigestSize;
  }

  template <class... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }
  void finish() {
    std::string digest(kDigestSize, ' ');
    file_.read(digest.data(), kDigestSize);
    if (left_ != 0 || !file_ || digest != hash_.hex()) refuse("its checksum is wrong");
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw input_error("{}: not an intact oracle file: {}", path_, why);
  }

 private:
  void raw(void* data, std::size_t bytes) {
    if (bytes > left_ || !file_.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes)))
      refuse("truncated");
    hash_.update(data, bytes);
    left_ -= bytes;
  }
  template <Number T>
  void get(T& field) {
    raw(&field, sizeof field);
  }
  template <class T, class Allocator>
  void get(std::vector<T, Allocator>& v) {
    Count size = 0;
    get(size);
    // Checked before the allocation: a damaged length must not ask for all memory.
    if (size > left_ / sizeof(T)) refuse("truncated");
    v.resize(size);
    raw(v.data(), size * sizeof(T));
  }
  void get(Coo& x) {
    get(x.dims);
    if (x.dims.size() > kMaxOrder) refuse("a tensor of too high order");
    x.indices.resize(x.dims.size());
    for (auto& mode : x.indices) get(mode);
    DType type{};
    get(type);
    x.values = Values(type, 0);
    x.values.visit([this](auto& v) { get(v); });
  }

  std::string path_;
  std::ifstream file_;
  std::uint64_t left_ = 0;
  Sha256 hash_;
};

/// The fields of a file in their order, for both directions.
template <class Archive, class Data>
void describe(Archive& archive, Data& d) {
  auto& l = d.layout;
  archive(l.kind, l.dims, l.dense_modes, l.sparse_dims, l.row_modes, l.column_modes, l.block_dims,
          l.slack, l.cofactor);
  archive(d.fibers.keys, d.fibers.terms, d.fibers.values, d.fibers.l1, d.index_space, d.sampled);
  archive(d.sample.rows, d.sample.column_stride, d.sample.seed, d.sample.buckets);
  archive(d.cpd.rank, d.cpd.tolerance, d.cpd.max_sweeps, d.cpd.fit, d.cpd.x);
}

}  // namespace

void Expected::save(const std::string& path) const {
  Writer out(path);
  out(kMagic, kVersion);
  describe(out, *data_);
  out.finish();
}

Expected Expected::load(const std::string& path) {
  Reader in(path);
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  in(magic);
  if (magic != kMagic) in.refuse("it starts with other bytes");
  in(version);
  if (version != kVersion)
    in.refuse(fmt::format("found version {}, expected {}", version, kVersion));
  Data data;
  describe(in, data);
  in.finish();
  return Expected(std::move(data));
}

}  // namespace retensor::reference
