// Arrays for NumPy: the .npy format version 1.0 (NEP 1) within a zip archive, uncompressed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/io/files.hpp"
#include "common/tensor/matrix.hpp"
#include "common/tensor/values.hpp"

namespace retensor {

/// Writes what numpy.load reads. Every array has a member of the zip in the ZIP64 form, so that it
/// may pass 4 GiB. Failures throw SystemError.
class NpzWriter {
 public:
  explicit NpzWriter(const std::string& path) : file_(path) {}

  /// An array, its last axis fastest, of the type of the values. Throws LogicError where the shape
  /// has another number of elements.
  void add(const std::string& name, const std::vector<std::uint64_t>& shape, const Values& values);
  void add(const std::string& name, const std::vector<double>& vector);
  /// rows x cols.
  void add(const std::string& name, const Matrix& matrix);
  /// Ends the archive; the file appears under its name.
  void commit();

 private:
  struct Member {
    std::string name;
    std::uint64_t offset, bytes;
    std::uint32_t crc;
  };
  void write(const std::string& bytes);

  AtomicFile file_;
  std::uint64_t written_ = 0;
  std::vector<Member> members_;
};

}  // namespace retensor
