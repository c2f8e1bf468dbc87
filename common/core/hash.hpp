// SHA-256 for case keys, data set checksums and method source hashes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // of OpenSSL

namespace retensor {

/// Incremental SHA-256 (OpenSSL).
class Sha256 {
 public:
  Sha256();
  void update(const void* data, std::size_t bytes);
  /// Lower-case hexadecimal digest, 64 characters; the object is spent afterwards.
  std::string hex();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::string sha256_hex(std::string_view bytes);
/// Digest of a file's content; throws SystemError when it can't be read.
std::string sha256_file(const std::string& path);

}  // namespace retensor
