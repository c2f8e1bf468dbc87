// What happens to coordinates that stand in a file more than once.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/core/error.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/operations.hpp"

namespace retensor {

struct DuplicatePair {
  Count earlier = 0, later = 0;  ///< positions of two nonzeros with the same coordinate
};

/// The first nonzero, in storage order, whose coordinate stood before. A tensor in strictly
/// ascending natural order is recognised by one pass; any other by hashing the coordinates, in
/// memory of at most 0.4 times the tensor. Sorts only when the hashes leave a doubt.
std::optional<DuplicatePair> first_duplicate_pair(const Coo& tensor);

/// tensor.check(), with the name of the file in the message.
void check_named(const Coo& tensor, const std::string& file);

/// `error` throws ParseError at where(position) and keeps the order of the nonzeros; `sum` and
/// `last` merge and leave natural order. Throws InputError when a sum is not finite.
void resolve_duplicates(Coo& tensor, Duplicates policy,
                        const std::function<FilePosition(Count)>& where);

}  // namespace retensor
