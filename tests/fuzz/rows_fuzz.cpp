// Result files of any content: read by all who read them, and opened by the store that would go on
// with them, which may cut off a torn last line and nothing else.
#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>

#include "experiments/driver/judge/compare.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/store.hpp"
#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace {

using namespace retensor;

/// Whether lines of any kind stand in it; all readers look at files through this.
bool has_lines(const std::string& bytes) {
  return fuzz::accepted([&] {
    std::istringstream in(bytes);
    driver::for_each_line(in, "input", [](const nlohmann::json&) {});
  });
}

void read(const std::string& path) {
  for (const auto& row : driver::read_results({path}).rows) row.line().dump();
  const auto all = driver::newest_rows({path});
  driver::Side whole({}, ""), parts({}, "");
  for (const auto& row : all) whole.add(row);
  driver::for_each_newest_row({path}, {"phases.run", "clock_flag", "cpu_load"},
                              [&](const driver::Row& row) { parts.add(row); });
  fuzz::require(whole.rows == parts.rows, "parts of rows are as many as the rows");
  for (std::size_t row = 0; row < whole.rows; ++row) {
    const auto &a = whole.measured[row], &b = parts.measured[row];
    fuzz::require(a.case_text == b.case_text && a.samples == b.samples && a.noise == b.noise,
                  "parts of rows tell the same");
  }
  // Its intervals take a hundred times as long as the rest. As with options, the size decides.
  if (std::filesystem::file_size(path) % 64 == 0) driver::compare_sides(whole, parts, {});
}

void go_on(const fuzz::MemoryFile& file, const std::string& bytes) {
  if (!fuzz::accepted([&] { driver::Store store(file.path()); }))
    return fuzz::require(file.content() == bytes, "what is refused stays as it is");
  const auto left = file.content();
  fuzz::require(bytes.starts_with(left) || left == bytes + "\n", "only a torn line is cut off");
  const driver::Store again(file.path());
  fuzz::require(again.repaired() == 0 && file.content() == left, "a repaired file is whole");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  // Files without lines are refused in the same way by all readers: a sixteenth will do.
  const bool sound = has_lines(bytes);
  if (!sound && size % 16 != 0) return 0;
  file.hold(bytes);
  const bool taken = fuzz::accepted([&] { read(file.path()); });
  fuzz::require(sound || !taken, "readers refuse what has no lines");
  go_on(file, bytes);
  return 0;
}
