// Figure blocks of specs: each mistake is refused with its place and the nearest valid name, before
// a case is made; what may stand there passes.
#include "experiments/driver/spec/plan.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <memory>
#include <utility>

#include "tests/support/complaint.hpp"
#include "tests/support/declared_method.hpp"
#include "tests/unit/temporary_folder.hpp"

using namespace retensor;
using namespace retensor::driver;
using retensor::test::contains;
using retensor::test::DeclaredMethod;
using retensor::test::refusal_of;

namespace {

Registry methods() {
  Registry registry;
  registry.add(std::make_unique<DeclaredMethod>(
      "a.cpu.x", ParamSchema{param("threads", 1, "h"), param("update", "atomic", "h"),
                             param("order", "row", "h"), param("remap", true, "h")}));
  registry.add(std::make_unique<DeclaredMethod>("b.cpu", ParamSchema{param("threads", 1, "h")}));
  return registry;
}

const std::string kSpec =
    "schema: 1\nartifact: p/a\ntitle: T\noperation: mttkrp\n"
    "axes: {dataset: [one, two], mode: all, rank: [8, 16]}\n"
    "methods: [{id: a.cpu.x, params: {update: [atomic, owner]}}, {id: b.cpu}]\n";

void check(const std::string& figure) {
  check_figure(parse_spec(kSpec + "figure: " + figure + "\n", "s.yaml"), methods());
}

using Refusal = std::pair<const char*, const char*>;  ///< a figure and what its error says

void refuses(const std::string& figure, const std::string& expected) {
  const auto message = refusal_of([&] { check(figure); });
  CAPTURE(figure);
  CAPTURE(message);
  CHECK(message.starts_with("s.yaml:7:"));
  CHECK(contains(message, expected));
}

}  // namespace

TEST_CASE("a key that figures of the kind do not look at is refused") {
  refuses("{kind: lines, x: rank, stack: stages}",
          "found stack in a figure of kind lines, expected it only in kind stacked-bars");
  refuses("{kind: grouped-bars, to: b.cpu}", "expected it only in kind speedups");
  refuses("{kind: lines, label: rank}", "expected it only in kind scatter or roofline");
  refuses("{stack: stages, kind: lines, x: rank}",
          "s.yaml:7:10: found stack in a figure of kind lines, expected it only in kind stacked");
  CHECK(contains(refusal_of([] {
                   check("{kind: lines}\nprofiles: {quick: {figure: {to: b.cpu, kind: table}}}");
                 }),
                 "s.yaml:8:29: found to in a figure of kind table"));
  // A profile's figure is laid over one of another kind.
  const auto spec = parse_spec(kSpec +
                                   "figure: {kind: speedups, to: b.cpu}\n"
                                   "profiles: {quick: {figure: {kind: lines}}}\n",
                               "s.yaml", "quick");
  CHECK_NOTHROW(check_figure(spec, methods()));
}

TEST_CASE("what an included file says of a figure may be for another kind") {
  const retensor::testing::TemporaryFolder folder;
  folder.write("look.yaml", "schema: 1\nfigure: {stack: stages, kind: lines, x: rank}\n");
  const auto path = folder.write("s.yaml", kSpec + "include: look.yaml\n");
  CHECK_NOTHROW(check_figure(load_spec(path), methods()));
}

TEST_CASE("what figures may say passes") {
  for (const auto* figure : {
           "{kind: grouped-bars}",
           "{kind: lines, hue: rank, names: {8: narrow}}",
           "{kind: lines, x: rank, y: time, hue: params.update, facet: null, yscale: log}",
           "{kind: lines, x: threads, y: executed.anything, hue: case.params.remap}",
           "{kind: scatter, x: facts.tile16.per_tile, y: gflops, label: data.kind}",
           "{kind: roofline, x: intensity, y: gflops, mark: operation}",
           "{kind: stacked-bars, stack: [phases.prepare, phases.stages.sort], share: true}",
           "{kind: speedups, to: b.cpu}",
           "{kind: speedups, of: b.cpu}",
           "{kind: speedups, to: b.cpu (original), originals: true}",
           "{kind: speedups, of: {method: a.cpu.x (original)}, originals: true}",
           "{kind: speedups, to: 'a.cpu.x, update=owner'}",
           "{kind: speedups, to: {method: a.cpu.x, params.update: owner, remap: true}}",
           "{kind: speedups, to: 8, hue: rank}",
           "{kind: performance-profile, y: footprint.format_bytes, facet: dtype}",
           "{kind: table, y: reason}",
           "{kind: claims, place: [Fig. 6, Fig. 7]}",
       })
    CHECK_NOTHROW(check(figure));
}

