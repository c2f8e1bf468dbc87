// retensor advise: which method to take for a tensor, before anything is run.
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/advise/planner.hpp"
#include "common/advise/regret.hpp"
#include "common/advise/trial.hpp"
#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/io/files.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/facts.hpp"
#include "experiments/driver/run/experience.hpp"
#include "experiments/driver/run/progress.hpp"
#include "experiments/driver/run/table.hpp"
#include "experiments/driver/spec/axes.hpp"

namespace retensor::driver {
namespace {

using nlohmann::json;

const std::vector<double> kRegretCalls = {1, 10, 100, 1000};

advise::Experience experience_for(const Given& given) {
  const auto file = given.text("model");
  if (file.empty()) return advise::Experience::built_in();
  const MappedFile content(file);
  return in_context(file, [&] { return advise::Experience::parse(content.view()); });
}

int train_model(const Given& given) {
  const auto named = given.positionals();
  const auto seen =
      experience_of(named.empty() ? committed_results() : required_results(named), all_methods());
  write_file(given.text("train"), seen.text());
  std::cerr << fmt::format(
      "{}: {} of {} on {} of {}\n", given.text("train"), count_text(seen.times.size(), "time"),
      count_text(seen.candidates.size(), "candidate"), count_text(seen.problems.size(), "problem"),
      count_text(seen.devices.size(), "device"));
  return 0;
}

json regret_json(const advise::Regret& regret) {
  return {{"mean", regret.mean}, {"most", regret.most}, {"above_two", regret.above_two}};
}

json regret_json(const advise::RegretLine& line) {
  return {{"device", line.device},
          {"operation", line.operation},
          {"calls", line.calls},
          {"only_real", line.only_real},
          {"worst", line.worst},
          {"problems",
           {{"judged", line.problems}, {"refused", line.refused}, {"outside", line.outside}}},
          {"predicted", regret_json(line.predicted)},
          {"trial", regret_json(line.tried)},
          {"behind_libraries", line.behind_libraries},
          {"in_their_place", line.in_their_place}};
}

/// All problems together, a row for each number of calls.
std::string regret_summary(const std::vector<advise::RegretLine>& lines) {
  std::string text =
      "| tensors | calls | problems | no candidate | unlike all | mean | largest | above 2 | mean "
      "with trial | largest with trial | above 2 with trial | worst problem "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& line : lines)
    if (line.operation.empty())
      text += fmt::format(
          "| {} | {:g} | {} | {} | {} | {:.3f} | {:.2f} | {} | {:.3f} | {:.2f} | {} | {} |\n",
          line.only_real ? "real" : "all", line.calls, line.problems, line.refused, line.outside,
          line.predicted.mean, line.predicted.most, line.predicted.above_two, line.tried.mean,
          line.tried.most, line.tried.above_two, line.worst);
  return text;
}

/// A row for each operation and device, mean and most for each number of calls.
std::string regrets_by_operation(const std::vector<advise::RegretLine>& lines) {
  std::string text = "| device | operation | problems |";
  for (const auto calls : kRegretCalls) text += fmt::format(" {:g} |", calls);
  text += "\n|---|---|---|" + joined(std::vector<std::string>(kRegretCalls.size(), "---|"), "");
  std::string group;
  for (const auto& line : lines) {
    if (line.operation.empty() || line.problems == 0) continue;
    if (const auto next = line.device + line.operation; next != group) {
      group = next;
      text += fmt::format("\n| {} | {} | {} |", line.device, line.operation, line.problems);
    }
    text += fmt::format(" {:.3f}, {:.2f} |", line.predicted.mean, line.predicted.most);
  }
  return text + '\n';
}

/// Of the operations that libraries solve, a row for each number of calls.
std::string behind_libraries(const std::vector<advise::RegretLine>& lines) {
  std::string text =
      "| device | operation | calls | problems | slower than the best library method, without the "
      "trial | of these, another method chosen |\n|---|---|---|---|---|---|\n";
  for (const auto& line : lines)
    if (line.problems > 0 &&
        (line.operation == name(Operation::spmm) || line.operation == name(Operation::contraction)))
      text += fmt::format("| {} | {} | {:g} | {} | {} | {} |\n", line.device, line.operation,
                          line.calls, line.problems, line.behind_libraries, line.in_their_place);
  return text;
}

/// Each problem above 2 with a trial.
std::string slow_choices(const std::vector<advise::RegretLine>& lines) {
  std::string text =
      "| calls | device | problem with regret above 2 despite a trial | chosen | best | regret | "
      "share of preparations and trial | largest forecast error "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const auto& line : lines)
    if (!line.operation.empty())
      for (const auto& slow : line.slow)
        text += fmt::format("| {:g} | {} | {} {} | {} | {} | {:.2f} | {:.0f}% | {} |\n", line.calls,
                            line.device, line.operation, slow.data, slow.taken, slow.best,
                            slow.ratio, 100 * slow.preparing, slow.cause);
  return text;
}

