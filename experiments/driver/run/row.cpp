#include "experiments/driver/run/row.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "common/measure/statistics.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/run/noise.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/spec/case.hpp"
#include "experiments/driver/spec/methods.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 7> kStatuses = {"ok",  "unsupported", "wrong",  "failed",
                                                       "oom", "timeout",     "crashed"};
constexpr std::string_view kCeilings = "ceilings.";
/// More than any machine has: a file may claim anything.
constexpr int kMostCores = 1 << 20;

json checked(json line) {
  const auto is_case = line.value("case", json()).is_object();
  if (!is_case || text_of(line, "key").empty())
    throw InputError("found a row that lacks its key or case");
  return line;
}

json roofline(const json& line, const json& ceilings) {
  const auto bandwidth = number_at(ceilings, "gbytes.dram");
  const auto roof = bandwidth * number_at(line, "work.intensity");
  const auto rate = number_at(line, "rates.gflops");
  json found = json::object();
  if (bandwidth > 0) found["gbytes"] = bandwidth;
  if (ceilings.contains("ridge")) found["ridge"] = ceilings["ridge"];
  if (roof > 0) found["gflops"] = roof;
  if (roof > 0 && rate > 0) found["share"] = rate / roof;
  return found;
}

/// Adds `factor` times a stage to the sample of the same run; a stage that a method lacks adds
/// none.
void add_stage(std::vector<double>& seconds, const json& line, const std::string& stage,
               double factor) {
  const auto samples = numbers_in(field(line, "phases.stages." + stage));
  if (samples.size() != seconds.size()) return;
  for (std::size_t k = 0; k < seconds.size(); ++k) seconds[k] += factor * samples[k];
}

/// Of times alone: what is left of a run may be none.
std::optional<double> median_time(const std::vector<double>& seconds) {
  const auto positive = [](double s) { return s > 0; };
  if (seconds.empty() || !std::ranges::all_of(seconds, positive)) return {};
  return median(Launches(&seconds, 1));
}

void add_task_processing(json& line) {
  auto seconds = numbers_in(field(line, "phases.stages.tasks"));
  add_stage(seconds, line, "pattern", 1);
  if (const auto median = median_time(seconds)) line["seconds"]["task_processing"] = *median;
}

void add_time_of_sweep(json& line) {
  const auto median = median_time(numbers_in(field(line, "phases.stages.sweeps")));
  const auto sweeps = std::strtod(text_of(field(line, "executed"), "sweeps").c_str(), nullptr);
  if (median && sweeps > 0) line["seconds"]["sweep"] = *median / sweeps;
}

void add_time_outside_chain(json& line) {
  auto seconds = numbers_in(field(line, "phases.stages.eigenvectors"));
  const auto eigenvectors = median_time(seconds);
  for (const auto* stage : {"gram", "factor"}) add_stage(seconds, line, stage, 1);
  const auto outside = median_time(seconds);
  if (eigenvectors && outside)
    line["seconds"]["outside_chain_over_eigenvectors"] = *outside / *eigenvectors;
}

void add_time_without_zero(json& line, double copy_gbytes) {
  auto seconds = numbers_in(field(line, "phases.run"));
  add_stage(seconds, line, "zero", -1);
  const auto median = median_time(seconds);
  if (!median) return;
  line["seconds"]["without_zero"] = *median;
  const auto copied = 1e9 * copy_gbytes * *median;
  if (copied <= 0) return;
  line["copy"]["share"] = number_at(line, "work.bytes") / copied;
  line["copy"]["compulsory_share"] = number_at(line, "work.compulsory_bytes") / copied;
}

void add_index_rate(json& line) {
  const auto bytes = text_of(field(line, "executed"), "index_bytes");
  const auto seconds = number_at(line, "stats.median");
  if (!bytes.empty() && seconds > 0)
    line["rates"]["index_gbytes"] = std::strtod(bytes.c_str(), nullptr) / seconds / 1e9;
}

