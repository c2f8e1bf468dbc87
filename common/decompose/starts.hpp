// First factors of CP-ALS. Signed ones end at better fits than the values in [0, 1) that a problem
// draws by default: their columns are nearly orthogonal, so that components begin apart.
#pragma once

#include <string_view>
#include <vector>

#include "common/decompose/sweeps.hpp"
#include "common/tensor/coo.hpp"
#include "common/tensor/matrix.hpp"

namespace retensor::cpd {

/// Law of the entries: -1 or 1, standard normal, uniform in [0, 1), or the leading left singular
/// vectors of the unfoldings. With `spread` entries are -1 or 1, and Als::spread follows.
enum class Start { spread, signs, normal, uniform, nvecs };
/// Throws InputError for another name.
Start start_from_name(std::string_view name);
std::string_view name(Start law);

/// spread, or uniform for a non-negative model.
Start default_start(Constraint constraint);
/// Throws InputError where a constraint lets no model begin so: a non-negative one takes uniform,
/// normal and nvecs.
void check_start(Start law, Constraint constraint);

/// A factor of I_m x R and of the tensor's type for every mode; what is drawn depends on law, seed,
/// mode and place alone. Singular vectors depend on the tensor; where a mode has fewer than R
/// indices, signs of the seed follow them. Under a non-negative constraint the magnitudes.
std::vector<Matrix> first_factors(Start law, const Coo& x, std::uint64_t rank, std::uint64_t seed,
                                  Constraint constraint = Constraint::none);

}  // namespace retensor::cpd
