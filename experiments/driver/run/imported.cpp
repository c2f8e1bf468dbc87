// A cell is text without quotes: names, numbers, nothing with a comma in it.
#include "experiments/driver/run/imported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <charconv>
#include <fstream>
#include <map>

#include "common/core/error.hpp"
#include "common/core/hash.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/session.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

using Cells = std::vector<std::string>;

const Cells kRequired = {"artifact", "method", "operation", "dataset", "milliseconds"};
const Cells kOptional = {"mode", "rank", "dtype"};

Cells split(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  Cells cells;
  boost::split(cells, line, boost::is_any_of(","));
  for (auto& cell : cells) boost::trim(cell);
  return cells;
}

/// One line of the table by the names of its columns.
class Line {
 public:
  Line(const Cells& header, const Cells& cells, FilePosition at) : at_(std::move(at)) {
    if (cells.size() != header.size())
      throw ParseError(at_, fmt::format("{} cells", cells.size()),
                       fmt::format("{}, as the header has", header.size()));
    for (std::size_t k = 0; k < header.size(); ++k) cells_[header[k]] = cells[k];
  }

  /// Empty where the table has no such column.
  std::string text(const std::string& column) const {
    const auto found = cells_.find(column);
    return found == cells_.end() ? "" : found->second;
  }

  double number(const std::string& column) const {
    const auto cell = text(column);
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !(value > 0))
      throw ParseError(at_, fmt::format("{} '{}'", column, cell), "a positive number");
    return value;
  }

  std::uint64_t whole(const std::string& column, std::uint64_t otherwise) const {
    const auto cell = text(column);
    if (cell.empty()) return otherwise;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size())
      throw ParseError(at_, fmt::format("{} '{}'", column, cell), "a whole number");
    return value;
  }

  /// What `read` makes of a cell; its errors get the line.
  template <class Read>
  auto named(const std::string& column, Read read) const {
    try {
      return read(text(column));
    } catch (const InputError& e) {
      throw ParseError(at_, fmt::format("{} '{}'", column, text(column)), e.what());
    }
  }

  const FilePosition& at() const { return at_; }

 private:
  std::map<std::string, std::string> cells_;
  FilePosition at_;
};

Cells checked_header(const Cells& header, const FilePosition& at) {
  Cells known = kRequired;
  known.insert(known.end(), kOptional.begin(), kOptional.end());
  for (const auto& name : header)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw ParseError(
          at, fmt::format("column '{}'", name),
          fmt::format("one of {}{}", boost::join(known, ", "), suggestion(name, known)));
  for (const auto& name : kRequired)
    if (std::count(header.begin(), header.end(), name) != 1)
      throw ParseError(at, fmt::format("a header '{}'", boost::join(header, ",")),
                       fmt::format("the column {} once", name));
  return header;
}

Case case_of(const Line& line) {
  Case c;
  c.artifact = line.text("artifact");
  c.method = line.text("method");
  c.dataset = line.text("dataset");
  auto& problem = c.problem;
  problem.operation = line.named("operation", operation_from_name);
  problem.rank = line.whole("rank", 0);
  problem.mode = static_cast<int>(line.whole("mode", 0));
  c.has_mode = !line.text("mode").empty();
  if (!line.text("dtype").empty()) problem.dtype = line.named("dtype", dtype_from_name);
  return c;
}

/// The time is that of the processor that the method here runs on.
void check_processor(const Line& line, const Case& c, const ImportSource& source) {
  const bool gpu = is_gpu_method(c.method);
  if ((gpu ? source.gpu : source.cpu).empty())
    throw ParseError(line.at(), fmt::format("method '{}'", c.method),
                     gpu ? "--gpu NAME with it" : "--cpu NAME with it");
}

json row_of(const Line& line, const std::string& session, const ImportSource& source,
            const DatasetRegistry& datasets) {
  const auto c = case_of(line);
  check_processor(line, c, source);
  const auto& dataset = line.named(
      "dataset", [&](const auto& name) -> const Dataset& { return datasets.find(name); });
  const double seconds = line.number("milliseconds") / 1e3;
  json row = {{"kind", "row"}, {"schema", kSchema},  {"session", session},   {"status", "ok"},
              {"reason", ""},  {"code", "original"}, {"finished", utc_now()}};
  row["case"] = driver::to_json(c, data_object(dataset, dataset.sha256, dataset.dims, dataset.nnz));
  row["key"] = case_key(row["case"]);
  row["phases"] = {{"run", {seconds}}, {"stages", {{"kernel", {seconds}}}}};
  row["stats"] = {{"count", 1}, {"median", seconds}, {"min", seconds}, {"max", seconds}};
  return row;
}

json session_of(const std::string& path, const ImportSource& source) {
  json machine = json::object();
  if (!source.gpu.empty()) machine["gpu"] = {{"name", source.gpu}};
  if (!source.cpu.empty()) machine["cpu"] = {{"model", source.cpu}};
  return {{"kind", "session"},
          {"schema", kSchema},
          {"session", new_session_id()},
          {"started", utc_now()},
          {"machine", machine},
          {"imported", {{"file", path}, {"who", source.who}, {"commit", source.commit}}}};
}

}  // namespace

std::vector<json> import_rows(const std::string& path, const ImportSource& source,
                              const DatasetRegistry& datasets) {
  std::ifstream in(path);
  if (!in) throw SystemError(path + ": can't be read");
  const auto session = session_of(path, source);
  std::vector<json> lines = {session};
  std::map<std::string, std::uint64_t> met;
  Cells header;
  std::uint64_t number = 0;
  for (std::string text; std::getline(in, text);) {
    const FilePosition at{path, ++number};
    if (boost::trim_copy(text).empty() || text.front() == '#') continue;
    if (header.empty()) {
      header = checked_header(split(text), at);
      continue;
    }
    lines.push_back(row_of({header, split(text), at}, session["session"], source, datasets));
    const auto [first, fresh] = met.emplace(lines.back()["key"].get<std::string>(), number);
    if (!fresh)
      throw ParseError(at, fmt::format("the case of line {} a second time", first->second),
                       "one time for each case");
  }
  if (lines.size() == 1)
    throw InputError(path + ": no times, expected a header and lines of cells");
  return lines;
}

}  // namespace retensor::driver
