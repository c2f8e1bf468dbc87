// Tensors in the formats of other programs, written and read back.
#pragma once

#include <string>
#include <vector>

#include "common/io/options.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::driver {

/// A format that `dataset convert` writes.
struct ExchangeFormat {
  std::string name;
  std::vector<std::string> endings;  ///< files of these names have it where no format is asked for
  std::string indices;               ///< where they count from, and what the format leaves out
  void (*write)(const std::string& path, const Coo& tensor, const std::string& recipes);
  std::string of_three_modes = "";  ///< what follows `indices` for a tensor of order 3 alone

  std::string indices_of(int order) const { return indices + (order == 3 ? of_three_modes : ""); }
};
const std::vector<ExchangeFormat>& exchange_formats();

/// The format of that name, or, where that is empty, of the file's ending. Throws InputError naming
/// the nearest.
const ExchangeFormat& exchange_format(const std::string& name, const std::string& path);

/// Whether the values of a file that read_exchange() takes are digits of a text.
bool holds_text(const std::string& path);

/// Any tensor that can be read: what read_tensor() takes, .npz, HDF5, and a folder of Matrix Market
/// files, which are the slices of the last mode. `recipes` is the folder of exchange.py and
/// stack.py.
Coo read_exchange(const std::string& path, const std::string& recipes,
                  const ReadOptions& options = {});

/// Writes the tensor; it is there complete or not at all. Throws InputError when the format can't
/// hold it.
void write_exchange(const ExchangeFormat& format, const std::string& path, const Coo& tensor,
                    const std::string& recipes);

/// How a tensor that was read back differs from the one that was written, values aside with
/// `pattern`; empty: in nothing but the order of the nonzeros.
std::string difference(const Coo& written, const Coo& back, bool pattern);

}  // namespace retensor::driver
