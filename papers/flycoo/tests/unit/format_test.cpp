// The format: orders, layouts, round trips, memory, and planted errors that check() finds.
#include <doctest/doctest.h>
#include <omp.h>

#include <string>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/generate/generators.hpp"
#include "common/tensor/operations.hpp"
#include "papers/flycoo/format/counting_sort.hpp"
#include "papers/flycoo/format/flycoo.hpp"
#include "tests/support/complaint.hpp"
#include "tests/support/entries.hpp"

using namespace retensor;
using namespace retensor::flycoo;
using test::complaint;
using test::expect_complaint;

namespace {

// Fig. 2: four hyperedges, three vertices a mode, index 2 of mode 0 in two of them.
Coo example() {
  Coo x({3, 3, 3}, DType::f32, 4);
  x.indices = {{0, 2, 1, 2}, {0, 0, 1, 2}, {1, 0, 2, 2}};
  x.values = std::vector<float>{1, 2, 3, 4};
  return x;
}

std::vector<Options> all_options(std::uint32_t kappa) {
  std::vector<Options> list;
  for (const auto how : {Assignment::least_loaded, Assignment::contiguous})
    for (const auto arrangement : {Arrangement::arrival, Arrangement::row})
      for (const auto indices : {Indices::plain, Indices::packed})
        for (const auto ids : {Ids::record, Ids::stream})
          for (const int align : {4, 16, 32})
            for (const int id_bits : {32, 64})
              list.push_back({kappa, how, arrangement, indices, ids, align, id_bits, 1});
  return list;
}

}  // namespace

TEST_CASE("Fig. 2: partitions of 2 + 2 nonzeros in every mode, the hyperedges of i_2 first") {
  const Flycoo f = to_flycoo(example(), {.kappa = 2});
  f.check();
  for (const auto& mode : f.modes) CHECK(mode.start == std::vector<Count>{0, 2, 4});
  CHECK(f.to_coo().indices[0] == std::vector<Index>{2, 2, 0, 1});
  // Mode 1 takes index 0 first, then 1 and 2, each as mode 0's pass meets them.
  const auto id = [&](Count p, int mode) {
    return remap_id(f.layout, f.records.data() + p * static_cast<Count>(f.layout.words), mode);
  };
  const Count mode1[] = {0, 2, 1, 3}, mode2[] = {2, 0, 3, 1};
  for (Count p = 0; p < 4; ++p) {
    CHECK(id(p, 0) == p);
    CHECK(id(p, 1) == mode1[p]);
    CHECK(id(p, 2) == mode2[p]);
  }
}

TEST_CASE("round trips of orders 2 to 8 with every layout") {
  for (const Dims& dims :
       {Dims{50, 3}, Dims{40, 7, 90}, Dims{9, 1, 7, 600}, Dims{5, 4, 3, 6, 2},
        Dims{4, 5, 4, 5, 4, 5}, Dims{3, 3, 3, 3, 3, 3, 3}, Dims{2, 3, 2, 3, 2, 3, 2, 3}})
    for (const DType type : {DType::f32, DType::f64}) {
      const Coo x = uniform(dims, 60, 1, type);
      const auto entries = test::sorted_entries(x);
      for (const Options& options : all_options(4)) {
        const Flycoo f = to_flycoo(x, options);
        CHECK(complaint(f) == "none");
        CHECK(f.nnz == 60);
        CHECK(f.record_bytes() % static_cast<Count>(options.align) == 0);
        CHECK(test::sorted_entries(f.to_coo()) == entries);
      }
    }
}

TEST_CASE("fields that reach into a second word, up to the largest index") {
  const Count full = Count{1} << 32;
  Coo x({full, 1u << 25, full, 1, 3}, DType::f64, 3);
  const Index last = 0xffffffffu;
  x.indices = {{last, 0, 7}, {(1u << 25) - 1, 0, 5}, {last, 1, 0}, {0, 0, 0}, {2, 1, 0}};
  x.values = std::vector<double>{1.5, -2, 1e300};
  // Layout and words alone: partitions of such modes would take tables of 2^32 entries.
  RecordLayout layout;
  layout.order = 5;
  layout.index[0] = {0, 0, 32};
  layout.index[1] = {1, 0, 25};
  layout.index[2] = {1, 25, 32};
  layout.index[3] = {2, 25, 0};
  layout.index[4] = {2, 25, 2};
  layout.value_word = 3;
  layout.value_words = 2;
  layout.words = 5;
  for (Count p = 0; p < 3; ++p) {
    std::uint32_t record[5] = {};
    for (int m = 0; m < 5; ++m)
      set_record_index(layout, record, m, x.indices[static_cast<std::size_t>(m)][p]);
    set_record_value(layout, record, x.values.at(p));
    for (int m = 0; m < 5; ++m)
      CHECK(record_index(layout, record, m) == x.indices[static_cast<std::size_t>(m)][p]);
    CHECK(record_value<double>(layout, record) == x.values.at(p));
  }
}

