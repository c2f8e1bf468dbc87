#include "experiments/driver/spec/spec.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "common/core/hash.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"
#include "tests/support/complaint.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;
using namespace retensor::driver;
namespace fs = std::filesystem;

namespace {

const std::string kSpecHead = "schema: 1\nartifact: pasta/fig4\ntitle: T\noperation: mttkrp\n";
const std::string kTail = "axes: {dataset: a}\nmethods: [{id: m.cpu.x}]\n";

std::string spec_refusal(const std::string& text, const std::string& profile = "") {
  return test::refusal_of([&] { parse_spec(text, "s.yaml", profile); });
}

void refuses(const std::string& text, const std::string& expected) {
  const auto message = spec_refusal(text);
  CAPTURE(message);
  CHECK(message.find(expected) != std::string::npos);
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("a spec reads like a caption") {
  const auto spec = parse_spec(R"(schema: 1
artifact: pasta/fig4
title: Five kernels on this CPU against the roofline
operation: [tew, ts, ttv, ttm, mttkrp]
axes: {dataset: [wordnet, regS, irrS], mode: all, rank: 16, dtype: f32, values: uniform}
methods: [{id: pasta.cpu.coo}, {id: pasta.cpu.hicoo, params: {block: 128}}]
measure: {warmup: 2, samples: 5, timeout: 60s}
figure: {kind: grouped-bars, x: dataset, y: gflops, facet: operation, overlay: roofline}
)",
                               "s.yaml");
  CHECK(spec.artifact == "pasta/fig4");
  CHECK(spec.operations.size() == 5);
  CHECK(spec.axes.at("dataset").size() == 3);
  CHECK(spec.axes.at("rank").front().at.line == 5);
  CHECK(std::get<std::int64_t>(spec.methods.at(1).params.at("block").front().value) == 128);
  CHECK(spec.measure.timeout == std::chrono::seconds(60));
  CHECK(spec.measure.preparations == 1);
  CHECK(spec.figure.need("overlay").text == "roofline");
  CHECK(spec.sha256.size() == 64);
}

TEST_CASE("every section is read") {
  const auto spec = parse_spec(R"(schema: 1
artifact: pasta/fig4
title: T
operation: [mttkrp, tew, contraction]
variant: [add, "abk,kcd->abcd"]
axes: {dataset: [a, "7"], mode: [0, 1]}
zip:
  - {rank: [8, 16], seed: [1, 2]}
exclude:
  - {when: {dataset: a, params.threads: [1, 2]}, reason: too slow}
methods: [{id: m.cpu.x, params: {on: true, share: 0.5, word: abc}}]
measure: {warmup: 0, samples: 3, timeout: 500ms, memory: 8GiB, order: rotation, cache: flushed,
          launches: 2, preparations: 4, ceilings: true, counters: true, expected: [wrong, oom]}
)",
                               "s.yaml");
  CHECK(spec.variants.size() == 2);
  CHECK(std::get<std::string>(spec.axes.at("dataset")[1].value) == "7");
  CHECK(spec.zips.front().at("seed").size() == 2);
  CHECK(spec.exclusions.front().when.at("params.threads").size() == 2);
  CHECK(std::get<bool>(spec.methods.front().params.at("on").front().value));
  CHECK(std::get<double>(spec.methods.front().params.at("share").front().value) == 0.5);
  CHECK(spec.measure.timeout == std::chrono::milliseconds(500));
  CHECK(spec.measure.memory == Count{8} << 30);
  CHECK(spec.measure.timing.order == Order::rotation);
  CHECK(spec.measure.timing.cache == Cache::flushed);
  CHECK(spec.measure.launches == 2);
  CHECK(spec.measure.preparations == 4);
  CHECK(spec.measure.ceilings);
  CHECK(spec.measure.counters);
  CHECK(spec.measure.expected == std::vector<std::string>{"wrong", "oom"});
}

TEST_CASE("what no operation of the spec uses is refused") {
  const std::string methods = "methods: [{id: m}]\n";
  refuses(kSpecHead + "axes: {dataset: a, beta: 2}\n" + methods,
          "s.yaml:5:26: found a value of beta, which does nothing with mttkrp");
  refuses(kSpecHead + kTail + "zip: [{seed: [1, 2], scalar: [1, 2]}]\n", "a value of scalar,");
  refuses(kSpecHead + kTail + "variant: add\n",
          "s.yaml:7:10: found variant 'add', which does nothing with mttkrp");
  const std::string ttv = "schema: 1\nartifact: a/b\ntitle: T\noperation: ttv\n";
  refuses(ttv + "axes: {dataset: a, rank: [8, 16]}\n" + methods, "a value of rank,");
  refuses(ttv + kTail + "profiles: {quick: {axes: {rank: 8}}}\n", "a value of rank,");
  // An included file may serve specs of other operations.
  const retensor::testing::TemporaryFolder folder;
  folder.write("suite.yaml", "schema: 1\naxes: {dataset: a, rank: 8}\n");
  CHECK(load_spec(folder.write("s.yaml", ttv + "include: suite.yaml\n" + methods))
            .operations.size() == 1);
  // A profile may leave an operation out, and `all` modes may be none.
  CHECK(parse_spec(kSpecHead + "axes: {dataset: a, rank: 8}\n" + methods +
                       "profiles: {quick: {operation: ttv}}\n",
                   "s.yaml", "quick")
            .operations.size() == 1);
  CHECK(parse_spec("schema: 1\nartifact: a/b\ntitle: T\noperation: spmm\n"
                   "axes: {dataset: a, mode: all}\n" +
                       methods,
                   "s.yaml")
            .axes.contains("mode"));
}

