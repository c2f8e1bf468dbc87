// retensor bench: every method that has an operation, timed on one tensor without a spec.
//
// The cases go the way of `run`: a plan, workers of their own, the oracle, one row a case.

#include <algorithm>
#include <array>
#include <cctype>
#include <iostream>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/core/hash.hpp"
#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/io/files.hpp"
#include "common/method/registry.hpp"
#include "common/run/all_modes.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/run/labels.hpp"
#include "experiments/driver/run/progress.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/sweep.hpp"
#include "experiments/driver/run/table.hpp"
#include "experiments/driver/spec/methods.hpp"
#include "experiments/driver/spec/plan.hpp"

namespace retensor::driver {
using nlohmann::json;
namespace {

constexpr const char* kArtifact = "bench/tensor";

/// The methods asked for, by default all that have the operation.
std::vector<MethodEntry> methods_of(const Given& given, const Registry& registry,
                                    Operation operation) {
  std::vector<MethodEntry> entries;
  for (const auto& id : given.texts("method")) entries.push_back({id, {"--method", 0, 0}, {}});
  if (!entries.empty()) return entries;
  for (const auto& method : registry.methods())
    if (has_operation(*method, operation))
      entries.push_back({std::string(method->id()), {"--operation", 0, 0}, {}});
  return entries;
}

/// Words as a shell divides them: at blanks that stand in no quotes.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  bool inside = false;  // a word, which may be an empty one in quotes
  char quote = 0;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (quote == 0 && blank) {
      inside = false;
      continue;
    }
    if (!std::exchange(inside, true)) words.emplace_back();
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    else
      words.back() += c;
  }
  if (quote != 0)
    throw input_error("--command: found one {} in \"{}\" that is not closed, expected another",
                      quote, text);
  return words;
}

/// Code from outside that the command line names: an executable, or libraries.
std::vector<MethodEntry> foreign_methods_of(const Given& given) {
  std::vector<MethodEntry> entries;
  const auto add = [&](const char* option, const std::string& id, const ForeignEntry& entry) {
    entries.push_back({id, {option, 0, 0}, {}, entry});
    entries.back().foreign->precision = given.text("precision");
  };
  if (const auto word = given.text("precision"); !word.empty())
    place_among(foreign_precisions(), word, "--precision: found");
  const auto format = given.text("format");
  place_among(std::array{"tns", "tnsb", "mtx"}, format, "--format: found");
  const auto words = words_of(given.text("command"));
  if (words.empty() && given.typed("command"))
    throw input_error("--command: found no words, expected an executable with its arguments");
  if (!words.empty())
    add("--command", default_foreign_id(words[0]),
        {false, words[0], {words.begin() + 1, words.end()}, format, "", ""});
  for (const auto& text : given.texts("library")) {
    const auto library = foreign_library(text);
    add("--library", library.id, library.entry);
  }
  return entries;
}

template <class T>
std::vector<Located> values_of(const std::vector<T>& values, const char* option) {
  return transformed(values, [&](const T& value) { return Located{value, {option, 0, 0}}; });
}

/// What a spec file would say.
Spec spec_of(const Given& given, const Registry& registry) {
  const auto operation = operation_from_name(given.text("operation"));
  Spec spec;
  spec.path = "retensor bench";
  spec.artifact = kArtifact;
  spec.title = "retensor bench " + joined(given.args(), " ");
  spec.sha256 = sha256_hex(spec.title);
  spec.operations = values_of<std::string>({std::string(name(operation))}, "--operation");
  if (const auto variant = given.text("variant"); !variant.empty())
    spec.variants = values_of<std::string>({variant}, "--variant");
  const FilePosition tensor{"bench", 0, 0};
  spec.axes["dataset"] = {{given.positional("a data set or a tensor file"), tensor}};
  spec.axes["dtype"] =
      values_of<std::string>({std::string(name(dtype_from_name(given.text("type"))))}, "--type");
  if (has_rank(operation))
    spec.axes["rank"] = values_of(given.get<std::vector<std::int64_t>>("rank"), "--rank");
  if (const auto modes = given.get<std::vector<std::int64_t>>("mode"); !modes.empty())
    spec.axes["mode"] = values_of(modes, "--mode");
  spec.methods = methods_of(given, registry, operation);
  for (auto& entry : foreign_methods_of(given)) spec.methods.push_back(std::move(entry));
  spec.measure.timing.samples = given.get<int>("samples");
  spec.measure.timeout = given.time_limit();
  spec.measure.ceilings = !given.flag("no-ceilings");
  spec.measure.expected = {std::string(name(Status::unsupported))};
  return spec;
}

