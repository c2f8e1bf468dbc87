// bcb_sptc.cuda beside a dense einsum: equation (1) with beta and Z, choices of the path over
// blocks, sorted output, indices of more than 64 bits, refusals of what does not fit into memory.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"
#include "papers/bcb_sptc/tests/unit/addend_checks.hpp"

using namespace retensor;
using namespace retensor::bcb_sptc;
using namespace retensor::bcb_sptc::test;

namespace {

Runs on(const char* path, Given more = {}) {
  more["path"] = std::string(path);
  return {make_bcb_cuda, prepare_bcb_cuda, more};
}

constexpr const char* kPaths[] = {"blocks", "elements"};

}  // namespace

TEST_CASE("alpha X Y + beta Z meets a dense einsum, Z in any order and with duplicates") {
  for (const char* path : kPaths) check_sums(on(path), 3);
}

TEST_CASE("another beta, and an entry of Z that is left out, are differences") {
  for (const char* path : kPaths) check_planted_differences(on(path));
}

TEST_CASE("beta 0 does not read Z") {
  for (const char* path : kPaths) check_beta_zero(on(path));
}

TEST_CASE("the parameter beta makes an update whose sum is the contraction") {
  for (const char* path : kPaths) check_updates(on(path));
}

TEST_CASE("contractions of orders 1 to 5 meet a dense einsum") {
  for (const char* path : kPaths) check_products(on(path), 5);
}

TEST_CASE("tasks as they are found, indices as coordinates, products on CUDA cores") {
  const Given choices[] = {{{"tasks", std::string("unsorted")}},
                           {{"index", std::string("coordinates")}},
                           {{"cores", std::string("cuda")}}};
  Given all;
  for (const Given& choice : choices) {
    check_products(on("blocks", choice), 3);
    all.insert(choice.begin(), choice.end());
  }
  all["intersect"] = false;
  check_products(on("blocks", all), 5);
}

TEST_CASE("the same where many pairs meet in a result block") {
  const Case cases[] = {{"abk,kcd->abcd", full({3, 2, 100}), full({100, 2, 3})},
                        {"akl,klb->ab", full({3, 24, 17}), full({24, 17, 2})},
                        {"ak,kb->ab", full({9, 150}), full({150, 5})},
                        {"kab,klm->ablm", full({8, 30, 2}), full({8, 2, 20})}};
  for (const Case& c : cases) {
    const Answer expected = einsum_of(c, 1);
    for (const char* tasks : {"sorted", "unsorted"})
      for (const char* cores : {"tensor", "cuda"})
        for (const char* precision : {"fp16", "bf16", "tf32", "split_fp16"}) {
          INFO(c.einsum << " " << tasks << " " << cores << " " << precision);
          const auto runs = on("blocks", {{"tasks", std::string(tasks)},
                                          {"cores", std::string(cores)},
                                          {"precision", std::string(precision)}});
          const double eps = std::string_view(precision) == "bf16" ? 0x1p-8 : 0x1p-11;
          CHECK(difference(sum_of(c, 1, {}, runs), expected, eps) == "");
        }
  }
}

TEST_CASE("one small contraction with each choice of the path over blocks") {
  const Case c{"akl,klb->ab", full({9, 8, 9}), full({8, 9, 7})};
  for (const char* tasks : {"sorted", "unsorted"})
    for (const char* index : {"packed", "coordinates"})
      for (const char* cores : {"tensor", "cuda"}) {
        const auto runs = on("blocks", {{"tasks", std::string(tasks)},
                                        {"index", std::string(index)},
                                        {"cores", std::string(cores)},
                                        {"output", std::string("sorted")}});
        CHECK(difference(sum_of(c, 1, {}, runs), einsum_of(c, 1), 0x1p-11) == "");
      }
}

TEST_CASE("sorted output ascends by coordinate, with Z and without") {
  for (const char* path : kPaths) check_sorted_output(on(path));
}

TEST_CASE("lists and results beyond the memory are refused with their size") {
  for (const char* path : kPaths) check_refusals(on(path));
}

TEST_CASE("coordinates of more than 64 bits, of operands, result and sum") {
  const Dims dims = {4'000'000'000, 17, 4'000'000'000};
  const Index last = 3'999'999'999;
  const Case c{"abk,kcd->bcda",
               shared(cells(dims, {{0, 7, 7}, {7, 8, 8}, {8, 16, last}, {last, 0, last}}, 2)),
               shared(cells({dims[2], 4'000'000'000, 8},
                            {{7, 0, 0}, {8, last, 7}, {last, 7, 7}, {9, 1, 1}}, 3))};
  const Coo z = cells(result_dims(c), {{8, last, 7, 7}, {16, last, 7, last}, {0, 0, 0, 0}});
  for (const char* path : kPaths) {
    CHECK(difference(sum_of(c, 1, {}, on(path)), einsum_of(c, 1), 0x1p-11) == "");
    const Addend addend{2, z};
    const Coo sum = sum_of(c, 1, addend, on(path));
    CHECK(difference(sum, sum_of(c, 1, addend), 0x1p-11) == "");
    CHECK(sum.nnz() == 6);
  }
}