TEST_CASE("words of a record") {
  const Coo x = uniform({40, 7, 90}, 60, 1, DType::f32);  // 6 + 3 + 7 bits
  const auto words = [&](const Coo& tensor, Options o) {
    return to_flycoo(tensor, o).layout.words;
  };
  CHECK(words(x, {}) == 3 + 3 + 1);
  CHECK(words(x, {.indices = Indices::packed}) == 3 + 1 + 1);
  CHECK(words(x, {.indices = Indices::packed, .ids = Ids::stream}) == 1 + 1);
  CHECK(words(x, {.align = 16}) == 8);
  CHECK(words(x, {.indices = Indices::packed, .align = 32}) == 8);
  CHECK(words(x, {.id_bits = 64}) == 6 + 3 + 1);
  CHECK(words(uniform({40, 7, 90}, 60, 1, DType::f64), {}) == 3 + 3 + 2);
}

TEST_CASE("bytes of one copy, of the second, of streams and partition starts") {
  const Coo x = uniform({40, 7, 90}, 60, 1, DType::f32);
  const Flycoo f = to_flycoo(x, {.kappa = 4});
  CHECK(f.bytes() == 60 * 28 + 3 * 5 * 8);
  CHECK(f.copy_bytes() == 60 * 28);
  const Flycoo s = to_flycoo(x, {.kappa = 4, .ids = Ids::stream});
  CHECK(s.bytes() == 60 * 16 + 3 * 60 * 4 + 3 * 5 * 8);
  CHECK(s.copy_bytes() == 60 * 16);
}

TEST_CASE("bits of a nonzero by section 3.5.1 for the tensors of Table 3") {
  struct Row {
    Dims dims;
    Count nnz;
    double bits;
  };
  const Row rows[] = {{{15200000, 43500000, 7800}, 233100000, 177.5},
                      {{532900, 17300000, 2500000, 1400}, 140100000, 215.0},
                      {{23300000, 23300000, 166}, 99500000, 168.0},
                      {{2900000, 2100000, 25500000}, 143600000, 180.4},
                      {{15500000, 6200000, 783900, 6100, 6100}, 474700000, 267.3},
                      {{165400, 11400, 2, 100, 89}, 26000000, 200.1}};
  for (const Row& r : rows) {
    CHECK(bits_per_nonzero(r.dims, r.nnz, DType::f32) == doctest::Approx(r.bits).epsilon(0.0004));
    const auto whole = static_cast<double>(whole_bits_per_nonzero(r.dims, r.nnz, DType::f32));
    CHECK(whole >= r.bits - 0.1);
    CHECK(whole < r.bits + 2.0 * static_cast<double>(r.dims.size()));
  }
  CHECK(whole_bits_per_nonzero({4, 8}, 16, DType::f64) == 2 * 4 + 2 + 3 + 64);
  CHECK(bits_per_nonzero({4, 8}, 0, DType::f32) == 37);
}

TEST_CASE("more partitions than indices, empty slices, empty tensor, duplicates") {
  for (const Options& options : all_options(50)) {
    Coo x = uniform({30, 3, 8}, 20, 1, DType::f32);
    CHECK(complaint(to_flycoo(x, options)) == "none");
    for (auto& indices : x.indices) indices.insert(indices.end(), 5, indices.front());
    x.values = std::vector<float>(25, 2);
    CHECK(complaint(to_flycoo(x, options)) == "none");
    const Flycoo none = to_flycoo(Coo({3, 4, 5}, DType::f32), options);
    CHECK(none.nnz == 0);
    none.check();
  }
}

TEST_CASE("arrangement row sorts by output index inside a partition, then by arrival") {
  const Coo x = uniform({70000, 9, 3000}, 4000, 1, DType::f32);  // two digits of 11 bits and more
  const Flycoo f = to_flycoo(x, {.kappa = 3, .arrangement = Arrangement::row});
  f.check();
  const Coo sorted = f.to_coo();
  for (std::uint32_t k = 0; k < 3; ++k)
    for (Count p = f.modes[0].start[k] + 1; p < f.modes[0].start[k + 1]; ++p)
      REQUIRE(sorted.indices[0][p - 1] <= sorted.indices[0][p]);
}

TEST_CASE("the result does not depend on the threads") {
  const Coo x = uniform({300, 200, 100}, 50000, 1, DType::f32);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Flycoo one = to_flycoo(x, {.kappa = 7});
  omp_set_num_threads(5);
  const Flycoo five = to_flycoo(x, {.kappa = 7});
  omp_set_num_threads(threads);
  CHECK(one.records == five.records);
}