TEST_CASE("a misspelt word of a figure is refused with the nearest") {
  for (const auto& [figure, expected] : std::initializer_list<Refusal>{
           {"{kind: lnies}", "unknown kind 'lnies', expected 'lines'"},
           {"{kind: lines, facets: dataset}", "unknown key 'facets', expected 'facet'"},
           {"{kind: lines, y: gflosp}", "unknown field 'gflosp', expected 'gflops'"},
           {"{kind: lines, x: rnak}", "unknown field 'rnak', expected 'rank'"},
           {"{kind: lines, hue: params.updaet}", "expected 'params.update'"},
           {"{kind: lines, hue: updaet}", "expected 'update'"},
           {"{kind: lines, facet: fatcs.tile8.tiles}", "expected 'facts.tile8.tiles'"},
           {"{kind: stacked-bars, stack: [phases.preapre]}", "expected 'phases.prepare'"},
           {"{kind: lines, hue: update, names: {onwer: by rows}}", "expected 'owner'"},
           {"{kind: lines, yscale: logarithmic}", "expected one of linear, log"},
           {"{kind: speedups, to: a.cpu.z}", "expected 'a.cpu.x'"},
           {"{kind: speedups, to: a.cpu.z (original), originals: true}", "expected 'a.cpu.x'"},
           {"{kind: speedups, to: a.cpu.x (original)}", "unknown value of method"},
           {"{kind: speedups, to: {mehtod: b.cpu}}", "unknown field 'mehtod', expected 'method'"},
           {"{kind: speedups, to: {method: a.cpu.x, update: onwer}}", "expected 'owner'"},
           {"{kind: speedups, to: {method: a.cpu.x, update: private}}", "unknown value of update"},
       })
    refuses(figure, expected);
}

TEST_CASE("a field that says nothing in its place is refused") {
  for (const auto& [figure, expected] : std::initializer_list<Refusal>{
           {"{kind: lines, y: method}", "expected a field with numbers"},
           {"{kind: lines, hue: order}", "'case.order' or 'params.order'"},
           {"{kind: lines, hue: alpha}", "unknown field 'alpha'"},
           {"{kind: speedups}", "'to'"},
           {"{kind: speedups, to: b.cpu, of: a.cpu.x}", "of beside to"},
           {"{kind: speedups, to: b.cpu, x: rank}", "found 'rank' as x, expected dataset, or no x"},
           {"{kind: speedups, to: b.cpu, y: gflops}", "a time or a size"},
           {"{kind: performance-profile, y: rates.gbytes}", "a time or a size"},
           {"{kind: speedups, to: {method: b.cpu, rank: 8}}", "in which what is compared agrees"},
           {"{kind: claims}", "'place'"},
       })
    refuses(figure, expected);
}

TEST_CASE("a profile's figure is checked, and the one of a view against the spec that it draws") {
  const auto profile =
      kSpec + "figure: {kind: table}\nprofiles: {quick: {figure: {kind: tabel}}}\n";
  CHECK(contains(refusal_of([&] { parse_spec(profile, "s.yaml"); }), "expected 'table'"));
  const retensor::testing::TemporaryFolder folder;
  const auto view = [&](const std::string& figure) {
    const auto head = "schema: 1\nartifact: p/v\ntitle: V\nof: p/a\nfigure: ";
    check_figure(load_spec(folder.write("view.yaml", head + figure + "\n")), methods());
  };
  folder.write("a.yaml", kSpec);
  CHECK_NOTHROW(view("{kind: lines, x: rank, hue: update}"));
  CHECK(contains(refusal_of([&] { view("{kind: lines, hue: updaet}"); }), "expected 'update'"));
}