TEST_CASE("mistakes are refused at their place with the nearest name") {
  refuses(kSpecHead + "axis: {}\n" + kTail,
          "s.yaml:5:1: found unknown key 'axis', expected 'axes'");
  refuses(kSpecHead + "axes: {dataset: a, ranks: 8}\nmethods: [{id: m}]\n",
          "s.yaml:5:20: found unknown key 'ranks', expected 'rank'");
  refuses(kSpecHead + kTail + "measure: {sample: 5}\n",
          "7:11: found unknown key 'sample', expected 'samples'");
  refuses(kSpecHead + kTail + "measure: {expected: [wrnog]}\n",
          "7:22: found unknown status 'wrnog', expected 'wrong'");
  refuses("schema: 1\nartifact: a/b\ntitle: T\noperation: mtkrp\n" + kTail,
          "s.yaml:4:12: found unknown operation 'mtkrp', expected 'mttkrp'");
  refuses(kSpecHead + "axes: {dataset: a, dtype: f33}\nmethods: [{id: m}]\n",
          "5:27: found unknown value type");
  refuses(kSpecHead + "axes: {dataset: a, values: unifrom}\nmethods: [{id: m}]\n",
          "expected 'uniform'");
  refuses(kSpecHead + "axes: {dataset: a, rank: 0}\nmethods: [{id: m}]\n",
          "5:26: found '0', expected rank: a whole number from 1 to");
  refuses(kSpecHead + "axes: {dataset: a, mode: 8}\nmethods: [{id: m}]\n", "0 to 7");
  refuses(kSpecHead + "axes: {dataset: a, mode: every}\nmethods: [{id: m}]\n", "mode (or all)");
  refuses(kSpecHead + kTail + "measure: {order: shufled}\n", "expected 'shuffled'");
  refuses(kSpecHead + kTail + "measure: {timeout: 60}\n", "found '60', expected a time");
  refuses(kSpecHead + kTail + "measure: {memory: 99999999999GiB}\n", "expected a size");
  refuses(kSpecHead + kTail + "measure: {samples: 0}\n",
          "expected samples: a whole number from 1 to");
  refuses(kSpecHead + kTail + "measure: {preparations: 0}\n",
          "found '0', expected preparations: a whole number from 1 to");
  refuses(kSpecHead + kTail + "measure: {preparations: many}\n",
          "found 'many', expected preparations");
  refuses(kSpecHead + kTail + "exclude: [{when: {dataset: a}}]\n", "no reason");
  refuses(kSpecHead + kTail + "exclude: [{when: {datase: a}, reason: r}]\n", "expected 'dataset'");
  refuses(kSpecHead + kTail + "zip: [{rank: [1, 2], seed: [1]}]\n", "found 1 value, expected 2");
  refuses(kSpecHead + kTail + "zip: [{dataset: [a]}]\n", "'dataset' a second time");
  refuses(kSpecHead + kTail + "variant: ad\n", "expected 'add'");
  refuses(kSpecHead + "axes: {rank: 8}\nmethods: [{id: m}]\n", "no dataset");
  refuses(kSpecHead + "axes: {dataset: []}\nmethods: [{id: m}]\n", "an empty list");
  refuses(kSpecHead + "axes: {dataset: a}\n", "s.yaml:1:1: found no methods");
  refuses("schema: 2\n" + kTail, "s.yaml:1:9: found schema 2, expected 1");
  refuses(kTail, "no schema");
  refuses("schema: 1\nartifact: ../x\ntitle: T\noperation: ts\n" + kTail, "<paper>/<artifact>");
}

