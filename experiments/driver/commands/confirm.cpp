// retensor confirm: measures a sample of the rows that are older than the code of their method.
#include "experiments/driver/run/confirm.hpp"
#include "experiments/driver/data/bytes.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/device/device.hpp"
#include "common/machine/machine.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/currency.hpp"
#include "experiments/driver/run/gpu_state.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/session.hpp"
#include "experiments/driver/run/store.hpp"
#include "experiments/driver/run/sweep.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// The cases of rows, to be measured as often as the longest of them was.
Plan plan_of(const std::vector<Row>& rows, std::chrono::seconds time_limit) {
  Plan plan;
  plan.artifact = text_of(rows.front().row_case(), "artifact");
  plan.title = "rows measured again";
  plan.measure.timeout = time_limit;
  for (const auto& row : rows) {
    plan.cases.push_back(case_from_json(row.row_case()));
    const auto& count = row.field("stats.count");
    if (count.is_number_integer())
      plan.measure.timing.samples = std::max(plan.measure.timing.samples, count.get<int>());
  }
  return plan;
}

/// A confirmation compares times, which means nothing on another model.
void expect_this_model(const std::vector<Row>& rows) {
  const Session here{{{"machine", machine_facts()}}, {}};
  for (const auto& row : rows) {
    const auto device = row.backend() == Backend::cuda && !device::available().ok
                            ? std::string("no GPU")
                            : here.device(row.backend());
    if (row.device() != device)
      throw input_error("the rows were measured on {}, but this machine has {}; confirm them there",
                        row.device(), device);
  }
}

/// Those that no other machine of the model is known to have measured.
std::vector<Row> of_this_machine(std::vector<Row> rows) {
  const auto identity =
      machine_identity(identity_form(), device::available().ok ? GpuState().uuid() : std::string());
  const Session here{{{"machine", {{"identity", identity}}}}, {}};
  const auto total = rows.size();
  std::string other;
  std::erase_if(rows, [&](const Row& row) {
    const auto mine = here.machine(row.backend());
    const bool elsewhere = !row.machine().empty() && !mine.empty() && row.machine() != mine;
    if (elsewhere) other = row.machine();
    return elsewhere;
  });
  if (rows.empty() && total > 0)
    throw input_error(
        "the rows were measured on another machine of this model, {}; confirm them "
        "there, or here with --same-model",
        other);
  if (rows.size() < total)
    std::cerr << fmt::format("{} of other machines of this model left alone\n",
                             count_text(total - rows.size(), "row"));
  return rows;
}

std::map<std::string, const Row*> by_key(const std::vector<Row>& rows, const std::string& session) {
  std::map<std::string, const Row*> found;
  for (const auto& row : rows)
    if (text_of(row.line(), "session") == session) found[row.key()] = &row;
  return found;
}

std::string line_of(const Repetition& r) {
  if (!r.failure.empty()) return fmt::format("{}  {:.12}  {}", r.method, r.key, r.failure);
  return fmt::format("{}  {:.12}  {:.4g} s, now {:.4g} s, spread {:.2g} s: {}", r.method, r.key,
                     r.before, r.after, r.spread, r.agrees() ? "agrees" : "differs");
}

/// Smallest change that counts on the machine of a row, of 1; says by which rule times agree there.
/// Throws InputError where its calibration found no rule.
double told_threshold(const Row& row, const std::vector<Calibration>& calibrations) {
  const auto* found = calibration_of(calibrations, row.device(), row.machine());
  if (found == nullptr) {
    std::cerr << fmt::format(
        "{}: times agree within their quartiles and 5%; it is not calibrated\n",
        machine_label(row.device(), row.machine(), true));
    return 0;
  }
  if (!found->rule(1).threshold)
    throw InputError(
        "confirm: undecided, since no difference between single launches counts on the machine of "
        "the rows: " +
        rule_text(*found));
  std::cerr << rule_text(*found) << '\n';
  return *found->rule(1).threshold;
}

/// How the sample is measured, into a file of its own.
SweepOptions sweep_beside(const std::string& path, const Given& given) {
  SweepOptions sweep;
  sweep.keep_oracles = given.flag("keep-oracles");
  sweep.out = given.text("out");
  if (sweep.out.empty()) sweep.out = path + ".confirm";
  sweep.at = given.locations();
  sweep.rerun = true;
  sweep.argv = given.command_line("confirm");
  return sweep;
}

