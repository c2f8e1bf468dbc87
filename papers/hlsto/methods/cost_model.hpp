// The threshold from a cost model (section VI.B): the time of a dense tile goes with the number of
// tiles alone, that of sparse nonzeros with theirs, so a tile is dense from as many nonzeros on as
// cost what a tile does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/method/method.hpp"

namespace retensor::hlsto {

/// The value of the parameter `threshold` that asks for the model, and the largest.
inline constexpr std::int64_t kByModel = -1, kMostThreshold = 1 << 15;

/// Makes a method's run with these parameters.
using MakeRun = std::function<std::unique_ptr<Prepared>(const Params&)>;

/// `params` of `schema` with the model's threshold. Both costs are measured on the tensor at hand,
/// all of it sparse and all of it dense, as the least time of a few runs without zeroing; the
/// paper's threshold where a tensor has no nonzeros.
Params with_model_threshold(const ParamSchema& schema, const Params& params, const MakeRun& make,
                            StageTimer& timer);

}  // namespace retensor::hlsto