TEST_CASE("a profile is an overlay; each one is checked whichever is chosen") {
  const auto text = kSpecHead + kTail +
                    "measure: {samples: 5}\nprofiles:\n  quick:\n  full: {axes: {rank: [8, 16]}, "
                    "measure: {samples: 20}}\n";
  const auto plain = parse_spec(text, "s.yaml");
  CHECK(plain.profiles == std::vector<std::string>{"quick", "full"});
  CHECK(plain.axes.count("rank") == 0);
  CHECK(parse_spec(text, "s.yaml", "quick").measure.timing.samples == 5);
  const auto full = parse_spec(text, "s.yaml", "full");
  CHECK(full.axes.at("rank").size() == 2);
  CHECK(full.axes.at("dataset").size() == 1);
  CHECK(full.measure.timing.samples == 20);
  CHECK(spec_refusal(text, "device") ==
        "s.yaml: found no profile 'device', expected quick or full");
  refuses(kSpecHead + kTail + "profiles: {fast: {}}\n", "unknown profile 'fast'");
  refuses(kSpecHead + kTail + "profiles: {full: {artifact: a/b}}\n", "unknown key 'artifact'");
  refuses(kSpecHead + kTail + "profiles: {full: {axes: {rank: -1}}}\n", "found '-1'");
}

TEST_CASE("includes are merged, the including file wins, and stay inside their tree") {
  const retensor::testing::TemporaryFolder folder;
  const fs::path root = folder.path();
  write(root / "experiments/shared/a.yaml",
        "schema: 1\naxes: {dataset: [a, b], rank: 8}\nmeasure: {samples: 9, warmup: 1}\n");
  write(root / "outside.yaml", "schema: 1\n");
  const auto spec = (root / "experiments/p/s.yaml").string();
  write(spec,
        kSpecHead + "include: [../shared/a.yaml]\naxes: {rank: 16}\nmethods: [{id: m.cpu.x}]\n");
  const auto read = load_spec(spec);
  CHECK(read.axes.at("dataset").size() == 2);
  CHECK(text(read.axes.at("rank").front().value) == "16");
  CHECK(read.measure.timing.samples == 9);
  CHECK(read.axes.at("dataset").front().at.file.ends_with("shared/a.yaml"));
  CHECK(!is_fragment(spec));
  CHECK(is_fragment((root / "experiments/shared/a.yaml").string()));

  for (const char* way_out : {"../../outside.yaml", "/etc/hostname", "link.yaml"}) {
    fs::remove(root / "experiments/p/link.yaml");
    fs::create_symlink(root / "outside.yaml", root / "experiments/p/link.yaml");
    write(spec, kSpecHead + "include: " + way_out + "\n" + kTail);
    CHECK_THROWS_WITH_AS(load_spec(spec), doctest::Contains("s.yaml:5:10: found"), ParseError);
  }
  write(spec, kSpecHead + "include: s.yaml\n" + kTail);
  CHECK_THROWS_WITH_AS(load_spec(spec), doctest::Contains("more includes"), ParseError);
  write(spec, kSpecHead + "include: none.yaml\n" + kTail);
  CHECK_THROWS_WITH_AS(
      load_spec(spec),
      doctest::Contains("s.yaml:5:10: found 'none.yaml', expected a file that is there: "),
      ParseError);
}

TEST_CASE("hostile YAML is refused quickly") {
  const auto begin = std::chrono::steady_clock::now();
  refuses("a: &x [1, 1]\nb: [*x, *x]\n", "an anchor or alias");
  refuses("a: 1\na: 2\n", "'a' a second time");
  refuses("a: !!python/object x\n", "found tag");
  refuses("[a]: 1\n", "a list or map as key");
  refuses("? {a: 1}\n: 2\n", "as key");
  refuses("", "nothing");
  refuses("- 1\n", "found a list, expected a spec as a map");
  refuses("a: 1\n---\nb: 2\n", "a second document");
  refuses("a: [1,\n", "found a syntax error");
  refuses(std::string("a: 1\nb: x\0y\n", 12), "2:5: found the control character 0x00");
  refuses("a: \x7f\n", "1:4: found the control character 0x7f");
  refuses("a: \xff\xfe\n", "UTF-8");
  refuses(std::string((1 << 20) + 1, ' '), "at most 1048576");
  refuses(std::string(1 << 20, '['), "");
  refuses(std::string(1 << 20, '{'), "");
  std::string wide = "a: [";
  for (int k = 0; k < 200'000; ++k) wide += "1,";
  refuses(wide + "]", "too many values");
  std::string deep;
  for (int k = 0; k < 500; ++k) deep += std::string(static_cast<std::size_t>(k), ' ') + "a:\n";
  refuses(deep, "deeper nesting");
  refuses("schema: 1\na" + std::string(900, 'b') + ": 1\n", "bbb...', expected");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("paths are judged by where they lead") {
  CHECK(lies_below("/a/b/c", "/a/b"));
  CHECK(lies_below("/a/b", "/a/b"));
  CHECK(!lies_below("/a/bc", "/a/b"));
  CHECK(!lies_below("/a/b/../c", "/a/b"));
}