void check_numbers(const Given& given) {
  const auto expect = [](const char* option, std::int64_t found, std::int64_t least,
                         std::int64_t most) {
    if (found < least || found > most)
      throw input_error("{}: found {}, expected {} to {}", option, found, least, most);
  };
  for (const auto rank : given.get<std::vector<std::int64_t>>("rank"))
    expect("--rank", rank, 1, 1 << 20);
  for (const auto mode : given.get<std::vector<std::int64_t>>("mode"))
    expect("--mode", mode, 0, kMaxOrder - 1);
  expect("--samples", given.get<int>("samples"), 1, 100'000);
}

/// The rows of one problem: those that are ok with the fastest first, then the others.
struct Ranking {
  json problem;  ///< members of the case that say what is computed
  std::vector<Row> ok, others;
};

std::vector<Ranking> rankings(const std::vector<Row>& rows) {
  std::map<std::string, Ranking> by_problem;
  for (const auto& row : rows) {
    const auto problem = problem_of(row.row_case());
    auto& ranking = by_problem[problem.dump()];
    ranking.problem = problem;
    (row.ok() ? ranking.ok : ranking.others).push_back(row);
  }
  std::vector<Ranking> list;
  for (auto& [text, ranking] : by_problem) {
    std::ranges::stable_sort(ranking.ok, [](const Row& a, const Row& b) {
      return a.number("stats.median") < b.number("stats.median");
    });
    list.push_back(std::move(ranking));
  }
  return list;
}

std::string problem_text(const json& problem) {
  auto text = fmt::format("{} of {}", problem["operation"].get<std::string>(),
                          problem["dataset"].get<std::string>());
  if (problem.contains("variant") && problem["variant"].is_string() && problem["variant"] != "")
    text += ", " + problem["variant"].get<std::string>();
  for (const char* member : {"mode", "rank", "dtype"})
    if (problem.contains(member) && !problem[member].is_null())
      text += fmt::format(", {}{}",
                          std::string_view(member) == "dtype" ? "" : fmt::format("{} ", member),
                          plain_text(problem[member]));
  return text;
}

TableRow row_of(const Row& row, double fastest) {
  const auto seconds = row.number("stats.median");
  const auto share = row.number("roofline.share");
  const bool chosen = row.field("executed.chosen_by").is_string();
  return {row.method() + (chosen ? " (auto)" : ""),
          duration_text(seconds),
          fmt::format("{:.2f}x", seconds / fastest),
          spread_text(row.line()),
          fmt::format("{:.3g}", row.number("rates.gflops")),
          share > 0 ? fmt::format("{:.0f}%", 100 * share) : "-",
          bytes_text(static_cast<Count>(row.number("footprint.format_bytes"))),
          duration_text(row.number("phases.prepare")),
          fmt::format("{:.2g}", row.number("check.error_over_bound"))};
}

void print_ranking(const Ranking& ranking) {
  const auto& style = out_style();
  std::cout << style(Tone::strong, problem_text(ranking.problem)) << "\n\n";
  std::vector<TableRow> rows;
  for (const auto& row : ranking.ok)
    rows.push_back(row_of(row, ranking.ok.front().number("stats.median")));
  if (!rows.empty())
    std::cout << table_text({"method", "time", "/ fastest", "spread", "GFLOP/s", "of roofline",
                             "format", "prepare", "error/bound"},
                            rows, style);
  for (const auto& row : ranking.ok)
    for (const auto& finding : texts_at(row.line(), "findings"))
      std::cout << fmt::format("{}: {}\n  {}\n", style(Tone::bad, "finding"), finding,
                               row.method());
  std::map<std::string, std::vector<std::string>> reasons;
  for (const auto& row : ranking.others)
    reasons[row.status() == Status::unsupported
                ? style(Tone::doubtful, "declined") + ": " + text_of(row.line(), "reason")
                : style(Tone::bad, name(row.status())) + ": " + text_of(row.line(), "reason")]
        .push_back(row.method());
  for (const auto& [reason, methods] : reasons)
    std::cout << fmt::format("{}\n  {}\n", reason, joined(methods, ", "));
  std::cout << '\n';
}

void to_json(json& j, const Ranking& ranking) {
  auto ok = json::array(), others = json::array();
  for (const auto& row : ranking.ok) {
    const auto& stats = row.field("stats");
    ok.push_back({{"method", row.method()},
                  {"seconds", stats["median"]},
                  {"spread", row.number("stats.max") / row.number("stats.min")},
                  {"samples", stats["count"]},
                  {"gflops", row.field("rates.gflops")},
                  {"roofline_share", row.field("roofline.share")},
                  {"format_bytes", row.field("footprint.format_bytes")},
                  {"prepare_seconds", row.field("phases.prepare")},
                  {"error_over_bound", row.field("check.error_over_bound")},
                  {"executed", row.field("executed")}});
    if (const auto findings = texts_at(row.line(), "findings"); !findings.empty())
      ok.back()["findings"] = findings;
  }
  for (const auto& row : ranking.others)
    others.push_back({{"method", row.method()},
                      {"status", name(row.status())},
                      {"reason", text_of(row.line(), "reason")}});
  j = {{"problem", ranking.problem}, {"methods", ok}, {"not_ok", others}};
}

/// The rows that the last session of a file measured.
std::vector<Row> rows_of_session(const std::string& path) {
  const auto session = newest_session(path);
  auto rows = newest_rows({path});
  std::erase_if(rows, [&](const Row& row) { return text_of(row.line(), "session") != session; });
  return rows;
}

void expect_cases(const Plan& plan) {
  if (!plan.cases.empty()) return;
  throw InputError(plan.skips.empty()
                       ? std::string("bench: no method has the operation")
                       : fmt::format("bench: nothing to run: {}", plan.skips.front().reason));
}

Plan plan_of(const Given& given, const DatasetRegistry& datasets) {
  const EndedBySignals planning;
  auto spec = spec_of(given, all_methods());
  const auto registry = methods_for(spec);
  for (const auto& entry : spec.methods) method_of_spec(registry, entry.id);
  auto plan = make_plan(spec, registry, datasets);
  expect_cases(plan);
  return plan;
}

int bench_command(const Given& given) {
  check_numbers(given);
  refuse_options_of_others(operation_from_name(given.text("operation")), given);
  if (!given.typed("command")) given.refuse({"format"}, "without --command");
  if (!given.typed("command") && !given.typed("library"))
    given.refuse({"precision"}, "without --command or --library");
  StopSignals stop;
  auto datasets = given.registry();
  datasets.read_paths_in(dtype_from_name(given.text("type")));
  const auto plan = plan_of(given, datasets);
  const ScratchFolder scratch;  // for rows that the user does not keep
  const auto kept = given.text("output");
  SweepOptions sweep;
  sweep.out = kept.empty() ? (scratch.path() / "rows.jsonl").string() : kept;
  sweep.at = given.locations();
  sweep.rerun = true;
  sweep.quiet = given.flag("quiet");
  sweep.argv = given.command_line("bench");
  const auto done = run_sweep(plan, datasets, sweep, stop);
  const auto list = rankings(rows_of_session(done.path));
  if (given.flag("json")) {
    std::cout << json(list).dump(2) << '\n';
  } else {
    for (const auto& ranking : list) print_ranking(ranking);
  }
  if (done.stopped) return 128 + stop.first();
  return done.not_ok == 0 ? 0 : 1;
}

}  // namespace

