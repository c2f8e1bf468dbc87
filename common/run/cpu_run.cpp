// Threads of a run; see cpu_run.hpp.
#include "common/run/cpu_run.hpp"

#include <omp.h>

namespace retensor {

int thread_count(const Params& params) {
  const auto asked = static_cast<int>(params.integer("threads"));
  return asked > 0 ? asked : omp_get_max_threads();
}

}  // namespace retensor
