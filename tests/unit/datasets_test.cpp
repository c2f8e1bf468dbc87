#include "experiments/driver/data/datasets.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/io/cache.hpp"
#include "common/io/tns.hpp"
#include "experiments/driver/data/facts.hpp"
#include "experiments/driver/data/locations.hpp"
#include "tests/support/complaint.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;
using namespace retensor::driver;
using retensor::test::contains;
using retensor::test::refusal_of;
namespace fs = std::filesystem;

namespace {

std::string entry(const std::string& rest, const std::string& kind = "real") {
  return "schema: 1\ndatasets:\n  d: {kind: " + kind +
         ", form: tensor, dims: [2, 3], nnz: 2, source: s, licence: l" + rest + "}\n";
}

std::string refusal(const std::string& text, const std::string& path = "r.yaml") {
  return refusal_of([&] { DatasetRegistry::parse(text, path); }, "accepted");
}

/// A registry folder with a tensor of two nonzeros and a cache of its own.
struct Workspace {
  retensor::testing::TemporaryFolder folder;
  fs::path root = folder.path();
  std::string cache = (root / "cache").string();

  Workspace() { put("d.tns", "1 1 1\n2 3 -1.5\n"); }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  DatasetRegistry registry(const std::string& text) const {
    return DatasetRegistry::parse(text, (root / "registry.yaml").string(),
                                  (root / "recipes").string());
  }
};

}  // namespace

TEST_CASE("entries are refused at their line") {
  CHECK(contains(refusal(entry(", nonzeros: 1")), "r.yaml:3:"));
  CHECK(contains(refusal(entry("", "rael")), "unknown kind 'rael', expected 'real'"));
  CHECK(contains(refusal(entry("", "generated")), "generated data set without make"));
  CHECK(refusal(entry(", file: d.tns", "generated")) == "accepted");
  CHECK(contains(refusal(entry(", file: d.tns", "private")), "published facts only"));
  CHECK(contains(refusal(entry(", file: ../d.tns")), "below the registry's folder"));
  CHECK(contains(refusal(entry(", file: /etc/hostname")), "below the registry's folder"));
  const std::string no_name(300, 'n');  // longer than a file system takes
  CHECK(contains(refusal(entry(", file: " + no_name)), "below the registry's folder"));
  CHECK(contains(refusal(entry(", sha256: abc")), "64 lower-case"));
  CHECK(contains(refusal(entry(", make: {recipe: unifrm}")), "expected 'uniform'"));
  CHECK(contains(refusal(entry(", make: {recipe: ../x}")), "the name of a generator or recipe"));
  CHECK(contains(refusal(entry(", make: {recipe: uniform, sead: 1}")), "expected 'seed'"));
  CHECK(contains(refusal(entry(", stand_in: {for: x}")), "fitted_to"));
  CHECK(contains(refusal(entry(", make: {recipe: uniform}", "stand-in")), "both or neither"));
  const std::string sha = ", sha256: " + std::string(64, '0');
  const auto fetch = [&](const std::string& url, const std::string& rest) {
    return ", fetch: {url: \"" + url + "\"" + rest + "}";
  };
  const auto good = fetch("https://a.org/b.tns.gz?x=/..", sha + ", bytes: 9");
  CHECK(refusal(entry(good)) == "accepted");
  for (const char* url : {"http://a.org/b.tns", "https://a.org/", "https://a.org/..",
                          "https://u:p@a.org/b", "https://a.org/b c", "file:///etc/hostname"})
    CHECK(contains(refusal(entry(fetch(url, sha + ", bytes: 9"))), "https://host/"));
  CHECK(refusal(entry(fetch("https://a.org/b", ""))) == "accepted");
  CHECK(refusal(entry(fetch("https://a.org/b_{01..57}.tar.gz", ""))) == "accepted");
  CHECK(
      contains(refusal(entry(fetch("https://a.org/b_{01..57}.tar.gz", sha))), "of several files"));
  CHECK(contains(refusal(entry(fetch("https://a.org/b_{1..x}", ""))), "https://host/"));
  CHECK(contains(refusal(entry(", aliases: [d]")), "the alias 'd' a second time"));
  CHECK(contains(refusal(entry(fetch("https://a.org/b", sha + ", bytes: 0"))), "length of a file"));
  CHECK(contains(refusal(entry(good + ", file: d.tns")), "fetch beside a file"));
  CHECK(contains(refusal(entry(good, "private")), "published facts only"));
  CHECK(contains(refusal("schema: 3\ndatasets: {}\n"), "schema 3"));
  CHECK(contains(refusal("schema: 1\ndatasets:\n  a/b: {}\n"), "letters, digits, _ . -"));
  CHECK(refusal(entry(", file: d.tns")) == "accepted");
}

