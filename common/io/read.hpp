// The one entry for tensor files: FROSTT text, Matrix Market, GenTen's text, binary caches and the
// patterns `.smtx`, each plain or packed with gzip or zstd, also the one tensor of a tar archive.
// The content decides, but `.smtx`, which has no mark of its own, goes by its name.
#pragma once

#include <string>
#include <string_view>

#include "common/io/options.hpp"
#include "common/tensor/coo.hpp"

namespace retensor {

/// Throws ParseError with the place of what is wrong, InputError when there is no such file,
/// SystemError when it can't be read, OutOfMemory when it does not fit.
Coo read_tensor(const std::string& path, const ReadOptions& options = {});

/// The same for bytes in memory; `name` stands for the file in messages.
Coo parse_tensor(std::string_view bytes, const std::string& name, const ReadOptions& options = {});

}  // namespace retensor
