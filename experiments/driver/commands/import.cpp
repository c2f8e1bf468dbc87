// retensor import: times of an original code become rows beside one's own.
//
// A cell is a name or a number. A pair of quotes around it is dropped; without one it has no comma.

#include <fmt/format.h>
#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/session.hpp"
#include "experiments/driver/run/store.hpp"
#include "experiments/driver/spec/axes.hpp"
#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/spec/spec.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// Who measured what an import brings, and where.
struct ImportSource {
  std::string who;     ///< the code, as its authors call it, and who ran it
  std::string commit;  ///< version of the code, as far as known
  std::string gpu;     ///< name of the device; empty when it was a CPU's
  std::string cpu;
};

using Cells = std::vector<std::string>;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // as spreadsheets write it

const Cells kRequired = {"artifact", "method", "operation", "dataset", "milliseconds"};
const Cells kOptional = {"mode", "rank", "dtype", "variant"};

Cells split(std::string line, const FilePosition& at) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  Cells cells(1);
  bool quoted = false;
  for (const char letter : line) {
    if (letter == '"') quoted = !quoted;
    if (letter == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += letter;
  }
  for (auto& cell : cells) {
    boost::trim(cell);
    if (cell.size() > 1 && cell.front() == '"' && cell.back() == '"')
      cell = cell.substr(1, cell.size() - 2);
    if (cell.find('"') != cell.npos)
      throw ParseError(at, fmt::format("cell '{}'", cell),
                       "a name or a number, with a pair of quotes around all of it or none");
  }
  return cells;
}

/// One line of the table by the names of its columns.
class Line {
 public:
  Line(const Cells& header, const Cells& cells, FilePosition at) : at_(std::move(at)) {
    if (cells.size() != header.size())
      throw ParseError(at_, count_text(cells.size(), "cell"),
                       fmt::format("{}, as the header has", header.size()));
    for (std::size_t k = 0; k < header.size(); ++k) cells_[header[k]] = cells[k];
  }

  /// Empty where the table has no such column.
  std::string text(const std::string& column) const {
    const auto found = cells_.find(column);
    return found == cells_.end() ? "" : found->second;
  }

  double seconds(const std::string& column) const {
    const auto milliseconds = number<double>(column, "a positive number");
    if (!(milliseconds > 0 && std::isfinite(milliseconds))) refuse(column, "a positive number");
    return milliseconds / 1e3;
  }

  std::uint64_t whole(const std::string& column, std::uint64_t otherwise) const {
    return text(column).empty() ? otherwise : number<std::uint64_t>(column, "a whole number");
  }

  /// What `read` makes of a cell; its errors get the line and the column.
  template <class Read>
  auto named(const std::string& column, Read read) const {
    return in_context(fmt::format("{}:{}: {}", at_.file, at_.line, column),
                      [&] { return read(text(column)); });
  }

  /// Throws InputError where no run can have measured the case.
  void expect_possible(const Case& c, const Dims& dims) const {
    const auto operation = name(c.problem.operation);
    if (has_mode(c.problem.operation) != c.has_mode)
      refuse("mode",
             fmt::format("{} for {}", c.has_mode ? "none" : "one, counted from 0,", operation));
    if (has_rank(c.problem.operation) == text("rank").empty())
      refuse("rank", fmt::format("{} for {}", text("rank").empty() ? "one" : "none", operation));
    located(at_, [&] { check_problem(c.problem, dims, dims); });
  }

  /// Throws ParseError for a method that this program lacks, if it has any of the same backend.
  void expect_method(const Registry& methods) const {
    const auto id = text("method");
    std::vector<std::string> ids;
    for (const auto& method : methods.methods())
      if (is_gpu_method(method->id()) == is_gpu_method(id)) ids.emplace_back(method->id());
    if (!ids.empty() && std::ranges::find(ids, id) == ids.end())
      refuse_unknown(at_, "method", id, ids);
  }

  /// Throws ParseError for a cell that a spec could not have.
  void expect_shape(const std::string& column, const ShapePtr& shape) const {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.at = at_;
    node.text = text(column);
    shape->check(node);
  }

  [[noreturn]] void refuse(const std::string& column, const std::string& expected) const {
    throw ParseError(at_, fmt::format("{} '{}'", column, text(column)), expected);
  }

 private:
  template <class T>
  T number(const std::string& column, const char* expected) const {
    const auto value = number_in<T>(text(column));
    if (!value) refuse(column, expected);
    return *value;
  }

  std::map<std::string, std::string> cells_;
  FilePosition at_;
};

