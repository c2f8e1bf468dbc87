// Oracles on disk, so that a worker process need not build what another one built.
//
// Little-endian: 8 bytes of magic, a version, the payload, and the SHA-256 of all before it as 64
// hexadecimal digits. A file is written beside its place and renamed, so that a reader never meets
// half of one.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <type_traits>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/reference/data.hpp"

namespace retensor::reference {
namespace {

constexpr std::array<char, 8> kMagic{'R', 'T', 'O', 'R', 'A', 'C', 'L', 'E'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kDigestSize = 64;

class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path), file_(path, std::ios::binary) {}

  void raw(const void* data, std::size_t bytes) {
    file_.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    hash_.update(data, bytes);
  }
  template <class Vector>
  void vector(const Vector& v) {
    const std::uint64_t size = v.size();
    raw(&size, sizeof size);
    raw(v.data(), size * sizeof v[0]);
  }
  void finish() {
    const std::string digest = hash_.hex();
    file_.write(digest.data(), static_cast<std::streamsize>(digest.size()));
    file_.close();
    if (!file_) throw SystemError(fmt::format("{}: can't be written", path_));
  }

 private:
  std::string path_;
  std::ofstream file_;
  Sha256 hash_;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) throw SystemError(fmt::format("{}: can't be read", path));
    const auto size = std::filesystem::file_size(path);
    if (size < kDigestSize) refuse("too short");
    left_ = size - kDigestSize;
  }

  void raw(void* data, std::size_t bytes) {
    if (bytes > left_) refuse("truncated");
    file_.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
    if (!file_) refuse("truncated");
    hash_.update(data, bytes);
    left_ -= bytes;
  }
  template <class Vector>
  void vector(Vector& v) {
    std::uint64_t size = 0;
    raw(&size, sizeof size);
    // Checked before the allocation: a damaged length must not ask for all memory.
    if (size > left_ / sizeof v[0]) refuse("truncated");
    v.resize(size);
    raw(v.data(), size * sizeof v[0]);
  }
  void finish() {
    std::string digest(kDigestSize, ' ');
    file_.read(digest.data(), kDigestSize);
    if (left_ != 0 || !file_ || digest != hash_.hex()) refuse("its checksum is wrong");
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError(fmt::format("{}: not an intact oracle file: {}", path_, why));
  }

 private:
  std::string path_;
  std::ifstream file_;
  std::uint64_t left_ = 0;
  Sha256 hash_;
};

// One list of fields for both directions; `archive(field)` writes or reads it.
template <class Archive, class Data>
void describe(Archive&& archive, Data& d) {
  auto& layout = d.layout;
  archive(layout.kind);
  archive(layout.dims);
  archive(layout.dense_modes);
  archive(layout.sparse_dims);
  archive(layout.row_modes);
  archive(layout.column_modes);
  archive(layout.block_dims);
  archive(layout.slack);
  archive(layout.cofactor);
  archive(d.fibers.keys);
  archive(d.fibers.terms);
  archive(d.fibers.values);
  archive(d.fibers.l1);
  archive(d.index_space);
  archive(d.sampled);
  archive(d.sample.rows);
  archive(d.sample.column_stride);
  archive(d.sample.seed);
  archive(d.sample.buckets);
  archive(d.cpd.rank);
  archive(d.cpd.tolerance);
  archive(d.cpd.max_sweeps);
  archive(d.cpd.fit);
  archive(d.cpd.x);
}

struct WriteField {
  Writer& out;

  template <class T>
  void operator()(const std::vector<T>& v) const {
    out.vector(v);
  }
  void operator()(const Coo& x) const {
    out.vector(x.dims);
    for (const auto& mode : x.indices) out.vector(mode);
    (*this)(x.dtype());
    x.values.visit([this](const auto& v) { out.vector(v); });
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(const T& field) const { out.raw(&field, sizeof field); }
};

struct ReadField {
  Reader& in;

  template <class T>
  void operator()(std::vector<T>& v) const {
    in.vector(v);
  }
  void operator()(Coo& x) const {
    in.vector(x.dims);
    if (x.dims.size() > kMaxOrder) in.refuse("a tensor of too high order");
    x.indices.resize(x.dims.size());
    for (auto& mode : x.indices) in.vector(mode);
    DType type{};
    (*this)(type);
    x.values = Values(type, 0);
    x.values.visit([this](auto& v) { in.vector(v); });
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(T& field) const { in.raw(&field, sizeof field); }
};

}  // namespace

void Expected::save(const std::string& path) const {
  const std::string unfinished = path + ".part";
  Writer out(unfinished);
  out.raw(kMagic.data(), kMagic.size());
  WriteField{out}(kVersion);
  describe(WriteField{out}, std::as_const(*data_));
  out.finish();
  std::error_code failure;
  std::filesystem::rename(unfinished, path, failure);
  if (failure) throw SystemError(fmt::format("{}: {}", path, failure.message()));
}

Expected Expected::load(const std::string& path) {
  Reader in(path);
  std::array<char, kMagic.size()> magic{};
  in.raw(magic.data(), magic.size());
  if (magic != kMagic) in.refuse("it starts with other bytes");
  std::uint32_t version = 0;
  ReadField{in}(version);
  if (version != kVersion)
    in.refuse(fmt::format("found version {}, expected {}", version, kVersion));
  Data data;
  describe(ReadField{in}, data);
  in.finish();
  return Expected(std::move(data));
}

}  // namespace retensor::reference
