#include "common/core/hash.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <vector>

#include "common/core/message.hpp"

namespace retensor {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw system_error("SHA-256 is not available");
}

void Sha256::update(const void* data, std::size_t bytes) {
  if (EVP_DigestUpdate(context_.get(), data, bytes) != 1)
    throw system_error("SHA-256 update failed");
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  if (EVP_DigestFinal_ex(context_.get(), digest.data(), &length) != 1)
    throw system_error("SHA-256 failed");
  std::string text;
  for (unsigned int b = 0; b < length; ++b) text += fmt::format("{:02x}", digest[b]);
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.hex();
}

std::string sha256_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw system_error("{}: can't be read", path);
  Sha256 hash;
  std::vector<char> buffer(1 << 20);
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.update(buffer.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) throw system_error("{}: reading failed", path);
  return hash.hex();
}

}  // namespace retensor