TEST_CASE("a registry includes files below its folder, each once, every name once") {
  const Workspace w;
  const auto set = [](const std::string& name, const std::string& rest) {
    return "datasets:\n  " + name +
           ": {kind: real, form: tensor, dims: [2, 3], nnz: 2, source: s, licence: l" + rest +
           "}\n";
  };
  const auto put = [&](const std::string& name, const std::string& text) {
    w.put(name, "schema: 1\n" + text);
  };
  const auto root = (w.root / "registry.yaml").string();
  const auto with = [](const std::string& includes) {
    return "schema: 1\ninclude: [" + includes + "]\ndatasets: {}\n";
  };
  put("sub/a.yaml", "include: [../b.yaml]\n" + set("a", ", file: ../d.tns"));
  put("b.yaml", set("b", ", file: d.tns"));
  const auto registry = w.registry(with("sub/a.yaml"));
  CHECK(registry.names() == std::vector<std::string>{"a", "b"});
  CHECK(registry.obtain(registry.find("a"), w.cache)->nnz() == 2);

  CHECK(contains(refusal(with("b.yaml, sub/a.yaml"), root), "sub/a.yaml:2:11: found '../b.yaml'"));
  put("b.yaml", "include: [registry.yaml]\n" + set("b", ""));
  CHECK(contains(refusal(with("b.yaml"), root), "b.yaml:2:11: found 'registry.yaml' a second"));
  put("b.yaml", set("a", ""));
  CHECK(contains(refusal(with("sub/a.yaml"), root), "b.yaml:3:3: found 'a' a second time"));
  CHECK(contains(refusal(with("../x.yaml"), root), "registry.yaml:2:11: found '../x.yaml'"));
  CHECK(contains(refusal(with("/etc/hostname"), root), "below the registry's folder"));
  CHECK(contains(refusal(with(std::string(300, 'n')), root), "below the registry's folder"));
  fs::create_symlink("/etc/hostname", w.root / "link.yaml");
  CHECK(contains(refusal(with("link.yaml"), root), "below the registry's folder"));
  CHECK(contains(refusal(with("none.yaml"), root), "registry.yaml:2"));
  put("b.yaml", set("b", ", file: ../d.tns"));
  CHECK(contains(refusal(with("b.yaml"), root), "b.yaml:3:"));
  put("b.yaml", set("b", ", shape: 1"));
  CHECK(contains(refusal(with("b.yaml"), root), "b.yaml:3:"));
}

TEST_CASE("a stand-in comes with three variants, each a data set that rows name") {
  const auto stand_in = [](const std::string& variants, const std::string& more = "") {
    return entry(
        ", make: {recipe: power_law, exponent: [1, 0.5]}, stand_in: {for: d, fitted_to: [P-C1], "
        "residual: {density: 0.1}, variants: {" +
            variants + "}" + more + "}",
        "stand-in");
  };
  const std::string good = "seed: {seed: 2}, skew: {exponent: 2}, clustering: {run: 2, group: 2}";
  const Workspace w;
  const auto registry = w.registry(stand_in(good));
  CHECK(registry.names() == std::vector<std::string>{"d", "d@clustering", "d@seed", "d@skew"});
  CHECK(registry.with_variants("d") ==
        std::vector<std::string>{"d", "d@seed", "d@skew", "d@clustering"});
  CHECK_THROWS_WITH_AS(registry.with_variants("d@seed"), doctest::Contains("not a stand-in"),
                       InputError);
  const auto& skew = registry.find("d@skew");
  CHECK(skew.recipe_params["exponent"].get<int>() == 2);
  CHECK(skew.recipe_params["nnz"].get<int>() == 2);
  CHECK(registry.obtain(skew, w.cache)->dims == Dims{2, 3});
  const auto data = data_object(skew, "", skew.dims, skew.nnz);
  CHECK(data.value("variant", "") == "skew");
  CHECK(data.value("for", "") == "d");
  CHECK(data.value("kind", "") == "stand-in");
  const auto known = w.registry(
      stand_in(good, "}, sha256: " + content_sha256(*registry.obtain(registry.find("d"), w.cache)) +
                         ", paper: {"));
  CHECK_NOTHROW(known.obtain(known.find("d"), w.cache));
  CHECK_NOTHROW(known.obtain(known.find("d@seed"), w.cache));
  CHECK_THROWS_WITH_AS(registry.find("d@skwe"), doctest::Contains("did you mean 'd@skew'?"),
                       InputError);

  CHECK(contains(refusal(stand_in("seed: {seed: 2}, skew: {exponent: 2}")), "clustering"));
  CHECK(contains(refusal(stand_in(good + ", size: {nnz: 1}")), "'size'"));
  CHECK(contains(refusal(stand_in("seed: {nnz: 1}, skew: {exponent: 2}, clustering: {run: 2}")),
                 "unknown key 'nnz'"));
  CHECK(contains(
      refusal(stand_in("seed: {seed: 1}, skew: {exponent: [1, 0.5]}, clustering: {run: 2}")),
      "without a change"));
  CHECK(contains(refusal(entry(", file: d.tns, stand_in: {for: d, fitted_to: x, residual: {}, "
                               "variants: {seed: {}, skew: {}, clustering: {}}}",
                               "stand-in")),
                 "without a generator"));
  auto other = stand_in(good);
  CHECK(contains(refusal(other.replace(other.find("for: d"), 6, "for: e")), "'e'"));
}

