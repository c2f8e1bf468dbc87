// Selecting and gathering on all cores.
#pragma once

#include <omp.h>

#include <numeric>
#include <vector>

#include "common/core/types.hpp"
#include "common/tensor/values.hpp"

namespace retensor {

/// The positions below n that `takes` takes, ascending; it is called twice for each, by any thread.
template <class Takes>
std::vector<Count> positions_where(Count n, const Takes& takes) {
  const auto parts = static_cast<Count>(omp_get_max_threads());
  const auto bound = [&](Count part) { return n * part / parts; };
  std::vector<Count> before(parts + 1, 0);
#pragma omp parallel for schedule(static)
  for (Count part = 0; part < parts; ++part) {
    Count taken = 0;
    for (Count p = bound(part); p < bound(part + 1); ++p) taken += takes(p) ? 1U : 0U;
    before[part + 1] = taken;
  }
  std::partial_sum(before.begin(), before.end(), before.begin());
  std::vector<Count> positions(before.back());
#pragma omp parallel for schedule(static)
  for (Count part = 0; part < parts; ++part) {
    Count to = before[part];
    for (Count p = bound(part); p < bound(part + 1); ++p)
      if (takes(p)) positions[to++] = p;
  }
  return positions;
}

/// to[k] = from[position(k)] for all of `to`.
template <class From, class To, class Position>
void gather(const From& from, To& to, const Position& position) {
#pragma omp parallel for schedule(static)
  for (Count k = 0; k < to.size(); ++k) to[k] = from[position(k)];
}

/// The values at position(k) for k below n.
template <class Position>
Values values_at(const Values& from, Count n, const Position& position) {
  Values to(from.dtype(), n);
  to.visit([&]<class T>(Array<T>& v) { gather(from.as<T>(), v, position); });
  return to;
}

}  // namespace retensor
