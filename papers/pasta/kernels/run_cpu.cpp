// What the CPU runs share; see run_cpu.hpp.
#include "papers/pasta/kernels/run_cpu.hpp"

#include <algorithm>

#include "common/machine/machine.hpp"

namespace retensor::pasta {

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

}  // namespace retensor::pasta