int print_regret_table(const Given& given) {
  const auto lines =
      advise::regrets(experience_for(given), kRegretCalls, given.get<double>("error") > 0);
  if (given.flag("json")) {
    auto list = json::array();
    for (const auto& line : lines) list.push_back(regret_json(line));
    std::cout << list.dump(2) << '\n';
  } else {
    std::cout << regret_summary(lines) << '\n'
              << regrets_by_operation(lines) << '\n'
              << behind_libraries(lines) << '\n'
              << slow_choices(lines);
  }
  return 0;
}

ProblemSpec asked_problem(const Given& given) {
  ProblemSpec spec;
  spec.operation = operation_from_name(given.text("operation"));
  refuse_options_of_others(spec.operation, given);
  spec.variant = given.text("variant");
  if (spec.variant.empty()) spec.variant = standard_variant(spec.operation);
  spec.mode = given.get<int>("mode");
  spec.rank = given.get<std::uint64_t>("rank");
  spec.dtype = dtype_from_name(given.text("type"));
  return spec;
}

advise::Wish wish_of(const Given& given) {
  advise::Wish wish;
  wish.calls = given.get<double>("calls");
  if (!(wish.calls >= 1 && wish.calls <= 1e12))
    throw input_error("--calls: found {:g}, expected 1 to 1e12", wish.calls);
  if (const auto memory = given.text("memory"); !memory.empty())
    wish.memory = in_context("--memory", [&] { return bytes_from(memory); });
  const auto error = given.get<double>("error");
  if (!(error >= 0)) throw input_error("--error: found {:g}, expected 0 or more", error);
  if (error > 0) wish.error = error;
  return wish;
}

/// `ratio`: of the total time and that of the first.
TableRow advice_row(const advise::Choice& choice, double calls, const std::string& ratio) {
  const auto& f = choice.forecast;
  return {std::string(choice.method->id()),
          choice.params.empty() ? "-" : choice.params,
          duration_text(f.prepare_seconds()),
          duration_text(f.run_seconds()),
          duration_text(f.total(calls)),
          ratio,
          choice.measured ? "measured" : fmt::format("{:.2g}x", f.total(calls, 1) / f.total(calls)),
          bytes_text(static_cast<Count>(choice.format_bytes)),
          choice.device_bytes > 0 ? bytes_text(static_cast<Count>(choice.device_bytes)) : "-",
          fmt::format("{:.1e}", choice.error)};
}

void print_advice(const advise::Advice& advice, const advise::Wish& wish, bool all) {
  if (!advice.ranked.empty()) {
    std::vector<TableRow> rows;
    const auto& first = advice.ranked.front();
    const bool has_machines = advise::has_several_machines(advice);
    for (const auto& choice : advice.ranked) {
      if (!all && rows.size() == 10) break;
      // A forecast tells nothing beside a time of the trial.
      const auto ratio = choice.measured == first.measured
                             ? fmt::format("{:.2f}x", choice.forecast.total(wish.calls) /
                                                          first.forecast.total(wish.calls))
                             : "-";
      rows.push_back(advice_row(choice, wish.calls, ratio));
      if (has_machines) rows.back().push_back(choice.machine);
    }
    TableRow header = {"method",  "parameters",   "prepare", "run",    "total",
                       "/ first", "give or take", "format",  "device", "error"};
    if (has_machines) header.push_back("machine");
    std::cout << table_text(header, rows, out_style()) << '\n' << advice.why << '\n';
    if (rows.size() < advice.ranked.size())
      std::cout << fmt::format("{} more with --all\n", advice.ranked.size() - rows.size());
  }
  std::map<std::string, std::vector<std::string>> reasons;
  for (const auto& d : advice.declined)
    reasons[d.reason].push_back(d.method + (d.params.empty() ? "" : " " + d.params));
  for (const auto& [reason, who] : reasons)
    if (all || advice.ranked.empty())
      std::cout << fmt::format("left out: {}\n", reason)
                << (who == Args{""} ? "" : fmt::format("  {}\n", joined(who, ", ")));
}

