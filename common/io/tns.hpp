// Tensors as text. FROSTT: one nonzero a line, its indices counted from 1 and its value, separated
// by blanks. Lines that begin with '#' are comments. The order is that of the first data line, the
// mode lengths are the largest indices, unless the file opens with two lines that hold the order
// and the mode lengths (as ParTI's files do).
//
// GenTen and the Tensor Toolbox: the keyword `sptensor`, the number of modes, their lengths, the
// number of nonzeros, then one nonzero a line, its indices and its value. GenTen counts indices
// from zero unless `indices-start-at-one` follows the keyword.
#pragma once

#include <string>
#include <string_view>

#include "common/io/options.hpp"
#include "common/tensor/coo.hpp"

namespace retensor {

/// Throws ParseError with line and column of the first flaw; `name` stands for the file.
Coo parse_tns(std::string_view bytes, const std::string& name, const ReadOptions& options = {});

enum class TnsHeader { none, order_and_dims };

/// Writes the shortest decimals that read back exactly, under the name only when complete. Without
/// a header mode lengths beyond the largest index are lost. Throws SystemError, and InputError when
/// a mode is longer than text can index.
void write_tns(const std::string& path, const Coo& tensor,
               TnsHeader header = TnsHeader::order_and_dims);
/// What the text formats share: `head`, then a nonzero a line, its first index called `first`.
/// Throws as write_tns does.
void write_nonzeros(const std::string& path, const std::string& head, const Coo& tensor,
                    std::uint64_t first);
/// The text that write_tns writes.
std::string to_tns(const Coo& tensor, TnsHeader header = TnsHeader::order_and_dims);

/// Whether the first word is the keyword.
bool is_genten(std::string_view bytes);

/// Throws ParseError with line and column of the first flaw. The options' index base is not asked.
Coo parse_genten(std::string_view bytes, const std::string& name, const ReadOptions& options = {});

/// Writes with indices from zero; complete or not at all. Throws SystemError, and InputError when a
/// mode is longer than text can index.
void write_genten(const std::string& path, const Coo& tensor);

}  // namespace retensor
