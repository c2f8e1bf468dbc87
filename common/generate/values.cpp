// Values drawn element by element from counter-based random numbers, so that any number of threads
// gives the same array.
#include "common/generate/values.hpp"

#include <array>
#include <cmath>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/core/text.hpp"

namespace retensor {
namespace {

/// In the order of ValueModel.
constexpr std::array<std::string_view, 9> kNames = {"stored",        "uniform",   "signed_uniform",
                                                    "normal",        "lognormal", "ratings",
                                                    "near_overflow", "integers",  "ones"};

// Uniform in [0, 1) with as many bits as T holds: rounding a longer fraction could give 1.
template <class T>
T unit(const CounterRng& rng, Count i) {
  if constexpr (sizeof(T) == sizeof(float))
    return static_cast<T>(rng.bits(i) >> 40) * static_cast<T>(0x1.0p-24);
  else
    return static_cast<T>(rng.uniform(i));
}

// 240 to 255.875: the largest magnitude whose square stays finite in fp16, where the spacing is
// 1/8, so that rounding the operands to fp16 doesn't lift a product over 65504 either.
template <class T>
T near_overflow(const CounterRng& rng, Count i) {
  const T magnitude = T{240} + static_cast<T>(15.875) * unit<T>(rng, i);
  return (rng.bits(i) & 1) != 0 ? -magnitude : magnitude;
}

template <class T>
T nonzero_integer(const CounterRng& rng, Count i) {
  const int k = static_cast<int>(rng.below(i, 8)) - 4;
  return static_cast<T>(k < 0 ? k : k + 1);
}

template <class T, class F>
Values fill(Count n, F element) {
  Array<T> v(n);
#pragma omp parallel for schedule(static)
  for (Count i = 0; i < n; ++i) v[i] = element(i);
  return Values(std::move(v));
}

template <class T>
Values draw(ValueModel model, Count n, const CounterRng& rng) {
  switch (model) {
    case ValueModel::stored:
    case ValueModel::uniform:
      return fill<T>(n, [&rng](Count i) { return T{1} - unit<T>(rng, i); });
    case ValueModel::signed_uniform:
      return fill<T>(n, [&rng](Count i) { return T{2} * unit<T>(rng, i) - T{1}; });
    case ValueModel::normal:
      return fill<T>(n, [&rng](Count i) { return static_cast<T>(rng.normal(i)); });
    case ValueModel::lognormal:
      return fill<T>(n, [&rng](Count i) { return static_cast<T>(std::exp(rng.normal(i))); });
    case ValueModel::ratings:
      return fill<T>(n, [&rng](Count i) { return static_cast<T>(rng.below(i, 5) + 1); });
    case ValueModel::near_overflow:
      return fill<T>(n, [&rng](Count i) { return near_overflow<T>(rng, i); });
    case ValueModel::integers:
      return fill<T>(n, [&rng](Count i) { return nonzero_integer<T>(rng, i); });
    case ValueModel::ones:
      return fill<T>(n, [](Count) { return T{1}; });
  }
  throw LogicError("unknown value model");
}

}  // namespace

std::string_view name(ValueModel model) {
  return kNames.at(static_cast<std::size_t>(model));
}

ValueModel value_model_from_name(std::string_view text) {
  return static_cast<ValueModel>(place_among(kNames, text, "unknown value model"));
}

Values draw_values(ValueModel model, DType type, Count n, std::uint64_t seed,
                   std::uint64_t stream) {
  const CounterRng rng(seed, stream);
  return dispatch(type, [&]<class T>() { return draw<T>(model, n, rng); });
}

}  // namespace retensor
