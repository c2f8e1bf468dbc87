// Result files of any content: read by all who read them, and opened by the store that would go on
// with them, which may cut off a torn last line and nothing else.
#include <nlohmann/json.hpp>

#include "experiments/driver/judge/compare.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/store.hpp"
#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace {

using namespace retensor;

void read(const std::string& path) {
  for (const auto& row : driver::read_results({path}).rows) row.line().dump();
  const auto all = driver::newest_rows({path});
  driver::Side whole({}, ""), parts({}, "");
  for (const auto& row : all) whole.add(row);
  driver::for_each_newest_row({path}, {"phases.run", "clock_flag", "cpu_load"},
                              [&](const driver::Row& row) { parts.add(row); });
  fuzz::require(all.size() == parts.rows, "parts of rows are as many as the rows");
  for (const auto& m : driver::compare_sides(whole, parts, {}).pairs)
    fuzz::require(m.a->case_text == m.b->case_text && m.a->samples == m.b->samples &&
                      m.a->noise == m.b->noise,
                  "parts of rows tell the same");
}

void go_on(const std::string& bytes) {
  const fuzz::MemoryFile file(bytes);
  if (!fuzz::accepted([&] { driver::Store store(file.path()); }))
    return fuzz::require(file.content() == bytes, "what is refused stays as it is");
  const auto left = file.content();
  fuzz::require(bytes.starts_with(left) || left == bytes + "\n", "only a torn line is cut off");
  const driver::Store again(file.path());
  fuzz::require(again.repaired() == 0 && file.content() == left, "a repaired file is whole");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const fuzz::MemoryFile file(bytes);
  fuzz::accepted([&] { read(file.path()); });
  go_on(bytes);
  return 0;
}
