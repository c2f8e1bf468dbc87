// SHA-256 for case keys, data set checksums and method source hashes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace retensor {

/// Incremental SHA-256 (OpenSSL).
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(const void* data, std::size_t bytes);
  /// Lower-case hexadecimal digest, 64 characters; the object is spent afterwards.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);
/// Digest of a file's content; throws SystemError when it can't be read.
std::string sha256_file(const std::string& path);

}  // namespace retensor
