// Tensors of the sequential stream: identity with the program whose files others were measured on,
// for every law.
#include <doctest/doctest.h>
#include <omp.h>

#include "common/core/error.hpp"
#include "common/generate/generators.hpp"
#include "common/io/cache.hpp"
#include "common/tensor/operations.hpp"

using namespace retensor;

namespace {

const Target kDense{{14, 13, 16}, 2000, 13};                    // a second round of draws is needed
const Target kWide{{533000, 1700000, 250000, 1400}, 2000, 16};  // keys of more than 64 bits
const Target kMatrix{{300, 2000}, 2000, 5};
const Target kTrips{{183, 24, 1140, 1717}, 2000, 14};
const Target kGrid{{480, 875, 749}, 2000, 15};  // blocks pass the rim of the last two modes

}  // namespace

TEST_CASE("content equals that of the original program's files") {
  CHECK(content_sha256(sampled_uniform(kDense)) ==
        "3fe3201da51cd2aefcaea7e1193430986dd1b61e99112a39b828f718e32474c6");
  CHECK(content_sha256(sampled_zipf(kWide, 0.7)) ==
        "a4bbec2ebeecd81b6e346776ddbcda8a0ec0921037e743c9dc705c015f8df013");
  CHECK(content_sha256(sampled_zipf(kMatrix, 1)) ==
        "4295e6d62cb1449555945d2d4bf15a8086206d056219ba25a10394b51859c41e");
  CHECK(content_sha256(sampled_clusters(kTrips, {40, 0.05})) ==
        "34e518366ec9747e1de3fdff61561f39d5ce646ec4fc9c33c441c37d6da78f1c");
  CHECK(content_sha256(sampled_blocks(kGrid, {16, 0.046})) ==
        "c09e764a835281aeca5aa2ed73de2fda44a648863d6a4aa5339024338fa3a023");
}

TEST_CASE("values are multiples of 1/10000 as a reader of their text would round them") {
  Target target = kGrid;
  const Coo single = sampled_uniform(target);
  target.dtype = DType::f64;
  const Coo twice = sampled_uniform(target);
  CHECK(single.indices == twice.indices);
  CHECK(is_sorted(single, natural_order(3)));
  for (Count x = 0; x < target.nnz; ++x) {
    const std::string text = std::to_string(twice.values.at(x));  // six digits
    CHECK(text.substr(6) == "00");
    CHECK(std::stod(text) == twice.values.at(x));
    CHECK(std::stof(text) == static_cast<float>(single.values.at(x)));
  }
}

TEST_CASE("the number of threads moves no coordinate") {
  const int before = omp_get_max_threads();
  const std::string many = content_sha256(sampled_zipf(kMatrix, 0.5));
  omp_set_num_threads(1);
  CHECK(content_sha256(sampled_zipf(kMatrix, 0.5)) == many);
  omp_set_num_threads(before);
}

TEST_CASE("laws that can't be met are refused") {
  const Target square{{10, 10}, 90};
  CHECK_THROWS_AS(sampled_uniform({{3, 4}, 13}), InputError);
  CHECK_THROWS_AS(sampled_uniform({{0, 4}, 1}), InputError);
  CHECK_THROWS_AS(sampled_zipf(square, 0), InputError);
  CHECK_THROWS_AS(sampled_zipf({{2, 5}, 6}, 1), InputError);  // length 2 holds one index
  CHECK_THROWS_AS(sampled_clusters(square, {0, 0.1}), InputError);
  CHECK_THROWS_AS(sampled_clusters(square, {1, -0.1}), InputError);
  CHECK_THROWS_AS(sampled_clusters(square, {3, 0}), InputError);  // three points
  CHECK_THROWS_AS(sampled_blocks(square, {0, 0.5}), InputError);
  CHECK_THROWS_AS(sampled_blocks(square, {11, 0.5}), InputError);
  CHECK_THROWS_AS(sampled_blocks(square, {2, 0}), InputError);
  CHECK_THROWS_AS(sampled_blocks({{}, 1}, {2, 0.5}), InputError);
}
