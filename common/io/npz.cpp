// Zip records as in PKWARE's APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16 and 4.5.3.
#include "common/io/npz.hpp"

#include <zlib.h>

#include <bit>
#include <span>

#include <fmt/format.h>

#include "common/core/message.hpp"

namespace retensor {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie");

/// Unsigned integers, little-endian.
template <class T>
std::string le(T number) {
  return std::string(reinterpret_cast<const char*>(&number), sizeof number);
}
constexpr auto u16 = le<std::uint16_t>;
constexpr auto u32 = le<std::uint32_t>;
constexpr auto u64 = le<std::uint64_t>;

constexpr std::uint16_t kZip64 = 45;           // version needed to extract
constexpr std::uint16_t kFirstOfJanuary = 33;  // 1980-01-01: the same arrays give the same bytes
constexpr std::uint32_t kIn64 = 0xffffffff;    // the number stands in the extra field

/// What local header and directory say alike, from the version on.
std::string description(std::uint32_t crc) {
  return u16(kZip64) + u16(0) + u16(0) + u16(0) + u16(kFirstOfJanuary) + u32(crc) + u32(kIn64) +
         u32(kIn64);
}

/// The .npy header, padded so that the data begins at a multiple of 64 bytes of the array's file.
std::string npy_header(const std::vector<std::uint64_t>& shape, DType type) {
  std::string axes;
  for (const auto length : shape) axes += fmt::format("{},", length);
  auto text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                          type == DType::f32 ? "<f4" : "<f8", axes);
  constexpr std::size_t kPreamble = 10, kAlignment = 64;
  const auto whole = kPreamble + text.size() + 1;
  text += std::string((kAlignment - whole % kAlignment) % kAlignment, ' ') + '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + u16(static_cast<std::uint16_t>(text.size())) + text;
}

std::span<const unsigned char> bytes_of(const Values& values) {
  return dispatch(values.dtype(), [&]<class T>() -> std::span<const unsigned char> {
    const auto elements = values.as<T>();
    return {reinterpret_cast<const unsigned char*>(elements.data()), elements.size_bytes()};
  });
}

}  // namespace

void NpzWriter::write(const std::string& bytes) {
  file_.write(bytes.data(), bytes.size());
  written_ += bytes.size();
}

void NpzWriter::add(const std::string& name, const std::vector<std::uint64_t>& shape,
                    const Values& values) {
  std::uint64_t elements = 1;
  for (const auto length : shape) elements *= length;
  if (elements != values.size())
    throw logic_error("array {}: found {} values, expected {}", name, values.size(), elements);
  const auto header = npy_header(shape, values.dtype());
  const auto data = bytes_of(values);
  auto crc = crc32_z(0, reinterpret_cast<const unsigned char*>(header.data()), header.size());
  crc = crc32_z(crc, data.data(), data.size());
  const Member member{name + ".npy", written_, header.size() + data.size(),
                      static_cast<std::uint32_t>(crc)};
  const auto sizes = u16(1) + u16(16) + u64(member.bytes) + u64(member.bytes);
  write(u32(0x04034b50) + description(member.crc) +
        u16(static_cast<std::uint16_t>(member.name.size())) +
        u16(static_cast<std::uint16_t>(sizes.size())) + member.name + sizes + header);
  file_.write(data.data(), data.size());
  written_ += data.size();
  members_.push_back(member);
}

void NpzWriter::add(const std::string& name, const std::vector<double>& vector) {
  add(name, {vector.size()}, Values(vector));
}

void NpzWriter::add(const std::string& name, const Matrix& matrix) {
  if (matrix.ld() != matrix.cols())
    throw logic_error("array {}: the rows of the matrix are padded", name);
  add(name, {matrix.rows(), matrix.cols()}, matrix.values());
}

void NpzWriter::commit() {
  const auto start = written_;
  for (const auto& m : members_) {
    const auto extra = u16(1) + u16(24) + u64(m.bytes) + u64(m.bytes) + u64(m.offset);
    write(u32(0x02014b50) + u16(kZip64) + description(m.crc) +
          u16(static_cast<std::uint16_t>(m.name.size())) +
          u16(static_cast<std::uint16_t>(extra.size())) + u16(0) + u16(0) + u16(0) + u32(0) +
          u32(kIn64) + m.name + extra);
  }
  const auto size = written_ - start, end = written_, count = std::uint64_t{members_.size()};
  write(u32(0x06064b50) + u64(44) + u16(kZip64) + u16(kZip64) + u32(0) + u32(0) + u64(count) +
        u64(count) + u64(size) + u64(start));
  write(u32(0x07064b50) + u32(0) + u64(end) + u32(1));
  write(u32(0x06054b50) + u16(0) + u16(0) + u16(0xffff) + u16(0xffff) + u32(kIn64) + u32(kIn64) +
        u16(0));
  file_.commit();
}

}  // namespace retensor
