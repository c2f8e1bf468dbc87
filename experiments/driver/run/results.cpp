// Result files as their readers see them; Store adds the lock and the repair.
#include "experiments/driver/run/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/core/error.hpp"
#include "common/measure/statistics.hpp"
#include "experiments/driver/run/currency.hpp"
#include "experiments/driver/spec/case.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// How a line begins that a kill (a part of the object) or a power cut (zeros) left behind.
bool may_be_torn(const std::string& text) {
  return !text.empty() && (text.front() == '{' || text.front() == '\0');
}

void check_line(const json& line, const std::string& path, std::uint64_t number) {
  if (!line.is_object() || !line.contains("kind") || !line.contains("schema") ||
      !line["schema"].is_number_integer())
    throw ParseError({path, number}, "JSON without kind and schema", "a line of a result file");
  if (line["schema"] > kSchema)
    throw InputError(
        fmt::format("{}:{}: schema {} is newer than this program's {}; use a newer "
                    "retensor or another file",
                    path, number, line["schema"].get<std::int64_t>(), kSchema));
}

const json* descend(const json& from, const std::vector<std::string>& names) {
  const json* at = &from;
  for (const auto& name : names) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(name);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

/// Values by kind of a ceilings line.
json ceiling_values(const json& line) {
  json values = json::object();
  for (const auto& ceiling : line.value("ceilings", json::array()))
    if (const auto what = text_of(ceiling, "what"); !what.empty() && ceiling.contains("value"))
      values[what] = ceiling["value"];
  return values;
}

double number_or_zero(const json& value) {
  return value.is_number() ? value.get<double>() : 0;
}

json roofline(const json& row) {
  const auto bandwidth = std::max(number_or_zero(field(row, "ceilings.copy_dram")),
                                  number_or_zero(field(row, "ceilings.triad_dram")));
  const auto peak = number_or_zero(field(row, "ceilings.peak_f32"));
  const auto roof = bandwidth * number_or_zero(field(row, "work.intensity"));
  const auto rate = number_or_zero(field(row, "rates.gflops"));
  json line = json::object();
  if (bandwidth > 0) line["gbytes"] = bandwidth;
  if (bandwidth > 0 && peak > 0) line["ridge"] = peak / bandwidth;
  if (roof > 0) line["gflops"] = roof;
  if (roof > 0 && rate > 0) line["share"] = rate / roof;
  return line;
}

/// Index bytes of a format that counts them over the median time, HLSTO's bandwidth (section
/// VII.B.2), in GB/s.
void add_index_rate(json& row) {
  const auto& bytes = field(row, "executed.index_bytes");
  const auto seconds = number_or_zero(field(row, "stats.median"));
  if (bytes.is_string() && seconds > 0)
    row["rates"]["index_gbytes"] =
        std::strtod(bytes.get<std::string>().c_str(), nullptr) / seconds / 1e9;
}

/// `seconds.without_zero`: the median time of a run but for the zeroing of outputs, as the original
/// codes are timed; `copy.share` and `copy.compulsory_share`: the time that a copy of the run's
/// bytes, or of those that it cannot do without, takes on the same machine, over that time.
void add_time_without_zero(json& row) {
  const auto& runs = field(row, "phases.run");
  if (!runs.is_array() || runs.empty()) return;
  auto seconds = runs.get<std::vector<double>>();
  const auto& zero = field(row, "phases.stages.zero");
  if (zero.is_array() && zero.size() == seconds.size())
    for (std::size_t k = 0; k < seconds.size(); ++k) seconds[k] -= zero[k].get<double>();
  const auto median = summarise(seconds).median;
  row["seconds"]["without_zero"] = median;
  const auto copy = 1e9 * number_or_zero(field(row, "ceilings.copy_dram")) * median;
  if (copy <= 0) return;
  row["copy"]["share"] = number_or_zero(field(row, "work.bytes")) / copy;
  row["copy"]["compulsory_share"] = number_or_zero(field(row, "work.compulsory_bytes")) / copy;
}

/// The same case measured on two machines is two results, and so is that of another code.
std::string identity(const json& row) {
  return text_of(row, "key") + '\n' + device_of(row) + '\n' + text_of(row, "code");
}

}  // namespace

FileEnd for_each_line(const std::string& path, const std::function<void(const json&)>& take) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw SystemError(fmt::format("{}: can't be read: {}", path, std::strerror(errno)));
  FileEnd end;
  std::uint64_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const bool ended = !in.eof();
    const auto bytes = text.size() + (ended ? 1 : 0);
    const auto line = json::parse(text, nullptr, false);
    if (line.is_discarded()) {
      if (!may_be_torn(text) || in.peek() != std::ifstream::traits_type::eof())
        throw ParseError({path, number}, fmt::format("'{}'", text.substr(0, 40)),
                         "a line of a result file (JSON)");
      end.torn = bytes;
      break;
    }
    check_line(line, path, number);
    take(line);
    end.whole += bytes;
    end.lacks_newline = !ended;
  }
  if (in.bad()) throw SystemError(path + ": reading failed");
  return end;
}

std::string text_of(const json& line, const char* member) {
  const auto found = line.find(member);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

bool on_gpu(const json& row) {
  return is_gpu_method(text_of(row["case"], "method"));
}

std::string device_of(const json& row) {
  const auto& name = field(row["machine"], on_gpu(row) ? "gpu.name" : "cpu.model");
  return name.is_string() ? name.get<std::string>() : "unknown";
}

std::vector<json> newest_rows(const std::vector<std::string>& paths) {
  std::map<std::string, json> sessions, ceilings;
  std::map<std::string, json> newest;
  Confirmations confirmations;
  for (const auto& path : paths)
    for_each_line(path, [&](const json& line) {
      if (line["kind"] == "session") sessions[text_of(line, "session")] = line;
      if (line["kind"] == "ceilings")
        ceilings[text_of(line, "session") + text_of(line, "backend")] = ceiling_values(line);
      if (line["kind"] == "confirmation") confirmations.take(line);
      if (line["kind"] != "row" || !line.contains("case")) return;
      auto row = line;
      const auto& session = sessions[text_of(line, "session")];
      for (const auto* member : {"machine", "git"})
        row[member] = session.is_object() ? session.value(member, json()) : json();
      row["ceilings"] = ceilings[text_of(line, "session") + (on_gpu(row) ? "cuda" : "cpu")];
      row["roofline"] = roofline(row);
      if (!row.contains("code")) row["code"] = "own";
      add_time_without_zero(row);
      add_index_rate(row);
      auto& known = newest[identity(row)];
      if (known.is_null() || text_of(known, "finished") <= text_of(row, "finished"))
        known = std::move(row);
    });
  std::vector<json> rows;
  for (auto& [key, row] : newest) {
    row["currency"] = name(currency_of(row, row["machine"], confirmations));
    rows.push_back(std::move(row));
  }
  return rows;
}

const json& field(const json& row, std::string_view path) {
  static const json none;
  std::vector<std::string> names;
  boost::split(names, path, boost::is_any_of("."));
  if (const auto* found = descend(row, names)) return *found;
  if (!row.is_object() || !row.contains("case")) return none;
  const auto* found = descend(row["case"], names);
  return found == nullptr ? none : *found;
}

}  // namespace retensor::driver
