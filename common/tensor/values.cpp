// Conversion between the value types.
#include "common/tensor/values.hpp"

namespace retensor {

Values Values::cast(DType type) const {
  return visit([type](const auto& from) {
    return dispatch(type, [&from]<class T>() {
      Array<T> to(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from[i]);
      return Values(std::move(to));
    });
  });
}

}  // namespace retensor
