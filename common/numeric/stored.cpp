#include "common/numeric/stored.hpp"

#include "common/core/message.hpp"

namespace retensor {

std::string_view name(ValueType type) {
  switch (type) {
    case ValueType::f16:
      return "f16";
    case ValueType::bf16:
      return "bf16";
    case ValueType::f32:
      return "f32";
  }
  return "";
}

ValueType value_type_from_name(std::string_view text) {
  for (const auto type : {ValueType::f16, ValueType::bf16, ValueType::f32})
    if (text == name(type)) return type;
  throw input_error("found values '{}', expected f16, bf16 or f32", text);
}

float rounded(float x, ValueType type) {
  switch (type) {
    case ValueType::f16:
      return round_fp16(x);
    case ValueType::bf16:
      return round_bf16(x);
    case ValueType::f32:
      break;
  }
  return x;
}

StoredValues::StoredValues(ValueType type, Count n)
    : type_(type), narrow_(type == ValueType::f32 ? 0 : n), wide_(type == ValueType::f32 ? n : 0) {}

float StoredValues::at(Count p) const {
  switch (type_) {
    case ValueType::f16:
      return from_fp16_bits(narrow_[p]);
    case ValueType::bf16:
      return from_bf16_bits(narrow_[p]);
    case ValueType::f32:
      break;
  }
  return wide_[p];
}

void StoredValues::set(Count p, float x) {
  switch (type_) {
    case ValueType::f16:
      narrow_[p] = to_fp16_bits(x);
      return;
    case ValueType::bf16:
      narrow_[p] = to_bf16_bits(x);
      return;
    case ValueType::f32:
      wide_[p] = x;
  }
}

Uint128 PackedIndices::at(Count p) const {
  Uint128 key = 0;
  for (int w = words_; w-- > 0;)
    key = key << 32 | data_[p * static_cast<Count>(words_) + static_cast<Count>(w)];
  return key;
}

void PackedIndices::set(Count p, Uint128 key) {
  for (int w = 0; w < words_; ++w, key >>= 32)
    data_[p * static_cast<Count>(words_) + static_cast<Count>(w)] = static_cast<std::uint32_t>(key);
}

}  // namespace retensor
