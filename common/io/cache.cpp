#include "common/io/cache.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/io/duplicates.hpp"
#include "common/io/files.hpp"

namespace retensor {
namespace {

using namespace std::string_view_literals;

static_assert(std::endian::native == std::endian::little, "the cache is written as memory stands");

constexpr std::string_view kMagic = "TNSB\r\n\x1a\n"sv;
constexpr std::uint32_t kUnchecked = 1,
                        kVersion = 2;  // the first version had no checksum of the header

struct Header {
  char magic[8];
  std::uint32_t version, dtype, order;
  std::uint32_t check;  // CRC-32 of the header with 0 in this place; 0 in version 1
  std::uint64_t nnz;
  std::uint64_t dims[kMaxOrder];
  unsigned char sha256[32];
};
static_assert(sizeof(Header) == 128);

[[noreturn]] void refuse(const std::string& name, const std::string& found,
                         const std::string& expected) {
  throw ParseError({name}, found, expected);
}

std::uint32_t dtype_code(DType t) {
  return t == DType::f32 ? 0 : 1;
}

std::uint32_t check_of(Header h) {
  h.check = 0;
  return static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const unsigned char*>(&h), sizeof h));
}

Header make_header(const Coo& tensor) {
  Header h{};
  std::copy(kMagic.begin(), kMagic.end(), h.magic);
  h.version = kVersion;
  h.dtype = dtype_code(tensor.dtype());
  h.order = static_cast<std::uint32_t>(tensor.order());
  h.nnz = tensor.nnz();
  std::copy(tensor.dims.begin(), tensor.dims.end(), h.dims);
  const std::string digest = content_sha256(tensor);
  for (std::size_t b = 0; b < sizeof h.sha256; ++b)
    h.sha256[b] = static_cast<unsigned char>(std::stoi(digest.substr(2 * b, 2), nullptr, 16));
  h.check = check_of(h);
  return h;
}

/// Calls f(data, bytes) for each array of the body in file order.
template <class Tensor, class F>
void for_arrays(Tensor& tensor, const F& f) {
  for (auto& mode : tensor.indices) f(mode.data(), mode.size() * sizeof(Index));
  tensor.values.visit([&f](auto& v) { f(v.data(), v.size() * sizeof v[0]); });
}

/// The same for the header and each array.
template <class F>
void for_parts(const Coo& tensor, const F& f) {
  const Header h = make_header(tensor);
  f(&h, sizeof h);
  for_arrays(tensor, f);
}

/// Throws unless the header is sound and the sizes agree: nothing is allocated on its word before.
Header check_header(std::string_view bytes, const std::string& name) {
  if (!is_cache(bytes)) refuse(name, "no cache", "the magic bytes of a binary cache");
  if (bytes.size() < sizeof(Header))
    refuse(name, fmt::format("{} bytes", bytes.size()), "a header of 128 bytes");
  Header h;
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.version != kVersion && h.version != kUnchecked)
    refuse(name, fmt::format("version {}", h.version), fmt::format("version {}", kVersion));
  if (h.check != (h.version == kUnchecked ? 0 : check_of(h)))
    refuse(name, "a damaged header", "the header that its checksum states");
  if (h.dtype > 1 || h.order < 1 || h.order > kMaxOrder)
    refuse(name, "a damaged header", "1 to 8 modes of f32 or f64 values");
  constexpr std::uint64_t longest = std::uint64_t{1} << 32;
  for (std::uint32_t m = 0; m < kMaxOrder; ++m)
    if (h.dims[m] > (m < h.order ? longest : 0))
      refuse(name, fmt::format("length {} of mode {}", h.dims[m], m + 1),
             "at most 2^32, and 0 beyond the order");
  const Uint128 per_nonzero = 4 * h.order + (h.dtype == 0 ? 4 : 8);
  if (per_nonzero * h.nnz + sizeof h != bytes.size())
    refuse(name, fmt::format("{} bytes", bytes.size()),
           fmt::format("the size of {} nonzeros: the cache is truncated or damaged", h.nnz));
  return h;
}

CacheFacts facts_in(const Header& h) {
  CacheFacts f{Dims(h.dims, h.dims + h.order), h.dtype == 0 ? DType::f32 : DType::f64, h.nnz, {}};
  for (const auto byte : h.sha256) f.sha256 += fmt::format("{:02x}", byte);
  return f;
}

}  // namespace

std::string content_sha256(const Coo& tensor) {
  Sha256 hash;
  const std::uint64_t type = dtype_code(tensor.dtype()), order = tensor.dims.size();
  hash.update(&type, sizeof type);
  hash.update(&order, sizeof order);
  hash.update(tensor.dims.data(), tensor.dims.size() * sizeof(std::uint64_t));
  for_arrays(tensor, [&hash](const void* data, std::size_t bytes) { hash.update(data, bytes); });
  return hash.hex();
}

bool is_cache(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

void write_cache(const std::string& path, const Coo& tensor) {
  AtomicFile file(path);
  for_parts(tensor, [&file](const void* data, std::size_t bytes) { file.write(data, bytes); });
  file.commit();
}

std::string to_cache(const Coo& tensor) {
  std::string all;
  for_parts(tensor, [&all](const void* data, std::size_t bytes) {
    all.append(static_cast<const char*>(data), bytes);
  });
  return all;
}

Coo parse_cache(std::string_view bytes, const std::string& name) {
  const CacheFacts stated = facts_in(check_header(bytes, name));
  Coo tensor(stated.dims, stated.dtype, stated.nnz);
  const char* from = bytes.data() + sizeof(Header);
  for_arrays(tensor, [&from](void* data, std::size_t size) {
    if (size > 0) std::memcpy(data, from, size);
    from += size;
  });
  const std::string digest = content_sha256(tensor);
  if (digest != stated.sha256)
    refuse(name, fmt::format("content with SHA-256 {}", digest), stated.sha256);
  check_named(tensor, name);
  return tensor;
}

Coo read_cache(const std::string& path) {
  return parse_cache(MappedFile(path).view(), path);
}

Coo read_cache_part(const std::string& path, Count k, Count parts) {
  const MappedFile file(path);
  const CacheFacts stated = facts_in(check_header(file.view(), path));
  const Count first = stated.nnz * k / parts, end = stated.nnz * (k + 1) / parts;
  Coo tensor(stated.dims, stated.dtype, end - first);
  const char* from = file.view().data() + sizeof(Header);
  const auto take = [&](auto& array) {
    const std::size_t each = sizeof array[0];
    if (end > first) std::memcpy(array.data(), from + first * each, (end - first) * each);
    from += stated.nnz * each;
  };
  for (auto& mode : tensor.indices) take(mode);
  tensor.values.visit(take);
  check_named(tensor, path);
  return tensor;
}

CacheFacts read_cache_facts(const std::string& path) {
  const MappedFile file(path);
  const Header header = check_header(file.view(), path);
  // Only the content can tell whether such a header is what was written.
  if (header.version == kUnchecked) parse_cache(file.view(), path);
  return facts_in(header);
}

MappedCache::MappedCache(const std::string& path)
    : path_(path),
      file_(path, Reading::in_order),
      facts_(facts_in(check_header(file_.view(), path))) {}

const Index* MappedCache::indices(std::size_t mode) const {
  const char* const body = file_.view().data() + sizeof(Header);
  return reinterpret_cast<const Index*>(body) + mode * facts_.nnz;
}

const std::byte* MappedCache::values() const {
  return reinterpret_cast<const std::byte*>(indices(facts_.dims.size()));
}

}  // namespace retensor
