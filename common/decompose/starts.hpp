// First factors of CP-ALS. Signed ones end at better fits than the values in [0, 1) that a problem
// draws by default: their columns are nearly orthogonal, so that components begin apart.
#pragma once

#include <string_view>
#include <vector>

#include "common/tensor/coo.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor::cpd {

/// Law of the entries: -1 or 1, standard normal, uniform in [0, 1). With `spread` entries are -1 or
/// 1, and Als::spread follows.
enum class Start { spread, signs, normal, uniform };
/// Throws InputError for another name.
Start start_from_name(std::string_view name);

/// A factor of I_m x R for every mode; what is drawn depends on law, seed, mode and place alone.
std::vector<Matrix> first_factors(Start law, const Dims& dims, std::uint64_t rank, DType dtype,
                                  std::uint64_t seed);

}  // namespace retensor::cpd