void refuse_options_of_others(Operation operation, const Given& given) {
  const auto where = fmt::format("with --operation {}", name(operation));
  const bool has_variant = operation == Operation::tew || operation == Operation::ts ||
                           operation == Operation::contraction;
  if (!has_mode(operation)) given.refuse({"mode"}, where);
  if (!has_rank(operation)) given.refuse({"rank"}, where);
  if (!has_variant) given.refuse({"variant"}, where);
}

Interface bench_interface() {
  const Usage usage{
      "bench TENSOR",
      "Times every method that has an operation on a tensor (data set or file) and lists the "
      "fastest first. Each result is checked against the oracle in double precision. Methods that "
      "decline the problem or can't run on this machine are listed with the reason.\nspread: the "
      "slowest sample over the fastest. of roofline: the rate as a share of what the measured "
      "memory bandwidth allows. format: memory of the method's own format. error/bound: the "
      "largest error over the error bound of the check, at most 1.",
      "retensor bench wordnet --operation mttkrp --mode 0 --rank 16", 1};
  Options add;
  add("operation", word("OPERATION", "mttkrp"), joined(operation_names(), ", "));
  add("mode", po::value<std::vector<std::int64_t>>()->multitoken()->value_name("MODE..."),
      "modes, counted from 0 (default: all)");
  add("rank",
      po::value<std::vector<std::int64_t>>()->multitoken()->value_name("R...")->default_value({16},
                                                                                              "16"),
      "columns of the dense operands");
  add("variant", word("TEXT"),
      "add, sub, mul or div of tew and ts; the einsum of a contraction, such as abk,kcd->abcd");
  add("type", word("f32|f64", "f32"),
      "type of the values; f64 also reads them so from a file, while data sets of the registry are "
      "kept in f32");
  add("method", words("METHOD..."),
      "only these methods, or auto, the one that the planner takes (default: all that have the "
      "operation)");
  add("command", word("\"PROGRAM ARG...\""),
      "also this external program, in quotes with its arguments");
  add("format", word("tns|tnsb|mtx", "tns"), "file format in which the program gets the tensor");
  add("library", words("[ID=]FILE..."),
      "also these external shared libraries (retensor_method.h); give one that works on a GPU such "
      "an id: theirs.cuda=./libtheirs.so");
  add("precision", word("WORD"),
      fmt::format("precision in which external code computes: {} (default: the type of the values)",
                  joined(foreign_precisions(), ", ")));
  add("samples", number("N", TimingOptions{}.samples), "timed runs of each method");
  add.time_limit(60);
  add("no-ceilings", flag(),
      "do not measure the memory bandwidth first, which takes a few seconds; the column of the "
      "roofline is empty then");
  add("output", word("FILE"), "result file to append the rows to");
  add("quiet", flag(), "print no progress");
  add.locations();
  add.json();
  return {usage, add, bench_command};
}

}  // namespace retensor::driver
