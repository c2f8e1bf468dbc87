// The folder through which an executable gets its problem and gives its result
// (plots/docs/how-to/foreign-code.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/io/files.hpp"
#include "common/method/problem.hpp"
#include "common/tensor/result.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {

/// Writes the raw values of a matrix, row after row. Throws SystemError.
void write_values(const std::filesystem::path& path, const Matrix& matrix);

class ProblemFolder {
 public:
  /// Writes problem.json and the tensor. Throws InputError where the format can't hold the tensor.
  ProblemFolder(const Case& c, const Problem& problem);

  std::string path() const { return scratch_.path().string(); }
  /// Writes a set of dense operands and returns the name of its folder, each time the other of two.
  std::string write_operands(const std::vector<Matrix>& dense);
  /// The raw values of a matrix, row after row, or a sparse result: the number of entries as
  /// uint64, then for each mode the indices of all entries as uint32, then their values. Throws
  /// InputError for a file of another size.
  void read_result(const std::string& name, Result& into) const;
  /// Removes a file where it is there.
  void remove(const std::string& name) const;

 private:
  ScratchFolder scratch_;
  int sets_ = 0;
};

}  // namespace retensor::driver
