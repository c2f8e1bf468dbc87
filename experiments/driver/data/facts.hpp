// Facts of a tensor that are kept in the cache folder, and the size of what is multiplied with it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "common/advise/facts.hpp"
#include "common/method/problem.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::driver {

/// tensor_facts() from cache_dir, kept there under the tensor's checksum; `tensor` is asked for
/// only when they are not there or damaged. Facts that can't be kept (full disk) are returned all
/// the same.
nlohmann::json kept_facts(const std::string& cache_dir, const std::string& data_sha256,
                          const std::function<std::shared_ptr<const Coo>()>& tensor);

/// `facts` with the factors of a problem beside the last-level cache of the machine that runs it:
/// of the processor, or of the GPU its L2. `machine` is the machine object of a session; members
/// that it does not decide are left out.
nlohmann::json with_factors(nlohmann::json facts, const ProblemSpec& problem, const Dims& dims,
                            Backend backend, const nlohmann::json& machine);

}  // namespace retensor::driver
