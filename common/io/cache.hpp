// The binary cache `.tnsb`: a tensor as it stands in memory, verified when it is read.
//
// Little endian, 128 bytes of header: magic (8 bytes), version, dtype (0 f32, 1 f64), order and
// CRC-32 of the header (32 bits each), nonzeros, 8 mode lengths (64 bits each, 0 beyond the order),
// SHA-256 of the content (32 bytes). Then the index array of each mode and the values. The magic
// holds a line feed and a carriage return, so that a copy in text mode is noticed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/core/types.hpp"
#include "common/io/files.hpp"
#include "common/tensor/coo.hpp"

namespace retensor {

/// Identity of a tensor: SHA-256 over value type, mode lengths, indices and values in their order,
/// 64 hexadecimal digits.
std::string content_sha256(const Coo& tensor);

bool is_cache(std::string_view bytes);

/// Throws SystemError when the file can't be written; it appears under its name only when complete.
void write_cache(const std::string& path, const Coo& tensor);
/// The bytes that write_cache writes.
std::string to_cache(const Coo& tensor);

/// Throws ParseError when the cache is truncated, corrupt or of another version.
Coo read_cache(const std::string& path);
Coo parse_cache(std::string_view bytes, const std::string& name);

/// The k-th of `parts` even shares of the nonzeros in their order, from the mapped file: no more
/// than that share is in memory. The content's checksum, which would need all of it, is not
/// compared. Throws ParseError as read_cache does.
Coo read_cache_part(const std::string& path, Count k, Count parts);

/// What the header states; the content is verified where the header has no checksum (version 1).
struct CacheFacts {
  Dims dims;
  DType dtype = DType::f32;
  Count nnz = 0;
  std::string sha256;
};
/// Throws ParseError when the header is damaged or the size of the file disagrees with it.
CacheFacts read_cache_facts(const std::string& path);

/// A tensor that stays in its file, which may be larger than memory: pages come as they are read in
/// order. The content's checksum is not compared.
class MappedCache {
 public:
  /// Throws ParseError as read_cache does.
  explicit MappedCache(const std::string& path);

  const std::string& path() const { return path_; }
  const CacheFacts& facts() const { return facts_; }
  /// The mode's index of every nonzero.
  const Index* indices(std::size_t mode) const;
  /// Of the stated type; values in double precision may begin at any multiple of 4 bytes.
  const std::byte* values() const;

 private:
  const std::string path_;
  const MappedFile file_;
  const CacheFacts facts_;
};

}  // namespace retensor
