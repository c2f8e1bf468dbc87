// A nonzero as FLYCOO stores it, the tuple <alpha, beta, val> of section 3.5: remap ids, indices
// and value in 32-bit words. Read and written alike by host code and CUDA kernels.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/core/host_device.hpp"
#include "common/core/types.hpp"

namespace retensor::flycoo {

/// `width` bits (0 to 32) that begin `shift` (0 to 31) above the lowest bit of `word` and may reach
/// into the next word. Fields that were kept inside a word would need a third word for the indices
/// of Amazon (24 + 26 + 13 bits) and Music (25 + 25 + 8 bits), and packing would gain nothing.
struct Field {
  int word = 0, shift = 0, width = 0;
};

/// Where the parts of a record stand. Record p of a tensor begins with word p * words.
struct RecordLayout {
  int order = 0;
  int words = 0;     ///< of a record, padding included
  int id_words = 1;  ///< of a remap id: 1, or 2 (the lower word first) from 2^32 nonzeros on
  int id_word = -1;  ///< of mode 0's id, the others follow; -1 where ids are streams apart
  Field index[kMaxOrder];
  int value_word = 0;
  int value_words = 1;  ///< 1 single precision, 2 double (the lower word first)
};

/// Nonzeros in records.
struct RecordShape {
  Dims dims;
  DType dtype = DType::f32;
  RecordLayout layout;
  Count nnz = 0;

  int order() const { return layout.order; }
  int next_mode(int mode) const { return (mode + 1) % order(); }
  Count record_words() const { return static_cast<Count>(layout.words); }
};

/// A remap id at any place: in a record or in a stream.
RETENSOR_HOST_DEVICE inline Count read_id(const RecordLayout& layout, const std::uint32_t* at) {
  Count id = at[0];
  if (layout.id_words == 2) id |= Count{at[1]} << 32;
  return id;
}
RETENSOR_HOST_DEVICE inline void write_id(const RecordLayout& layout, std::uint32_t* at, Count id) {
  at[0] = static_cast<std::uint32_t>(id);
  if (layout.id_words == 2) at[1] = static_cast<std::uint32_t>(id >> 32);
}

/// b_mode of a record that holds its ids: the position of the nonzero in that mode's order.
RETENSOR_HOST_DEVICE inline Count remap_id(const RecordLayout& layout, const std::uint32_t* record,
                                           int mode) {
  return read_id(layout, record + layout.id_word + mode * layout.id_words);
}
RETENSOR_HOST_DEVICE inline void set_remap_id(const RecordLayout& layout, std::uint32_t* record,
                                              int mode, Count id) {
  write_id(layout, record + layout.id_word + mode * layout.id_words, id);
}

/// Where the record at position p of a mode's order goes for mode `next` (b_out of Algorithm 3):
/// read from the record, or from entry p of the mode's stream where ids lie apart.
RETENSOR_HOST_DEVICE inline Count next_position(const RecordLayout& layout,
                                                const std::uint32_t* record,
                                                const std::uint32_t* stream, Count p, int next) {
  return layout.id_word >= 0 ? remap_id(layout, record, next)
                             : read_id(layout, stream + p * static_cast<Count>(layout.id_words));
}

RETENSOR_HOST_DEVICE inline Index read_field(const std::uint32_t* record, Field f) {
  std::uint64_t bits = record[f.word];
  if (f.shift + f.width > 32) bits |= std::uint64_t{record[f.word + 1]} << 32;
  return static_cast<Index>(bits >> f.shift & ((std::uint64_t{1} << f.width) - 1));
}
/// c_mode: the index of the nonzero in a mode.
RETENSOR_HOST_DEVICE inline Index record_index(const RecordLayout& layout,
                                               const std::uint32_t* record, int mode) {
  return read_field(record, layout.index[mode]);
}
/// The record's bits of the field must be zero.
RETENSOR_HOST_DEVICE inline void set_record_index(const RecordLayout& layout, std::uint32_t* record,
                                                  int mode, Index index) {
  const Field f = layout.index[mode];
  const std::uint64_t bits = std::uint64_t{index} << f.shift;
  record[f.word] |= static_cast<std::uint32_t>(bits);
  if (f.shift + f.width > 32) record[f.word + 1] |= static_cast<std::uint32_t>(bits >> 32);
}

/// T is float where value_words is 1, double where it is 2.
template <class T>
RETENSOR_HOST_DEVICE inline T record_value(const RecordLayout& layout,
                                           const std::uint32_t* record) {
  std::uint32_t words[sizeof(T) / sizeof(std::uint32_t)];
  for (std::size_t w = 0; w < sizeof(T) / sizeof(std::uint32_t); ++w)
    words[w] = record[static_cast<std::size_t>(layout.value_word) + w];
  T value;
  memcpy(&value, words, sizeof value);
  return value;
}
template <class T>
void set_record_value(const RecordLayout& layout, std::uint32_t* record, T value) {
  std::memcpy(record + layout.value_word, &value, sizeof value);
}

}  // namespace retensor::flycoo