std::string named(const json& name) {
  return name.is_string() ? name.get<std::string>() : std::string(kUnknownDevice);
}

/// Of "0-3,8", the processors that a process may use; what is no such list counts nothing.
int listed(std::string_view processors) {
  const char *at = processors.data(), *const end = at + processors.size();
  const auto number = [&] {
    int value = -1;
    const auto [next, error] = std::from_chars(at, end, value);
    at = next;
    return error == std::errc() ? value : -1;
  };
  int count = 0;
  for (; at < end; ++at) {
    const int first = number();
    int last = first;
    if (at < end && *at == '-') {
      ++at;
      last = number();
    }
    if (0 <= first && first <= last && last < kMostCores) count += last - first + 1;
  }
  return count;
}

/// Cores that the threads of a session could use: places of OpenMP where it binds threads to them,
/// since its first thread then keeps to one processor. 0 where the line tells no cores.
int usable_cores(const json& session) {
  const auto affinity = text_of(field(session, "machine.cpu"), "affinity");
  const std::string_view text = affinity, head = "processors ", bind = ", proc_bind ";
  const auto bound = text.find(bind), places = text.find(", places ");
  if (!text.starts_with(head) || bound == text.npos || places == text.npos || places < bound) {
    const auto& cores = field(session, "machine.cpu.cores");
    return cores.is_number_integer() ? cores.get<int>() : 0;
  }
  const auto count = std::ranges::count(text.substr(places), '{');
  const auto binding = text.substr(bound + bind.size(), places - bound - bind.size());
  return binding != "false" && count > 0 ? static_cast<int>(count)
                                         : listed(text.substr(head.size(), bound - head.size()));
}

}  // namespace

std::string_view name(Status status) {
  return kStatuses[static_cast<std::size_t>(status)];
}

Status status_from_name(std::string_view text) {
  return static_cast<Status>(place_among(kStatuses, text, "unknown status"));
}

Status status_of(const json& line) {
  return status_from_name(text_of(line, "status"));
}

void Session::take_ceilings(json ceilings_line) {
  auto& values = ceilings_line["values"] = json::object();
  for (const auto& ceiling : ceilings_line.value("ceilings", json::array()))
    if (const auto what = text_of(ceiling, "what"); !what.empty() && ceiling.contains("value"))
      values[what] = ceiling["value"];
  auto& gbytes = ceilings_line["gbytes"] = json::object();
  for (const std::string memory : {"dram", "llc"}) {
    const auto best =
        std::max(number_at(values, "copy_" + memory), number_at(values, "triad_" + memory));
    if (best > 0) gbytes[memory] = best;
  }
  const auto peak = number_at(values, "peak_f32");
  if (peak > 0 && gbytes.contains("dram"))
    ceilings_line["ridge"] = peak / gbytes["dram"].get<double>();
  const auto backend = text_of(ceilings_line, "backend");
  ceilings[backend == name(Backend::cuda) ? Backend::cuda : Backend::cpu] =
      std::move(ceilings_line);
}

std::string Session::device(Backend backend) const {
  if (backend == Backend::cuda) return named(field(line, "machine.gpu.name"));
  const int cores = usable_cores(line);
  return cores > 0 ? fmt::format("{} with {} core{}", processor(), cores, cores == 1 ? "" : "s")
                   : processor();
}

std::set<std::string> Session::devices() const {
  return {device(Backend::cpu), device(Backend::cuda)};
}

std::string Session::processor() const {
  return named(field(line, "machine.cpu.model"));
}

std::string Session::machine(Backend backend) const {
  return text_of(field(line, "machine.identity"), backend == Backend::cuda ? "gpu" : "host");
}

