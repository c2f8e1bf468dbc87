#include "papers/pasta/format/packed.hpp"

#include <algorithm>
#include <cstring>

#include "common/core/message.hpp"
#include "common/core/rng.hpp"
#include "common/tensor/linear_index.hpp"

namespace retensor::pasta {
namespace {

/// One index array of a stretch, into the words that hold it. Returns the largest index.
Index pack_mode(const Index* index, Count count, const IndexField& field, Count room,
                std::uint32_t* words) {
  std::uint32_t* const low = words + field.word * room;
  const bool two = field.shift + field.width > 32;
  Index largest = 0;
  for (Count x = 0; x < count; ++x) {
    const std::uint64_t bits = std::uint64_t{index[x]} << field.shift;
    largest = std::max(largest, index[x]);
    low[x] |= static_cast<std::uint32_t>(bits);
    if (two) low[room + x] |= static_cast<std::uint32_t>(bits >> 32);
  }
  return largest;
}

/// Stored values, which a file need not align, in type T.
template <class T>
void pack_values(const std::byte* from, DType type, Count count, T* to) {
  dispatch(type, [&]<class Stored>() {
    for (Count x = 0; x < count; ++x) {
      Stored value;
      std::memcpy(&value, from + x * sizeof value, sizeof value);
      to[x] = static_cast<T>(value);
    }
  });
}

[[noreturn]] void refuse(const Nonzeros& x, std::size_t mode, Index found) {
  throw input_error("{}: found index {} of mode {}, expected at most {}",
                    x.file ? x.file->path() : "tensor", Count{found} + 1, mode + 1, x.dims[mode]);
}

}  // namespace

PackedLayout::PackedLayout(const Dims& dims) : order(static_cast<int>(dims.size())), mode{} {
  unsigned bits = 0;
  for (std::size_t m = 0; m < dims.size(); ++m) {
    const auto width = static_cast<unsigned>(bits_for(dims[m]));
    mode[m] = {bits / 32, bits % 32, width};
    bits += width;
  }
  words = (bits + 31) / 32;
}

Nonzeros::Nonzeros(const Coo& x) : dims(x.dims), nnz(x.nnz()), dtype(x.dtype()) {
  for (const auto& mode : x.indices) indices.push_back(mode.data());
  x.values.visit([this](const auto& v) { values = reinterpret_cast<const std::byte*>(v.data()); });
}

Nonzeros::Nonzeros(std::shared_ptr<const MappedCache> mapped)
    : dims(mapped->facts().dims),
      nnz(mapped->facts().nnz),
      values(mapped->values()),
      dtype(mapped->facts().dtype),
      file(std::move(mapped)) {
  for (std::size_t m = 0; m < dims.size(); ++m) indices.push_back(file->indices(m));
}

template <class T>
void pack(const Nonzeros& x, const PackedLayout& layout, Count first, Count count, Count room,
          std::byte* part) {
  constexpr Count kStretch = Count{1} << 14;  // its words stay in the cache from mode to mode
  auto* const words = reinterpret_cast<std::uint32_t*>(part);
  auto* const values = reinterpret_cast<T*>(part + layout.words * room * sizeof(std::uint32_t));
  const auto order = x.indices.size();
  std::vector<Index> largest(order, 0);
#pragma omp parallel for schedule(static)
  for (Count at = 0; at < count; at += kStretch) {
    const Count n = std::min(kStretch, count - at);
    for (unsigned w = 0; w < layout.words; ++w) std::fill_n(words + w * room + at, n, 0);
    for (std::size_t m = 0; m < order; ++m) {
      const Index most = pack_mode(x.indices[m] + first + at, n, layout.mode[m], room, words + at);
      if (most >= x.dims[m])
#pragma omp critical
        largest[m] = std::max(largest[m], most);
    }
    pack_values(x.values + (first + at) * size_of(x.dtype), x.dtype, n, values + at);
  }
  for (std::size_t m = 0; m < order; ++m)
    if (largest[m] > 0 || x.dims[m] == 0) refuse(x, m, largest[m]);
}

template void pack<float>(const Nonzeros&, const PackedLayout&, Count, Count, Count, std::byte*);
template void pack<double>(const Nonzeros&, const PackedLayout&, Count, Count, Count, std::byte*);

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

}  // namespace retensor::pasta