TEST_CASE("elements are sorted by the lowest bits of their keys, equal ones as they came") {
  for (const int bits : {0, 1, 11, 12, 25, 32}) {
    CAPTURE(bits);
    const auto key = [bits](Count p) {
      return static_cast<std::uint32_t>(CounterRng(1).below(p, 10) * 0x19999999u) << bits / 2;
    };
    const auto low = [bits](std::uint32_t k) { return k & ((Count{1} << bits) - 1); };
    Sortable<Count> elements(30000);
    for (Count p = 0; p < 30000; ++p) elements.all()[p] = {key(p), p};
    elements.sort(bits);
    bool sorted = true, whole = elements.all()[0].key == key(elements.all()[0].value);
    for (std::size_t k = 1; k < 30000; ++k) {
      const auto &a = elements.all()[k - 1], &b = elements.all()[k];
      sorted =
          sorted && (low(a.key) < low(b.key) || (low(a.key) == low(b.key) && a.value < b.value));
      whole = whole && b.key == key(b.value);
    }
    CHECK(sorted);
    CHECK(whole);
  }
}

TEST_CASE("wrong input is refused") {
  const Coo x = example();
  CHECK_THROWS_WITH_AS(to_flycoo(Coo({3}, DType::f32), {}), doctest::Contains("order 2 to 8"),
                       InputError);
  CHECK_THROWS_WITH_AS(to_flycoo(x, {.kappa = 0}), doctest::Contains("at least 1"), InputError);
  CHECK_THROWS_WITH_AS(to_flycoo(x, {.align = 6}), doctest::Contains("multiple of 4"), InputError);
  CHECK_THROWS_WITH_AS(to_flycoo(x, {.id_bits = 16}), doctest::Contains("32 or 64"), InputError);
  CHECK_THROWS_WITH_AS(choice_of<Arrangement>("rows"), doctest::Contains("arrival or row"),
                       InputError);
  CHECK_THROWS_WITH_AS(choice_of<Indices>("pack"), doctest::Contains("plain or packed"),
                       InputError);
  CHECK_THROWS_WITH_AS(choice_of<Ids>("apart"), doctest::Contains("record or stream"), InputError);
}

TEST_CASE("check finds planted errors") {
  const Coo x = uniform({40, 7, 90}, 60, 1, DType::f32);
  const Flycoo good = to_flycoo(x, {.kappa = 4});
  const Flycoo apart = to_flycoo(x, {.kappa = 4, .ids = Ids::stream});
  const auto record = [](Flycoo& f, Count p) {
    return f.records.data() + p * static_cast<Count>(f.layout.words);
  };
  Flycoo f = good;

  SUBCASE("lengths") {
    f.modes.pop_back();
    expect_complaint(f, "2 partitionings");
    f = good;
    f.records.pop_back();
    expect_complaint(f, "words of records, expected");
    f = good;
    f.streams.emplace_back(60);
    expect_complaint(f, "found 1 streams");
    f = apart;
    f.streams[1].pop_back();
    expect_complaint(f, "a stream of 59 words");
    f = good;
    f.modes[1].part.pop_back();
    expect_complaint(f, "mode 1 assigns 6 indices");
  }
  SUBCASE("partition starts") {
    f.modes[2].start.back() = 61;
    expect_complaint(f, "partition starts of mode 2");
    f = good;
    f.modes[2].start[1] = f.modes[2].start[3];
    f.modes[2].start[2] = 0;
    expect_complaint(f, "partition starts of mode 2");
    f = good;
    f.modes[2].start.push_back(60);
    expect_complaint(f, "partition starts of mode 2");
  }
  SUBCASE("a partition that is not contiguous") {
    for (const int mode : {0, 1, 2}) {
      f = good;
      auto& part = f.modes[static_cast<std::size_t>(mode)].part;
      const Index row = record_index(f.layout, record(f, 11), mode);
      part[row] = (part[row] + 1) % 4;
      expect_complaint(f, "mode " + std::to_string(mode) + ", position");
      expect_complaint(f, "stands in");
    }
  }
  SUBCASE("an index beyond its mode") {
    record(f, 5)[f.layout.index[1].word] = 7;
    expect_complaint(f, "mode 2");
  }
  SUBCASE("remap ids") {
    set_remap_id(f.layout, record(f, 5), 0, 6);
    expect_complaint(f, "mode 0, position 5: remap id 6");
    f = good;
    set_remap_id(f.layout, record(f, 5), 1, 60);
    expect_complaint(f, "60 for the next mode, beyond");
    f = good;
    set_remap_id(f.layout, record(f, 5), 1, remap_id(f.layout, record(f, 4), 1));
    expect_complaint(f, "which is taken");
    f = apart;
    f.streams[1][8] = f.streams[1][9];
    expect_complaint(f, "which is taken");
  }
  SUBCASE("records that come back in another order") {
    // Two nonzeros of one partition of mode 0 change places on the way back.
    f = apart;
    Count a = 0, b = 0;
    for (Count p = 1; p < 60 && b == 0; ++p)
      for (Count q = 0; q < p && b == 0; ++q)
        if (f.streams[2][p] / 2 == f.streams[2][q] / 2) a = p, b = q;
    std::swap(f.streams[2][a], f.streams[2][b]);
    expect_complaint(f, "not as they were");
  }
  SUBCASE("rows of a partition out of order") {
    f = apart;
    f.options.arrangement = Arrangement::row;
    expect_complaint(f, "follows a higher one");
  }
}