Row::Row(json given, std::shared_ptr<const Session> session, const Confirmations& confirmations)
    : line_(std::make_shared<json>(checked(std::move(given)))),
      session_(session ? std::move(session) : std::make_shared<const Session>()),
      status_(status_of(*line_)),
      backend_(is_gpu_method(method()) ? Backend::cuda : Backend::cpu),
      currency_(is_own() ? currency_of(*line_, device(),
                                       architecture_of(driver::field(session_->line, "machine")),
                                       confirmations)
                         : Currency::sources) {
  auto& line = *line_;
  if (!line.contains("code")) line["code"] = "own";
  line["form"] = form_of(line);
  line["backend"] = name(backend_);
  line["device"] = device();
  line["currency"] = name(currency_);
  line["stale"] = is_stale();
  add_index_rate(line);
  add_task_processing(line);
  add_time_of_sweep(line);
  add_time_outside_chain(line);
  if (auto noise = noise_of(line); !noise.is_null()) line["noise"] = std::move(noise);
  add_time_without_zero(line, number("ceilings.copy_dram"));
  if (const auto found = session_->ceilings.find(backend_); found != session_->ceilings.end())
    line["roofline"] = roofline(line, found->second);
}

void Row::keep_counters(const Row& earlier) {
  const auto found = earlier.line().find("profile");
  if (found != earlier.line().end() && !line_->contains("profile")) (*line_)["profile"] = *found;
}

std::string Row::method() const {
  return text_of(row_case(), "method");
}

std::string Row::dataset() const {
  return text_of(row_case(), "dataset");
}

bool Row::is_own() const {
  return text_of(line(), "code") != "original";
}

std::string Row::failure() const {
  return fmt::format("{}: {}", name(status_), text_of(line(), "reason"));
}

std::string Row::finished() const {
  return text_of(line(), "finished");
}

double Row::number(std::string_view path) const {
  const auto& value = field(path);
  return value.is_number() ? value.get<double>() : 0;
}

const json& Row::field(std::string_view path) const {
  if (const auto& own = driver::field(line(), path); !own.is_null()) return own;
  if (path.starts_with("machine.") || path.starts_with("git.") || path.starts_with("job."))
    return driver::field(session_->line, path);
  if (path.starts_with(kCeilings))
    if (const auto found = session_->ceilings.find(backend_); found != session_->ceilings.end())
      return driver::field(found->second.at("values"), path.substr(kCeilings.size()));
  return driver::field(row_case(), path);
}

std::string_view form_of(const nlohmann::json& line) {
  static const Registry methods = all_methods();
  const auto& row_case = line.at("case");
  if (row_case.contains("foreign")) return kOwnForm;
  const auto told = [&](const std::string& name) {
    const bool ran = name.starts_with("executed.");
    const auto& value = ran ? field(line, name) : field(row_case, "params." + name);
    return value.is_null() ? std::string() : plain_text(value);
  };
  return methods.form(text_of(row_case, "method")).is_published(told) ? kPublishedForm : kOwnForm;
}

namespace {

constexpr std::string_view kBetween = ", ";

json without_method(json case_object) {
  case_object.erase("method");
  case_object.erase("params");
  return case_object;
}

bool names(const std::string& all, const std::string& name) {
  return fmt::format("{}{}{}", kBetween, all, kBetween)
             .find(fmt::format("{}{}{}", kBetween, name, kBetween)) != std::string::npos;
}

}  // namespace

std::string also_chosen_by(const std::string& all, const std::string& name) {
  if (all.empty() || names(all, name)) return all.empty() ? name : all;
  return fmt::format("{}{}{}", all, kBetween, name);
}

const Row* chosen_row(const std::map<std::string, Row>& rows, const Case& wanted,
                      const json& data) {
  const auto problem = without_method(to_json(wanted, data));
  const auto name = name_of_auto(wanted.params);
  for (const auto& [key, row] : rows) {
    const auto& said = row.field("executed.chosen_by");
    if (said.is_string() && names(said.get_ref<const std::string&>(), name) &&
        without_method(row.row_case()) == problem)
      return &row;
  }
  return nullptr;
}

}  // namespace retensor::driver