Cells checked_header(const Cells& header, const FilePosition& at) {
  Cells known = kRequired;
  known.insert(known.end(), kOptional.begin(), kOptional.end());
  for (const auto& name : header)
    if (std::ranges::find(known, name) == known.end())
      throw ParseError(
          at, fmt::format("column '{}'", name),
          fmt::format("one of {}{}", boost::join(known, ", "), suggestion(name, known)));
  for (const auto& name : kRequired)
    if (std::ranges::count(header, name) != 1)
      throw ParseError(at, fmt::format("a header '{}'", boost::join(header, ",")),
                       fmt::format("the column {} once", name));
  return header;
}

Case case_of(const Line& line) {
  Case c;
  c.artifact = line.text("artifact");
  line.expect_shape("artifact", artifact_shape());
  c.method = line.text("method");
  c.dataset = line.text("dataset");
  auto& problem = c.problem;
  problem.operation = line.named("operation", operation_from_name);
  problem.variant = line.text("variant");
  if (problem.variant.empty()) problem.variant = standard_variant(problem.operation);
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
    line.refuse("method", gpu ? "--gpu NAME with it" : "--cpu NAME with it");
}

json row_of(const Line& line, const std::string& session, const ImportSource& source,
            const DatasetRegistry& datasets, const Registry& methods) {
  const auto c = case_of(line);
  line.expect_method(methods);
  check_processor(line, c, source);
  const auto& dataset = line.named(
      "dataset", [&](const auto& name) -> const Dataset& { return datasets.with_facts(name); });
  line.expect_possible(c, dataset.dims);
  const double seconds = line.seconds("milliseconds");
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

/// The session line and the rows of a table of times: comma-separated, with a header that names
/// artifact, method, operation, dataset and milliseconds, and may name mode (0-based, empty where
/// the operation has none), rank, dtype (f32) and variant (of tew and ts, the einsum of a
/// contraction). `method` is the id of the method here
/// that does the same; rows say `code: original`. Milliseconds are those of the run without the
/// zeroing of outputs (stage `kernel`). Throws ParseError with file and line for an unknown column
/// (with the nearest), a missing or malformed cell, an unknown operation or data set, a time that
/// is not positive, or a case that stands twice.
std::vector<json> import_rows(const std::string& path, const ImportSource& source,
                              const DatasetRegistry& datasets) {
  std::ifstream in(path);
  if (!in) throw input_error("{}: can't be read: {}", path, std::strerror(errno));
  const auto session = session_of(path, source);
  std::vector<json> lines = {session};
  const auto methods = all_methods();
  std::map<std::string, std::uint64_t> met;
  Cells header;
  std::uint64_t number = 0;
  for (std::string text; std::getline(in, text);) {
    const FilePosition at{path, ++number};
    if (number == 1 && text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
    if (boost::trim_copy(text).empty() || text.front() == '#') continue;
    if (header.empty()) {
      header = checked_header(split(text, at), at);
      continue;
    }
    lines.push_back(
        row_of({header, split(text, at), at}, session["session"], source, datasets, methods));
    const auto [first, fresh] = met.emplace(lines.back()["key"].get<std::string>(), number);
    if (!fresh)
      throw ParseError(at, fmt::format("the case of line {} a second time", first->second),
                       "one time for each case");
  }
  if (lines.size() == 1)
    throw InputError(path + ": no times, expected a header and lines of cells");
  return lines;
}

int import_command(const Given& given) {
  const ImportSource source{given.text("who"), given.text("commit"), given.text("gpu"),
                            given.text("cpu")};
  const auto out = given.text("out");
  if (source.who.empty()) throw InputError("import: expected --who, whose times these are");
  if (source.gpu.empty() == source.cpu.empty())
    throw InputError("import: expected either --gpu or --cpu, the device that was timed");
  if (out.empty()) throw InputError("import: expected --out, the file to append to");
  const auto lines = import_rows(given.positional("a table of times"), source, given.registry());
  Store store(out);
  if (store.repaired() > 0)
    std::cerr << fmt::format("{}: cut off a torn last line of {}\n", out,
                             count_text(store.repaired(), "byte"));
  for (const auto& line : lines) store.append(line);
  std::cout << out << '\n';
  return 0;
}

}  // namespace

Interface import_interface() {
  const Usage usage{
      "import FILE.csv",
      "Appends times of original code (columns artifact, method, operation, dataset, milliseconds, "
      "and mode, rank, dtype, variant where needed) to a result file. Queries and figures leave "
      "these rows "
      "(`code: original`) out unless they ask for them.",
      "retensor import experiments/originals/h200.csv --who 'ParTI, by its authors' --gpu 'NVIDIA "
      "H200' --out rows.jsonl",
      1};
  Options add;
  add("who", word("TEXT"), "whose code it is and who ran it");
  add("commit", word("TEXT"), "version of the code, if known");
  add("gpu", word("NAME"), "the GPU that ran it, under the name that its driver reports");
  add("cpu", word("NAME"), "the processor that ran it, if it was not a GPU");
  add("out", word("FILE"), "result file to append to");
  add.locations();
  return {usage, add, import_command};
}

}  // namespace retensor::driver
