// Tensors drawn from one sequential random stream, xoshiro256** (Blackman and Vigna 2018) with
// SplitMix64 as its seed. Other programs were measured on tensors of this stream, so every step
// keeps to its order: rounds of draws, sorting and dropping of repeats after each, removal of the
// surplus, then the values. Only the sorting uses several threads.
//
// The file is compiled without fused multiply-adds, which would move single draws.

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "common/generate/generators.hpp"
#include "common/generate/sampling.hpp"

namespace retensor {
namespace {

using sampling::Coordinate;

class Stream {
 public:
  explicit Stream(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += kGolden;
      word = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ULL;
      word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
      word ^= word >> 31;
    }
  }

  std::uint64_t bits() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  /// In [0, n), n > 0; the bias of the remainder is below n / 2^64.
  std::uint64_t below(std::uint64_t n) { return bits() % n; }
  /// In [0, 1), 53 bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  /// Standard normal by Box-Muller, the radius drawn first.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

 private:
  std::array<std::uint64_t, 4> state_{};
};

// Keeps `count` of the keys: in turn, a random one of those left goes.
template <class Key>
void remove_surplus(sampling::Keys<Key>& keys, Count count, Stream& stream) {
  for (Count left = keys.size(); left > count; --left)
    std::swap(keys[stream.below(left)], keys[left - 1]);
  keys.resize(count);
}

template <class Key, class Law>
Coo collect_keys(const Target& target, const LinearIndex& layout, Stream& stream, Law& law) {
  sampling::Keys<Key> keys;
  while (keys.size() < target.nnz) {
    const Count kept = keys.size(), draws = (target.nnz - kept) * 105 / 100 + 1000;
    keys.reserve(kept + draws);
    law(stream, draws, [&](const Coordinate& coordinate) {
      keys.push_back(layout.encode<Key>(std::span<const Index>(coordinate)));
    });
    sampling::merge_new(keys, kept);
    if (keys.size() < target.nnz && keys.size() - kept <= draws / 1024)
      throw input_error("{} draws gave {} new coordinates, {} are missing", draws,
                        keys.size() - kept, target.nnz - keys.size());
  }
  if (keys.size() > target.nnz) {
    remove_surplus(keys, target.nnz, stream);
    sampling::merge_new(keys, 0);
  }
  return sampling::unpack(target, layout, keys);
}

/// Calls law(stream, draws, emit) round after round until nnz distinct coordinates were emitted.
template <class Law>
Coo collect(const Target& target, Stream stream, Law law) {
  const LinearIndex layout = sampling::key_layout(target);
  Coo tensor = sampling::with_key(
      layout, [&]<class Key>() { return collect_keys<Key>(target, layout, stream, law); });
  tensor.values = Values(target.dtype, target.nnz);
  tensor.values.visit([&stream]<class T>(Array<T>& values) {
    // Quotients of exact numbers: those nearest to the decimal fractions of four digits.
    for (T& v : values)
      v = static_cast<T>(1 + std::floor(stream.uniform() * 9999)) / static_cast<T>(10000);
  });
  return tensor;
}

/// A law whose nonzeros are independent: draw(stream) gives the next coordinate.
template <class Draw>
Coo collect_each(const Target& target, const Stream& stream, Draw draw) {
  return collect(target, stream, [&draw](Stream& s, Count draws, auto emit) {
    for (; draws > 0; --draws) emit(draw(s));
  });
}

/// Ranks of a mode: the continuous density x^-exponent on [1, length + 1), inverted and cut.
class Ranks {
 public:
  Ranks(std::uint64_t length, double exponent) : length_(length), power_(1 - exponent) {
    const auto end = static_cast<double>(length + 1);
    area_ = logarithmic() ? std::log(end) : std::pow(end, power_) - 1;
  }
  std::uint64_t draw(Stream& stream) const {
    const double area = stream.uniform() * area_;
    const double x = logarithmic() ? std::exp(area) : std::pow(area + 1, 1 / power_);
    return std::min(static_cast<std::uint64_t>(x) - 1, length_ - 1);
  }