/// By device: a file has rows of processors and of GPUs.
std::map<std::string, double> told_thresholds(const std::vector<Row>& sample,
                                              const std::vector<Calibration>& calibrations) {
  std::map<std::string, double> thresholds;
  for (const auto& row : sample)
    if (!thresholds.contains(row.device()))
      thresholds[row.device()] = told_threshold(row, calibrations);
  return thresholds;
}

std::vector<Repetition> repetitions_of(const std::vector<Row>& sample,
                                       const std::map<std::string, const Row*>& again,
                                       const std::map<std::string, double>& thresholds) {
  std::vector<Repetition> repetitions;
  for (const auto& row : sample) {
    const auto found = again.find(row.key());
    repetitions.push_back(repetition(row, found == again.end() ? nullptr : found->second,
                                     thresholds.at(row.device())));
    std::cerr << line_of(repetitions.back()) << '\n';
  }
  return repetitions;
}

int confirm_command(const Given& given) {
  const auto path = given.positional("a result file");
  const auto time_limit = given.time_limit();
  auto results = read_results({path}, {}, Machines::each);
  tell_warnings(results.warnings);
  auto rows = rows_to_confirm(std::move(results.rows), given.flag("dirty"));
  if (!given.flag("same-model")) rows = of_this_machine(std::move(rows));
  if (rows.empty()) {
    std::cerr << path << ": every row with times was measured with today's code\n";
    return 0;
  }
  const auto sample = sample_of(rows);
  std::cerr << fmt::format("{}: {} to confirm, {} of them to measure again\n", path,
                           count_text(rows.size(), "row"), sample.size());
  if (given.flag("dry-run")) {
    for (const auto& row : sample) std::cout << row.row_case().dump() << '\n';
    return 0;
  }

  StopSignals stop;
  expect_this_model(sample);
  const auto thresholds = told_thresholds(sample, calibrations_of(given));
  const auto sweep = sweep_beside(path, given);
  const auto done = run_sweep(plan_of(sample, time_limit), given.registry(), sweep, stop);
  const auto session = newest_session(done.path);
  const auto measured = newest_rows({done.path});
  // Rows of today's code, which are kept even if the sample is not complete. One that did not end
  // in time leaves the older row as it was: its spec may allow more time.
  Store store(path);
  for_each_line(done.path, [&](const json& line) {
    if (text_of(line, "session") == session && text_of(line, "status") != "timeout")
      store.append(line);
  });
  if (done.stopped) return 128 + stop.first();

  const auto repetitions = repetitions_of(sample, by_key(measured, session), thresholds);
  std::size_t confirmed = 0;
  const auto architecture = architecture_of(field(measured.front().session().line, "machine"));
  for (const auto& line : confirmations(rows, repetitions, session, architecture)) {
    store.append(line);
    confirmed += line["keys"].size();
  }
  std::cerr << fmt::format("{}: {} of {} rows confirmed\n", path, confirmed, rows.size());
  std::cout << path << '\n';
  return confirmed == rows.size() ? 0 : 1;
}

}  // namespace

Interface confirm_interface() {
  const Usage usage{
      "confirm FILE",
      "Measures again a sample of the rows of a result file that are older than the code of their "
      "method: a tenth of them, at least five, with every method and data set at least once. If "
      "the new times of a method agree with the old ones, its other rows count as confirmed. If it "
      "is stopped by a signal, the rows that it has measured are kept. A case that reaches the "
      "time limit keeps its older row.",
      "retensor confirm experiments/results/cpu/hlsto-table4.jsonl", 1};
  Options add;
  add("dirty", flag(), "also take rows that were measured with uncommitted changes");
  add("same-model", flag(), "also take rows of another machine of the same model");
  add("dry-run", flag(), "print the cases that would be measured, and measure nothing");
  add("out", word("FILE"),
      "file for the new rows until the result file is changed (default: FILE.confirm)");
  add.time_limit(600);
  add.calibration();
  add.oracles();
  add.locations();
  return {usage, add, confirm_command};
}

}  // namespace retensor::driver
