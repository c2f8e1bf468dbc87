// Parallel loops over fixed chunks (private to reference/): the split, and with it the order of
// every sum, depends on the counts alone and not on the number of threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "common/core/types.hpp"

namespace retensor::reference {

/// Chunks for n items: one for each `grain` items, 1 to `most`.
inline Count chunk_count(Count n, Count grain, Count most = 64) {
  return std::clamp<Count>(n / grain, 1, most);
}

/// One thread where starting more costs more than the work, counted in operations.
inline int threads_for(double work) {
  return work < 1e5 ? 1 : omp_get_max_threads();
}

/// What f(part, cuts[k], cuts[k + 1]) makes of the parts between cuts, in their order. An exception
/// of any call is rethrown once all have ended.
template <class Part, class F>
std::vector<Part> between(const std::vector<Count>& cuts, int threads, const F& f) {
  std::vector<Part> parts(cuts.size() - 1);
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (Count c = 0; c < parts.size(); ++c) {
    try {
      f(parts[c], cuts[c], cuts[c + 1]);
    } catch (...) {
#pragma omp critical(retensor_reference_chunks)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return parts;
}

/// Where part k of `parts` nearly equal ones of 0 .. n begins.
inline Count part_start(Count n, Count parts, Count k) {
  return k * (n / parts) + std::min(k, n % parts);
}

/// The same of `chunks` nearly equal parts of 0 .. n.
template <class Part, class F>
std::vector<Part> in_chunks(Count n, Count chunks, int threads, const F& f) {
  std::vector<Count> cuts;
  for (Count c = 0; c <= chunks; ++c) cuts.push_back(part_start(n, chunks, c));
  return between<Part>(cuts, threads, f);
}

}  // namespace retensor::reference