TEST_CASE("names: entries, matmul without an entry, paths, and the nearest of what is unknown") {
  const Workspace w;
  const auto registry = w.registry(entry(", file: d.tns"));
  CHECK(registry.find("d").nnz == 2);
  const auto& matmul = registry.find("matmul-2-3-4");
  CHECK(matmul.dims == Dims{6, 12, 8});
  CHECK(matmul.nnz == 24);
  CHECK(registry.obtain(matmul, w.cache)->nnz() == 24);
  const auto path = (w.root / "d.tns").string();
  CHECK(registry.find(path).dims.empty());
  CHECK(registry.with_facts(path).dims == Dims{2, 3});
  for (const char* wrong : {"e", "matmul-2-3", "matmul-0-1-1", "matmul-1-1-70000", "matmul-1-1-1x"})
    CHECK_THROWS_WITH_AS(registry.find(wrong), doctest::Contains("unknown data set"), InputError);
}

TEST_CASE("a file is checked against the registry, then cached; a damaged cache is made again") {
  const Workspace w;
  const auto registry = w.registry(entry(", file: d.tns"));
  const auto& d = registry.find("d");
  const auto first = registry.obtain(d, w.cache);
  CHECK(first->values.at(1) == -1.5);
  const auto cached = registry.cache_file(d, w.cache);
  CHECK(registry.checksum(d, w.cache) == content_sha256(*first));
  {
    std::fstream file(cached, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('x');
  }
  CHECK_THROWS_AS(read_cache(cached), InputError);
  CHECK(content_sha256(*registry.obtain(d, w.cache)) == content_sha256(*first));
  CHECK_NOTHROW(read_cache(cached));
}

TEST_CASE("links do not lead a file out of the registry's folder") {
  const Workspace w;
  const retensor::testing::TemporaryFolder elsewhere;
  const auto secret = elsewhere.write("d.tns", "1 1 1\n2 3 -1.5\n");
  fs::create_symlink(secret, w.root / "file.tns");
  fs::create_symlink(fs::path(secret).parent_path(), w.root / "folder");
  fs::create_symlink(w.root / "d.tns", w.root / "inside.tns");
  const auto path = (w.root / "registry.yaml").string();
  CHECK(contains(refusal(entry(", file: file.tns"), path), "below the registry's folder"));
  CHECK(contains(refusal(entry(", file: folder/d.tns"), path), "below the registry's folder"));
  CHECK(refusal(entry(", file: inside.tns"), path) == "accepted");
}

TEST_CASE("a tensor that is not what the registry states is refused") {
  const Workspace w;
  const auto refused = [&](const std::string& text) {
    const auto registry = w.registry(text);
    try {
      registry.obtain(registry.find("d"), w.cache);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const auto good = entry(", file: d.tns");
  CHECK(refused(good) == "accepted");
  auto wrong = good;
  CHECK(contains(refused(wrong.replace(wrong.find("nnz: 2"), 6, "nnz: 3")), "2 nonzeros"));
  wrong = good;
  CHECK(refused(wrong.replace(wrong.find("[2, 3]"), 6, "[2, 2]")) != "accepted");
  CHECK(contains(refused(entry(", file: d.tns, sha256: " + std::string(64, '0'))), "checksum"));
  CHECK(contains(refused(entry(", file: none.tns")), "no such file"));
  CHECK(contains(refused(entry("")), "no file and no recipe"));
  CHECK(contains(refused(entry("", "private")), "published facts only"));
}

TEST_CASE("a file that was carried into the cache folder stands in for the recipe") {
  const Workspace w;
  const auto registry = w.registry(entry(""));
  const auto& d = registry.find("d");
  CHECK(registry.obstacle(d, w.cache) != "");
  w.put("cache/d.tns", "1 1 4\n2 2 5\n");
  CHECK(registry.obstacle(d, w.cache) == "");
  CHECK(registry.obtain(d, w.cache)->dims == Dims{2, 3});
  fs::remove(w.root / "cache/d.tns");
  const auto tensor = parse_tns("2\n2 3\n1 1 4\n2 2 5\n", "text");
  write_cache((w.root / "cache/d.tnsb").string(), tensor);
  CHECK(registry.checksum(d, w.cache) == content_sha256(tensor));
}

TEST_CASE("recipes are programs with arguments, their failures are errors") {
  const Workspace w;
  w.put("recipes/made.py",
        "import sys\nout, n = sys.argv[2], sys.argv[3].split('=')[1]\nprint('talk')\n"
        "open(out, 'w').write('2\\n2 3\\n1 1 %s\\n2 2 7\\n' % n)\n");
  w.put("recipes/fails.py", "import sys\nsys.exit(2)\n");
  w.put("recipes/recipes.yaml", "schema: 1\nrecipes: {made: [first], fails: []}\n");
  const auto registry = w.registry(entry(", make: {recipe: made, first: \"4; exit\"}"));
  CHECK_THROWS_AS(registry.obtain(registry.find("d"), w.cache), InputError);  // no shell: no number
  const auto good = w.registry(entry(", make: {recipe: made, first: 4}"));
  CHECK(good.obtain(good.find("d"), w.cache)->values.at(0) == 4);
  const auto failing = w.registry(entry(", make: {recipe: fails}"));
  CHECK_THROWS_WITH_AS(failing.obtain(failing.find("d"), w.cache), doctest::Contains("exit code 2"),
                       InputError);
  const auto unknown = [&](const char* make) {
    return refusal_of([&] { w.registry(entry(make)); }, "accepted");
  };
  CHECK(contains(unknown(", make: {recipe: mad}"), "expected 'made'"));
  CHECK(contains(unknown(", make: {recipe: made, frist: 4}"), "expected 'first'"));
  CHECK(contains(unknown(", make: {recipe: made, out: d.tns}"), "unknown parameter of made 'out'"));
}

TEST_CASE("a recipe that needs an input gets the user's or the fetched one, and is kept") {
  const Workspace w;
  w.put("recipes/copy.py",
        "import shutil, sys\nassert sys.argv[1::2] == ['--out', '--input']\n"
        "shutil.copy(sys.argv[4], sys.argv[2])\n");
  w.put("recipes/recipes.yaml", "schema: 1\nrecipes: {copy: []}\n");
  w.put("mine.tns", "2\n2 3\n1 1 5\n2 2 7\n");
  w.put("other.tns", "2\n2 3\n1 1 5\n");
  const auto registry = w.registry(entry(", make: {recipe: copy, needs: input}"));
  auto d = registry.find("d");
  CHECK(
      contains(registry.obstacle(d, w.cache), "retensor dataset make d --input PATH (source: s)"));
  CHECK_THROWS_AS(registry.obtain(d, w.cache), InputError);
  d.input = (w.root / "none.tns").string();
  CHECK(contains(registry.obstacle(d, w.cache), "no such file"));
  d.input = (w.root / "mine.tns").string();
  CHECK(registry.obtain(d, w.cache)->values.at(1) == 7);
  CHECK(registry.obtain(registry.find("d"), w.cache)->values.at(0) == 5);
  CHECK(registry.obstacle(registry.find("d"), w.cache) == "");
  d.input = (w.root / "other.tns").string();
  CHECK_THROWS_WITH_AS(registry.obtain(d, w.cache), doctest::Contains("found 1 nonzero,"),
                       InputError);
  CHECK(registry.obtain(registry.find("d"), w.cache)->values.at(0) == 5);
  std::ofstream(registry.cache_file(d, w.cache)) << "damaged";
  CHECK_THROWS_WITH_AS(registry.obtain(registry.find("d"), w.cache), doctest::Contains("--input"),
                       InputError);

  const std::string text = "2\n2 3\n1 2 8\n2 2 9\n", sha = sha256_hex(text);
  const auto fetched = w.registry(entry(
      ", make: {recipe: copy, needs: input}, fetch: {url: \"https://a.org/f.tns\", sha256: " + sha +
      ", bytes: 18}"));
  const auto& f = fetched.find("d");
  CHECK(contains(fetched.obstacle(f, w.cache), "retensor dataset fetch d (18 bytes)"));
  const auto file = "cache/fetched/" + sha.substr(0, 12) + "-f.tns";
  CHECK(fetched.fetched(f, w.cache).at(0).path.ends_with(file));
  for (const std::string damaged : {"2\n2 3\n1 2 8\n2 2 8\n", "2\n2 3\n1 2 8\n"}) {
    w.put(file, damaged);
    CHECK_THROWS_WITH_AS(fetched.obtain(f, w.cache), doctest::Contains("fetch it again"),
                         InputError);
  }
  w.put(file, text);
  CHECK(fetched.obtain(f, w.cache)->values.at(1) == 9);
  CHECK(contains(refusal(entry(", make: {recipe: uniform, needs: input}")), "needs"));
}

TEST_CASE("records of checksums that several make at a time are all kept") {
  const Workspace w;
  w.put("f.tns", "1 1 1\n");
  const auto file = (w.root / "f.tns").string();
  const auto url = [](int maker, int k) { return fmt::format("https://a.org/{}-{}", maker, k); };
  constexpr int kMakers = 4, kEach = 8;
  {
    std::vector<std::jthread> makers;
    for (int maker = 0; maker < kMakers; ++maker)
      makers.emplace_back([&, maker] {
        Checksums known(w.root, "", w.cache);
        for (int k = 0; k < kEach; ++k) known.record(url(maker, k), file);
        known.forget({url(maker, 0)});
      });
  }
  const Checksums known(w.root, "", w.cache);
  for (int maker = 0; maker < kMakers; ++maker)
    for (int k = 0; k < kEach; ++k)
      CHECK(known.expected({}, url(maker, k)).size() == (k > 0 ? 1 : 0));
}

TEST_CASE("values of a file named by its path are read in the type that is asked for") {
  const Workspace w;
  w.put("p.tns", "2\n1 2\n1 1 0.1\n1 2 1e300\n");
  const auto path = (w.root / "p.tns").string();
  auto registry = w.registry(entry(", file: d.tns"));
  registry.read_paths_in(DType::f64);
  const auto tensor = registry.obtain(registry.with_facts(path), w.cache);
  CHECK(tensor->values.at(0) == 0.1);
  CHECK(tensor->values.at(1) == 1e300);
  CHECK(registry.obtain(registry.find("d"), w.cache)->dtype() == DType::f32);
}

TEST_CASE("every generator can be named") {
  const std::string size = R"("dims": [40, 40, 40], "nnz": 60)";
  const std::map<std::string, std::string> params = {
      {"uniform", size},
      {"matmul", R"("m": 2, "n": 3, "k": 4)"},
      {"kronecker", size + R"(, "skew": 0.6)"},
      {"power_law", size + R"(, "exponent": 0.8, "slice_modes": [2])"},
      {"tiled", size + R"(, "edge": 8, "tiles": 12, "spread": "equal")"},
      {"banded", size + R"(, "lower": 2, "upper": 2)"},
      {"block_diagonal", size + R"(, "blocks": 4)"},
      {"poisson_2d", R"("nx": 4, "ny": 5)"},
      {"low_rank", size + R"(, "rank": 2)"},
      {"sampled_uniform", size},
      {"sampled_zipf", size + R"(, "exponent": 0.8)"},
      {"sampled_clusters", size + R"(, "centers": 3, "sigma": 0.1)"},
      {"sampled_blocks", size + R"(, "edge": 4, "fill": 0.5)"}};
  for (const auto& generator : generators()) {
    const auto& name = generator.first;
    CAPTURE(name);
    const auto tensor = generate(name, nlohmann::json::parse("{" + params.at(name) + "}"));
    CHECK(tensor.nnz() > 0);
    CHECK_NOTHROW(tensor.check());
    CHECK_THROWS_AS(generate(name, nlohmann::json::object()), InputError);
  }
}

TEST_CASE("a fraction is no count") {
  const auto uniform = [](const std::string& nnz) {
    return generate("uniform", nlohmann::json::parse(R"({"dims": [4, 4], "nnz": )" + nnz + "}"));
  };
  CHECK(uniform("3.0").nnz() == 3);
  for (const std::string nnz : {"-0.875", "2.5", "1e300"})
    CHECK_THROWS_WITH_AS(uniform(nnz), doctest::Contains("as nnz, expected a whole number from 0"),
                         InputError);
  CHECK_THROWS_WITH_AS(
      generate("uniform", nlohmann::json::parse(R"({"dims": [4, -0.5], "nnz": 1})")),
      doctest::Contains("found -0.5 as dims"), InputError);
}

TEST_CASE("facts of a tensor counted by hand") {
  const auto tensor = parse_tns("1 1 1 1\n1 1 2 1\n1 2 1 1\n3 1 1 1\n", "text");
  const auto facts = mode_facts(tensor);
  CHECK(facts[0].fibers == 3);
  CHECK(facts[0].slices == 2);
  CHECK(facts[0].largest_slice == 3);
  CHECK(facts[2].per_fiber == doctest::Approx(4.0 / 3));
  CHECK(gini({1, 1, 1, 1}) == 0);
  CHECK(gini({0, 0, 0, 8}) == doctest::Approx(0.75));
  CHECK(gini({}) == 0);
  CHECK(gini({8}, 3) == doctest::Approx(0.75));
  CHECK(facts[0].slice_gini == doctest::Approx(gini({3, 0, 1})));
  Coo empty({2, 2}, DType::f32);
  CHECK(mode_facts(empty)[1].fibers == 0);
  CHECK(tile_count(empty, 8) == 0);
}

TEST_CASE("tiles of a tensor counted by hand") {
  // 1-based: (8,1,1) and (1,8,8) are the last of the first tile of edge 8, (9,1,1) the first of the
  // next; (17,16,1) leaves the first tile of edge 16.
  const auto tensor = parse_tns("8 1 1 1\n1 8 8 1\n9 1 1 1\n17 16 1 1\n", "text");
  CHECK(tile_count(tensor, 1) == 4);
  CHECK(tile_count(tensor, 8) == 3);
  CHECK(tile_count(tensor, 16) == 2);
  CHECK(tile_count(tensor, 32) == 1);
  const auto facts = tensor_facts(tensor);
  CHECK(facts["tile8"]["tiles"] == 3);
  CHECK(facts["tile8"]["per_tile"].get<double>() == doctest::Approx(4.0 / 3));
  CHECK(facts["tile16"]["per_tile"] == 2.0);
  CHECK(facts["fibers"].size() == 3);
  CHECK_THROWS_AS(tile_count(tensor, 12), LogicError);
}

TEST_CASE("coordinates of more than 128 bits are told apart in every mode") {
  const Dims dims(8, std::uint64_t{1} << 32);
  Coo tensor(dims, DType::f32, 9);
  for (std::size_t m = 0; m < 8; ++m) tensor.indices[m][m] = 0x80000000U;  // the ninth is 0
  CHECK(tile_count(tensor, 8) == 9);
  for (const auto& mode : mode_facts(tensor)) {
    CHECK(mode.fibers == 8);  // the ninth and the one that leaves it along this mode share one
    CHECK(mode.slices == 2);
    CHECK(mode.largest_slice == 8);
    CHECK(mode.slice_gini == doctest::Approx(1));
  }
}

TEST_CASE("of a tensor that may not be passed on the size tells, in any order of its modes") {
  const Workspace w;
  const auto kept = w.registry(entry("")), free = w.registry(entry(", pass_on: true"));
  CHECK(kept.restriction({2, 3}, 2) == "the size of d: for your own use only: l");
  CHECK(kept.restriction({3, 2}, 2) == "the size of d: for your own use only: l");
  CHECK(kept.restriction({3, 2}, 1).empty());
  CHECK(kept.restriction({3, 3}, 2).empty());
  CHECK(kept.restriction({2, 3, 1}, 2).empty());
  CHECK(free.restriction({2, 3}, 2).empty());
}

TEST_CASE("what lies in the tree may be passed on") {
  const auto registry = DatasetRegistry::load(default_registry());
  int files = 0;
  for (const auto& entry : registry.all()) {
    if (entry.second.file.empty()) continue;
    CAPTURE(entry.first);
    CHECK(entry.second.may_be_passed_on);
    ++files;
  }
  CHECK(files >= 5);
}
