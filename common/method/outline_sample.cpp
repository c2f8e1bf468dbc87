#include "common/method/outline_sample.hpp"

#include "common/core/rng.hpp"

namespace retensor {

std::shared_ptr<const Coo> outline_sample(const Coo& x, Count sample, Count nnz) {
  auto part = std::make_shared<Coo>(x.dims, x.dtype(), sample);
  for (std::size_t m = 0; m < x.dims.size(); ++m) {
    const CounterRng rng(1, m);
    auto& index = part->indices[m];
#pragma omp parallel for schedule(static)
    for (Count k = 0; k < sample; ++k)
      index[k] = x.nnz() > 0 ? x.indices[m][k]
                 : m > 0     ? static_cast<Index>(rng.below(k, x.dims[m]))
                             : static_cast<Index>(Uint128{k} * x.dims[0] / nnz);
  }
  return part;
}

}  // namespace retensor
