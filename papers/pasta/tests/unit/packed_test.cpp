// Nonzeros packed for the bus, from memory and from a file.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "common/io/cache.hpp"
#include "common/io/files.hpp"
#include "common/method/registry.hpp"
#include "papers/pasta/format/packed.hpp"

using namespace retensor;
using namespace retensor::pasta;

namespace {

/// Packs a stretch with more room than it needs and compares every index and value.
template <class T>
void check_stretch(const Coo& x, const Nonzeros& from, Count first, Count count) {
  const PackedLayout layout(x.dims);
  const Count room = (count + 6) / 2 * 2;
  std::vector<std::byte> part(room * packed_bytes<T>(layout));
  pack<T>(from, layout, first, count, room, part.data());
  const auto* const words = reinterpret_cast<const std::uint32_t*>(part.data());
  for (Count k = 0; k < count; ++k) {
    for (int m = 0; m < x.order(); ++m)
      CHECK(layout.index(m, [&](unsigned w) { return words[w * room + k]; }) ==
            x.indices[static_cast<std::size_t>(m)][first + k]);
    T value;
    std::memcpy(&value, part.data() + layout.words * room * 4 + k * sizeof value, sizeof value);
    CHECK(value == static_cast<T>(x.values.at(first + k)));
  }
}

/// Nonzeros at both ends of every mode and between.
Coo corners(const Dims& dims, DType type) {
  Coo x(dims, type, 40);
  for (Count k = 0; k < x.nnz(); ++k) {
    for (std::size_t m = 0; m < dims.size(); ++m)
      x.indices[m][k] = static_cast<Index>((dims[m] - 1) * (k * (m + 3) % 8) / 7);
    x.values.set(k, 0.1 * static_cast<double>(k) - 1);
  }
  return x;
}

const std::vector<Dims> kShapes = {
    {300, 200, 100},
    {1, 1},
    {Count{1} << 32, 3, Count{1} << 32, 5},
    {1000000, 1000000, 1000000},
    {70000, 1, 70000, 2, 70000, 3, 70000, 9},
};

}  // namespace

TEST_CASE("what is packed has the indices and values of the tensor") {
  for (const auto& dims : kShapes)
    for (const auto type : {DType::f32, DType::f64}) {
      const Coo x = corners(dims, type);
      check_stretch<float>(x, Nonzeros(x), 0, 40);
      check_stretch<double>(x, Nonzeros(x), 7, 20);
    }
  const Coo long_one = uniform({300, 200, 100}, 100000, 1, DType::f64);
  check_stretch<float>(long_one, Nonzeros(long_one), 3, 99990);
}

TEST_CASE("a nonzero takes the words that its indices need") {
  CHECK(PackedLayout({1, 1}).words == 0);
  CHECK(packed_bytes<float>(PackedLayout({100000, 100000, 100000})) == 12);
  CHECK(packed_bytes<double>(PackedLayout({1 << 22, 1 << 22, 1 << 21})) == 20);
}

TEST_CASE("a file gives what the tensor in memory gives") {
  const ScratchFolder folder;
  const auto path = (folder.path() / "odd.tnsb").string();
  // Three modes of 39 indices: values in double precision begin at no multiple of 8.
  for (const auto type : {DType::f32, DType::f64}) {
    Coo x = corners({300, 200, 100}, type);
    for (auto& mode : x.indices) mode.pop_back();
    x.values.visit([](auto& v) { v.pop_back(); });
    write_cache(path, x);
    const Nonzeros mapped(std::make_shared<const MappedCache>(path));
    CHECK(mapped.nnz == 39);
    CHECK(mapped.dims == x.dims);
    check_stretch<double>(x, mapped, 0, 39);
  }
}

TEST_CASE("an index that its mode does not have is refused with its mode") {
  Coo x = corners({300, 200, 100}, DType::f32);
  x.indices[1][11] = 200;
  std::vector<std::byte> part(40 * packed_bytes<float>(PackedLayout(x.dims)));
  CHECK_THROWS_WITH_AS(pack<float>(Nonzeros(x), PackedLayout(x.dims), 0, 40, 40, part.data()),
                       "tensor: found index 201 of mode 2, expected at most 200", InputError);
}

TEST_CASE("a mode of length 1 behind whole words is declined in double precision") {
  static const Registry registry = all_methods();
  const Method& method = registry.find("pasta.cuda.streamed");
  const auto reason = [&](const Dims& dims, DType type) {
    ProblemSpec spec;
    spec.operation = Operation::mttkrp;
    spec.rank = 1, spec.dtype = type;
    const Problem problem(spec, std::make_shared<const Coo>(dims, type, 1));
    return method.solves(problem, method.params().resolve({})).reason;
  };
  const Count k16 = 1 << 16;
  CHECK(reason({k16, k16, 1}, DType::f64).find("mode 3 of length 1") != std::string::npos);
  CHECK(reason({k16, k16, 1, 1}, DType::f64).find("(32 bits)") != std::string::npos);
  CHECK(reason({1, 1, 1}, DType::f64).find("mode 1 of length 1") != std::string::npos);
  // Of values of one word each thread writes its own; other fields lie in the words of indices.
  CHECK(reason({k16, k16, 1}, DType::f32).empty());
  CHECK(reason({k16, k16, 2}, DType::f64).empty());
  CHECK(reason({k16, 1 << 15, 1}, DType::f64).empty());
  CHECK(reason({k16, k16 + 1, 1}, DType::f64).empty());
  CHECK(reason({k16, 1, k16}, DType::f64).empty());
  CHECK(reason({k16, k16, 1, 2}, DType::f64).empty());
}