json advice_json(const advise::Advice& advice, const advise::Wish& wish,
                 const std::vector<advise::Step>& steps) {
  auto ranked = json::array(), declined = json::array(), trial = json::array();
  for (const auto& c : advice.ranked)
    ranked.push_back({{"method", c.method->id()},
                      {"params", c.params},
                      {"machine", c.machine},
                      {"prepare_seconds", c.forecast.prepare_seconds()},
                      {"run_seconds", c.forecast.run_seconds()},
                      {"total_seconds", c.forecast.total(wish.calls)},
                      {"spread", c.forecast.total(wish.calls, 1) / c.forecast.total(wish.calls)},
                      {"format_bytes", c.format_bytes},
                      {"device_bytes", c.device_bytes},
                      {"error", c.error},
                      {"measured", c.measured},
                      {"families", c.families}});
  for (const auto& d : advice.declined)
    declined.push_back({{"method", d.method}, {"params", d.params}, {"reason", d.reason}});
  for (const auto& [place, t] : steps)
    trial.push_back(
        {{"prepare_seconds", t.prepare}, {"run_seconds", t.run}, {"failure", t.failure}});
  return {{"calls", wish.calls}, {"ranked", ranked},          {"declined", declined},
          {"trial", trial},      {"outside", advice.outside}, {"why", advice.why}};
}

int advise_command(const Given& given) {
  if (!given.text("train").empty()) return train_model(given);
  if (given.flag("regret")) return print_regret_table(given);
  const auto spec = asked_problem(given);
  const auto wish = wish_of(given);
  const auto name = given.positional("a data set or a tensor file");
  const auto seen = experience_for(given);
  const auto registry = all_methods();
  const auto datasets = given.registry();
  const auto& dataset = datasets.with_facts(name);
  const auto tensor = datasets.obtain(dataset, given.cache());
  const auto facts =
      kept_facts(given.cache(), datasets.checksum(dataset, given.cache()), [&] { return tensor; });
  const auto machine = given.text("machine");
  const bool here = machine.empty();
  const auto devices = here ? advise::devices_here(seen) : advise::devices_named(seen, machine);
  const bool trial = given.flag("trial");
  if (trial && !here) throw input_error("--trial runs on this machine: leave --machine out");
  const auto problem = trial ? Problem(spec, tensor) : Problem::outline(spec, tensor);
  auto advice = advise::advise(seen, registry, problem, facts, devices, wish, here);
  const auto tried = trial ? advise::settle(advice, problem, wish) : advise::Outcome();
  if (!tried.text.empty())
    advice.why = fmt::format("A trial put {} first: {}.\nBefore it: {}",
                             in_words(advice.ranked.front()), tried.text, advice.why);
  if (given.flag("json"))
    std::cout << advice_json(advice, wish, tried.steps).dump(2) << '\n';
  else
    print_advice(advice, wish, given.flag("all"));
  return advice.ranked.empty() ? 1 : 0;
}

}  // namespace

Interface advise_interface() {
  const Usage usage{"advise TENSOR",
                    "Predicts for a tensor (data set or file) the preparation time, run time, "
                    "memory and error of each method and parameter set, and lists them with the "
                    "smallest total time first. The predictions come from rows that were measured "
                    "on other tensors. Nothing is run unless you pass --trial.",
                    "retensor advise wordnet --operation mttkrp --mode 0 --rank 16 --calls 100",
                    -1};
  Options add;
  add("operation", word("OPERATION", "mttkrp"), joined(operation_names(), ", "));
  add("mode", number("MODE", 0), "mode of the operation, counted from 0");
  add("rank", number<std::uint64_t>("R", 16), "columns of the dense operands");
  add("variant", word("TEXT"),
      "add, sub, mul or div of tew and ts; the einsum of a contraction, such as abk,kcd->abcd");
  add("type", word("f32|f64", "f32"), "type of the values");
  add("calls", number<double>("N", 100), "runs that follow one preparation");
  add("memory", word("SIZE"),
      "largest memory of a method, such as 8GiB: on the GPU in total, on the host for its format");
  add("error", number<double>("E", 0),
      "allowed relative error (Frobenius norm); 0 leaves out all methods that round their "
      "operands");
  add("machine", word("NAME"),
      "plan for cpu, device or a machine that has rows, such as H200 (default: this machine)");
  add("trial", flag(),
      "prepare up to three candidates that are too close to tell apart, run each twice if that is "
      "expected to pay, and list those first with the times measured");
  add("all", flag(), "list every candidate, and why others were left out");
  add("model", word("FILE"), "table to predict from (default: the one built in)");
  add("train", word("FILE"),
      "write the table of the result files that are given instead of TENSOR (default: the "
      "committed ones) to FILE and stop");
  add("regret", flag(),
      "print how much longer the choices take than the best methods, each time without the rows of "
      "the tensor's family, and stop (with --error: rounding allowed)");
  add.locations();
  add.json();
  return {usage, add, advise_command};
}

}  // namespace retensor::driver
