#include "papers/bcb_sptc/methods/parts.hpp"

#include <algorithm>

namespace retensor::bcb_sptc {

std::shared_ptr<const Coo> part(const Coo& tensor, Count first, Count last) {
  auto some = std::make_shared<Coo>(tensor.dims, tensor.dtype(), last - first);
  for (std::size_t m = 0; m < tensor.dims.size(); ++m)
    std::copy_n(tensor.indices[m].begin() + static_cast<std::ptrdiff_t>(first), last - first,
                some->indices[m].begin());
  for (Count p = first; p < last; ++p) some->values.set(p - first, tensor.values.at(p));
  return some;
}

Problem with_operands(const Problem& problem, std::shared_ptr<const Coo> x,
                      std::shared_ptr<const Coo> y, double alpha) {
  ProblemSpec spec = problem.spec();
  spec.values = ValueModel::stored;  // they were drawn before
  spec.alpha = alpha;
  return {spec, std::move(x), std::move(y)};
}

}  // namespace retensor::bcb_sptc
