#include "common/core/types.hpp"

#include "common/core/message.hpp"

namespace retensor {

std::string_view name(DType t) {
  return t == DType::f32 ? "f32" : "f64";
}

std::string_view name(Backend b) {
  return b == Backend::cpu ? "cpu" : "cuda";
}

DType dtype_from_name(std::string_view text) {
  if (text == "f32") return DType::f32;
  if (text == "f64") return DType::f64;
  throw input_error("unknown value type '{}', expected f32 or f64", text);
}

std::size_t size_of(DType t) {
  return t == DType::f32 ? 4 : 8;
}

std::uint64_t checked_volume(const Dims& dims) {
  std::uint64_t volume = 1;
  for (const auto d : dims)
    if (__builtin_mul_overflow(volume, d, &volume))
      throw input_error("the product of the mode lengths passes 2^64-1");
  return volume;
}

}  // namespace retensor
