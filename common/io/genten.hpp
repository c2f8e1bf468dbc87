// Sparse tensors as text of GenTen and the Tensor Toolbox: the keyword `sptensor`, the number of
// modes, their lengths, the number of nonzeros, then one nonzero a line, its indices and its value.
// GenTen counts indices from zero unless `indices-start-at-one` follows the keyword.
#pragma once

#include <string>
#include <string_view>

#include "common/io/options.hpp"
#include "common/tensor/coo.hpp"

namespace retensor {

/// Whether the first word is the keyword.
bool is_genten(std::string_view bytes);

/// Throws ParseError with line and column of the first flaw. The options' index base is not asked.
Coo parse_genten(std::string_view bytes, const std::string& name, const ReadOptions& options = {});

/// Writes with indices from zero; complete or not at all. Throws SystemError, and InputError when a
/// mode is longer than text can index.
void write_genten(const std::string& path, const Coo& tensor);

}  // namespace retensor
