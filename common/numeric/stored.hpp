// Arrays that are narrower than what they stand for: values in half precision and linear indices in
// words.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/core/types.hpp"
#include "common/numeric/rounding.hpp"
#include "common/tensor/array.hpp"

namespace retensor {

/// How a value lies in memory.
enum class ValueType { f16, bf16, f32 };
std::string_view name(ValueType type);
/// Throws InputError for anything but f16, bf16 and f32.
ValueType value_type_from_name(std::string_view text);
inline Count bits_of(ValueType type) {
  return type == ValueType::f32 ? 32 : 16;
}
/// x as it comes back from memory.
float rounded(float x, ValueType type);

/// Values of one type.
class StoredValues {
 public:
  StoredValues() = default;
  StoredValues(ValueType type, Count n);
  ValueType type() const { return type_; }
  Count size() const { return type_ == ValueType::f32 ? wide_.size() : narrow_.size(); }
  Count bytes() const { return size() * bits_of(type_) / 8; }
  float at(Count p) const;
  void set(Count p, float x);  ///< rounds to nearest even
  /// The patterns of f16 and bf16, and the values of f32; the other is empty.
  const Array<std::uint16_t>& narrow() const { return narrow_; }
  const Array<float>& wide() const { return wide_; }

 private:
  ValueType type_ = ValueType::f16;
  Array<std::uint16_t> narrow_;
  Array<float> wide_;
};

/// The least of 1, 2 and 4 words of 32 bits that holds `bits` bits, at most 128.
inline int words_for(int bits) {
  return bits <= 32 ? 1 : bits <= 64 ? 2 : 4;
}

/// Linear indices of `bits` bits, each in words_for(bits) words.
class PackedIndices {
 public:
  PackedIndices() = default;
  PackedIndices(int bits, Count n)
      : words_(words_for(bits)), data_(n * static_cast<Count>(words_)) {}
  int words() const { return words_; }
  Count size() const { return words_ == 0 ? 0 : data_.size() / static_cast<Count>(words_); }
  Count bytes() const { return data_.size() * sizeof(std::uint32_t); }
  Uint128 at(Count p) const;
  void set(Count p, Uint128 key);
  /// Entry p begins with word p * words(), its lowest.
  const Array<std::uint32_t>& data() const { return data_; }

 private:
  int words_ = 0;
  Array<std::uint32_t> data_;
};

}  // namespace retensor