 private:
  bool logarithmic() const { return std::abs(power_) < 1e-9; }
  std::uint64_t length_;
  double power_, area_ = 0;
};

/// The index of a rank: a bijection of the numbers of `bits_for(length)` bits, repeated until it
/// falls inside the mode. Length 2 is too short for it: both ranks are at index 0.
std::uint64_t scatter(std::uint64_t rank, std::uint64_t length, std::uint64_t mode) {
  const int bits = std::max(1, bits_for(length)), half = bits / 2;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1, offset = mode * 7919 + 13;
  do {
    rank ^= rank >> (half + 1);
    rank = (rank * Stream::kGolden + offset) & mask;
    rank ^= rank >> half;
    rank = rank * 0xd6e8feb86659fd93ULL & mask;
  } while (rank >= length);
  return rank;
}

}  // namespace

Coo sampled_uniform(const Target& target) {
  return collect_each(target, Stream(target.seed), [&dims = target.dims](Stream& stream) {
    Coordinate at{};
    for (std::size_t m = 0; m < dims.size(); ++m) at[m] = static_cast<Index>(stream.below(dims[m]));
    return at;
  });
}

Coo sampled_zipf(const Target& target, double exponent) {
  if (!(exponent > 0 && std::isfinite(exponent)))
    throw input_error("the exponent of a power law is not positive and finite");
  std::vector<Ranks> ranks;
  for (const std::uint64_t length : target.dims) ranks.emplace_back(length, exponent);
  return collect_each(target, Stream(target.seed), [&](Stream& stream) {
    Coordinate at{};
    for (std::size_t m = 0; m < ranks.size(); ++m)
      at[m] = static_cast<Index>(scatter(ranks[m].draw(stream), target.dims[m], m));
    return at;
  });
}

Coo sampled_clusters(const Target& target, const SampledClusters& law) {
  if (law.centers == 0) throw input_error("a tensor of clusters needs at least one center");
  if (!(law.sigma >= 0 && law.sigma <= 1)) throw input_error("sigma is not inside [0, 1]");
  const std::size_t order = target.dims.size();
  Stream stream(target.seed);
  std::vector<double> centers(law.centers * order);
  for (double& x : centers) x = stream.uniform();
  return collect_each(target, stream, [&](Stream& s) {
    const double* center = centers.data() + s.below(law.centers) * order;
    Coordinate at{};
    for (std::size_t m = 0; m < order; ++m) {
      double place = center[m] + law.sigma * s.normal();
      place -= std::floor(place);  // may round up to 1
      const std::uint64_t length = target.dims[m];
      at[m] = static_cast<Index>(
          std::min(static_cast<std::uint64_t>(place * static_cast<double>(length)), length - 1));
    }
    return at;
  });
}

Coo sampled_blocks(const Target& target, const SampledBlocks& law) {
  const Dims& dims = target.dims;
  const auto shorter = [&law](std::uint64_t length) { return length < law.edge; };
  if (law.edge == 0 || std::all_of(dims.begin(), dims.end(), shorter))
    throw input_error("the edge of the blocks is 0 or longer than every mode");
  if (!(law.fill > 0 && law.fill <= 1)) throw input_error("the fill is not inside (0, 1]");
  const double mean = static_cast<double>(checked_volume(Dims(dims.size(), law.edge))) * law.fill;
  return collect(target, Stream(target.seed), [&](Stream& stream, Count draws, auto emit) {
    std::array<std::uint64_t, kMaxOrder> corner{};
    // False, and nothing more is drawn, from the first mode on that a block at the rim passes.
    const auto inside = [&](Coordinate& at) {
      for (std::size_t m = 0; m < dims.size(); ++m) {
        const std::uint64_t index = corner[m] + stream.below(law.edge);
        if (index >= dims[m]) return false;
        at[m] = static_cast<Index>(index);
      }
      return true;
    };
    while (draws > 0) {
      for (std::size_t m = 0; m < dims.size(); ++m)
        corner[m] = law.edge * stream.below((dims[m] + law.edge - 1) / law.edge);
      const double wanted = mean * (0.5 + stream.uniform());
      const Count block =
          std::max<Count>(1, static_cast<Count>(std::min(wanted, static_cast<double>(draws))));
      for (Count n = 0; n < block; ++n, --draws)
        if (Coordinate at{}; inside(at)) emit(at);
    }
  });
}

}  // namespace retensor
