// Parameters and support that the CPU methods share; see cpu_run.hpp.
#include "papers/pasta/cpu_run.hpp"

#include <algorithm>

#include "common/measure/machine.hpp"

namespace retensor::pasta {

ParamSchema cpu_params(const std::string& own_update, const std::string& help) {
  return {{"threads",
           std::int64_t{0},
           "OpenMP threads; 0 uses every core the process may use",
           0,
           1024,
           {}},
          {"update",
           std::string("atomic"),
           "MTTKRP: how rows reach the output (the paper: atomic); private: a copy per thread; "
           "owner: every row belongs to one thread; " +
               own_update + ": " + help,
           0,
           0,
           {"atomic", "private", "owner", own_update}}};
}

Store store_for(Count bytes) {
  return bytes > cpu_facts().llc_bytes ? Store::past_caches : Store::cached;
}

std::vector<Count> fair_cuts(std::span<const Count> start, int parts) {
  std::vector<Count> cuts;
  for (int part = 0; part <= parts; ++part) {
    const Count target = start.back() * static_cast<Count>(part) / static_cast<Count>(parts);
    const auto at = std::lower_bound(start.begin(), start.end(), target);
    cuts.push_back(static_cast<Count>(at - start.begin()));
  }
  cuts.front() = 0;
  cuts.back() = start.size() - 1;
  return cuts;
}

int thread_count(const Params& params) {
  const auto asked = static_cast<int>(params.integer("threads"));
  return asked > 0 ? asked : omp_get_max_threads();
}

Support supports_suite(const Problem& problem) {
  switch (problem.operation()) {
    case Operation::ttv:
      if (problem.x().order() == 1)
        return Support::no("TTV of a first-order tensor is a scalar, which coordinates can't hold");
      return Support::yes();
    case Operation::tew:
      if (problem.x().order() != problem.y().order())
        return Support::no("the tensors differ in order");
      return Support::yes();
    case Operation::ts:
    case Operation::ttm:
    case Operation::mttkrp:
      return Support::yes();
    default:
      return Support::no(std::string(name(problem.operation())) +
                         " is not among the suite's five kernels");
  }
}

}  // namespace retensor::pasta
