// FWC's MTTKRP: a group of lanes (common/run/csf_run.cuh) takes one fiber. Its inner products
// with the columns of the leaves' factor add up in registers, are multiplied by the rows of the
// levels between, and go to the fiber's output row by one atomic row.
#pragma once

#include "common/run/csf_run.cuh"

namespace retensor::fwc {

/// kUppers levels between root and leaves are unrolled; 0 reads their number at run time.
template <class T, int kLanes, int kUppers>
__global__ void __launch_bounds__(csf::kThreads) fibers(csf::Tree<T> x) {
  const Count fiber = csf::group_of_grid<kLanes>();
  if (fiber >= x.fibers) return;
  const csf::Lane<T, kLanes> lane(x.stride);
  const Index row = __ldg(x.row + fiber);
  lane.reduce(csf::fiber_sum<T, kLanes, kUppers>(x, lane, fiber), x.out, row);
}

}  // namespace retensor::fwc
