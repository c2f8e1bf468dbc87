// retensor verdict: published values beside measured ones.
#include "experiments/driver/judge/verdict.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <boost/algorithm/string.hpp>

#include "common/advise/facts.hpp"
#include "common/core/text.hpp"
#include "common/io/read.hpp"

#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/judge/exclusions.hpp"
#include "experiments/driver/judge/mutate.hpp"
#include "experiments/driver/judge/prose.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

std::vector<Claim> claims_of(const std::vector<std::string>& papers) {
  std::vector<Claim> all;
  for (const auto& path : files_of_papers("claims", papers)) {
    const auto claims = load_claims(path);
    all.insert(all.end(), claims.begin(), claims.end());
  }
  return all;
}

std::set<std::string> ids_of(const json& ids) {
  std::set<std::string> texts;
  for (const auto& id : ids.is_array() ? ids : json::array({ids}))
    if (id.is_string()) texts.insert(id.get<std::string>());
  return texts;
}

/// The tensor for which a stand-in stands, which may stand for another one itself.
std::string original_of(const DatasetRegistry& registry, std::string name) {
  for (std::size_t step = 0; step < registry.all().size(); ++step) {
    const auto found = registry.all().find(name);
    if (found == registry.all().end() || !found->second.stand_in.is_object()) break;
    name = text_of(found->second.stand_in, "for");
  }
  return name;
}

DataSets data_sets(const DatasetRegistry& registry) {
  DataSets result;
  for (const auto& [name, dataset] : registry.all()) {
    result.original[name] = original_of(registry, name);
    if (dataset.paper.is_object())
      for (const auto& [paper, facts] : dataset.paper.items()) result.papers[name].insert(paper);
    if (dataset.stand_in.is_object() && dataset.stand_in.contains("fitted_to"))
      result.fitted_to[name] = ids_of(dataset.stand_in["fitted_to"]);
  }
  return result;
}

/// A row of an artifact that no method measured; `members` are what it says beside its case.
Row made_row(const char* artifact, const std::string& key, const std::string& dataset,
             const json& data, json members) {
  const auto origin =
      std::make_shared<const Session>(Session{{{"machine", {{"cpu", {{"model", artifact}}}}}}, {}});
  members.update(
      {{"key", key},
       {"status", driver::name(Status::ok)},
       {"case", {{"artifact", artifact}, {"dataset", dataset}, {"method", ""}, {"data", data}}}});
  return Row(std::move(members), origin);
}

/// Rows of the artifact `registry`, one for each data set that can be had here: claims about sizes
/// ask them. Their facts are checked whenever the tensor is made or read.
std::vector<Row> registry_rows(const DatasetRegistry& registry, const std::string& cache) {
  std::vector<Row> rows;
  for (const auto& [name, d] : registry.all()) {
    if (!registry.obstacle(d, cache).empty()) continue;
    const auto replaced = d.stand_in.is_object() ? text_of(d.stand_in, "for") : "";
    rows.push_back(made_row("registry", "registry " + name, name,
                            data_object(d, d.sha256, d.dims, d.nnz),
                            {{"original", replaced.empty() ? name : replaced},
                             {"density", static_cast<double>(d.nnz) / cells_in(d.dims)}}));
  }
  return rows;
}

/// Rows of the artifact `layouts`, one for each small tensor beside the registry: blocks of edge 2,
/// the last mode plain or dense, as in the figures of PASTA.
std::vector<Row> layout_rows(const std::string& folder) {
  std::vector<Row> rows;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".tns") continue;
    const auto tensor = read_tensor(entry.path().string());
    if (tensor.order() < 2 || tensor.nnz() > kMostInLayout) continue;
    const std::vector<int> last = {tensor.order() - 1};
    json arrays = json::object();
    for (const auto& layout : layouts_of(tensor, {1, last, last}))
      arrays[layout.format] = arrays_text(layout);
    const auto name = entry.path().stem().string();
    rows.push_back(
        made_row("layouts", "layout " + name, name, {{"kind", "generated"}}, {{"layout", arrays}}));
  }
  return rows;
}

std::string published_text(const json& published) {
  const auto text = [&](const char* form, const char* pattern) {
    return published.contains(form) ? fmt::format(fmt::runtime(pattern), published[form].dump())
                                    : std::string();
  };
  return text("value", "{}") + text("at_least", ">= {}") + text("at_most", "<= {}") +
         text("range", "{}");
}

/// A verdict with what it says of the claim, in the words of README and report.
std::string with_outcome(const json& verdict) {
  const auto word = verdict["verdict"].get<std::string>();
  if (!verdict["holds"].is_boolean()) return word;
  return (verdict["holds"] == true ? "holds: " : "does not hold: ") + word;
}

/// Counts of verdicts, of the claims that rows can contradict, then of the set-up.
void print_counts(const json& verdicts) {
  std::map<bool, std::map<std::string, int>> counts;
  for (const auto& v : verdicts) ++counts[v["set_up"]][with_outcome(v)];
  for (const auto& [set_up, words] : counts)
    for (const auto& [word, count] : words)
      std::cout << fmt::format("{:>4} {}{}\n", count, word, set_up ? " (set-up)" : "");
}

Tone tone_of(const json& verdict) {
  return !verdict["holds"].is_boolean() ? Tone::dim
         : verdict["holds"] == true     ? Tone::good
                                        : Tone::bad;
}

/// The reason; where it names many exclusions, a sentence each, their number.
std::string short_reason(const json& verdict) {
  const auto reason = text_of(verdict, "reason");
  const auto& excluded = verdict["excluded"];
  if (excluded.size() < 3) return reason;
  std::set<std::string> specs;
  for (const auto& one : excluded) specs.insert(text_of(one, "artifact"));
  const auto first = reason.find(text_of(excluded.front(), "artifact") + " leaves out ");
  return fmt::format("{}left out by {}: {} groups of cases, which --json lists",
                     reason.substr(0, first), joined(specs, " and "), excluded.size());
}

/// The rules by which times were told apart, or not.
void print_rules(const json& verdicts, const std::vector<Calibration>& calibrations) {
  const auto count = [&](const auto& is) {
    return std::count_if(verdicts.begin(), verdicts.end(), is);
  };
  const auto widened = count([](const json& v) { return !v["between_launches"].is_null(); });
  const auto undecided = count([](const json& v) { return v["times_count"] == false; });
  if (widened > 0)
    std::cout << fmt::format(
        "intervals that include the variation between launches on their machine: {}\n", widened);
  if (undecided > 0)
    std::cout << fmt::format(
        "{} stay undecided, since no difference between times counts on their machine\n",
        undecided);
  if (widened + undecided == 0) return;
  for (const auto& calibration : calibrations) std::cout << "  " << rule_text(calibration) << '\n';
}

void print_table(const json& verdicts) {
  const auto& style = out_style();
  std::vector<TableRow> rows;
  for (const auto& v : verdicts) {
    const auto measured =
        v["measured"].is_null() ? "" : fmt::format("{:.4g}", v["measured"].get<double>());
    rows.push_back({v["id"], style(tone_of(v), text_of(v, "verdict")),
                    published_text(v["published"]), measured, v["data"], v["hardware"],
                    fmt::format("{}/{}", v["rows"].dump(), v["of"].dump()), short_reason(v)});
  }
  std::cout << table_text(
      {"claim", "verdict", "published", "measured", "data", "on", "rows", "reason"}, rows, style);
  print_counts(verdicts);
}

/// Claims that hold, each with the nearest change of its rows that would have turned it; those
/// that nothing turns come last.
void print_turns(const json& verdicts) {
  std::cout << fmt::format("{:<20} {:<12} {}\n", "claim", "asks", "turned by");
  int turned = 0, held = 0;
  for (const bool with : {true, false})
    for (const auto& v : verdicts) {
      if (v["holds"] != true || v["turned_by"].is_null() == with) continue;
      ++held;
      turned += with;
      std::cout << fmt::format("{:<20} {:<12} {}\n", v["id"].get<std::string>(),
                               v["asks"].get<std::string>(),
                               with ? v["turned_by"]["change"].get<std::string>() : "nothing");
    }
  std::cout << fmt::format("{} of {} claims that hold are turned\n", turned, held);
}

/// A claim that asks for a measurement or a property, and holds whatever its rows say.
bool cannot_fail(const json& v) {
  return v["holds"] == true && v["turned_by"].is_null() && v["set_up"] == false;
}

std::vector<LeftOut> exclusions_of_specs() {
  std::vector<LeftOut> all;
  for (const auto& spec : all_specs(""))
    for (auto& one : exclusions_of(spec)) all.push_back(std::move(one));
  return all;
}

/// What stands beside the rows.
struct Known {
  DataSets data;
  std::vector<LeftOut> exclusions;
};

/// Rows by their artifact, so that a claim is not compared with those of all others.
class RowsByArtifact {
 public:
  explicit RowsByArtifact(std::vector<Row> rows) : rows_(std::move(rows)) {
    for (std::size_t k = 0; k < rows_.size(); ++k)
      places_[rows_[k].field("case.artifact")].push_back(k);
  }
  /// The rows that the claim may match, in their order; all where it names no artifact.
  std::vector<Row> for_claim(const Claim& claim) const {
    std::set<std::size_t> places;
    for (const auto& part : claim.query ? parts_of(*claim.query) : std::vector<Part>()) {
      const auto named = part.where.find("case.artifact");
      if (named == part.where.end()) return rows_;
      for (const auto& artifact : named->second)
        if (const auto found = places_.find(artifact); found != places_.end())
          places.insert(found->second.begin(), found->second.end());
    }
    return transformed(places, [this](std::size_t k) { return rows_[k]; });
  }

 private:
  std::vector<Row> rows_;
  std::map<json, std::vector<std::size_t>> places_;
};

json entry_of(const Claim& claim, const RowsByArtifact& rows, const Known& known) {
  const auto judged = [&](const Claim& one, const std::vector<Row>& its_rows) {
    return judge(one, its_rows, known.data, known.exclusions);
  };
  const auto its_rows = rows.for_claim(claim);  // the verdict points to them
  const auto verdict = judged(claim, its_rows);
  auto entry = to_json(claim, verdict);
  const auto turn = nearest_turn(claim, verdict);
  entry["turned_by"] = turn ? json{{"change", turn->change}, {"factor", turn->factor}} : json();
  entry["earlier"] = json::array();
  for (const auto& former : claim.earlier) {
    const auto former_rows = rows.for_claim(former.claim);
    auto& form =
        entry["earlier"].emplace_back(to_json(former.claim, judged(former.claim, former_rows)));
    form["because"] = former.because;
  }
  return entry;
}

/// To the headline claims of a paper what came of all of them.
void add_prose(json& list) {
  std::map<std::string, std::vector<json>> by_paper;
  std::map<std::string, json> measured;
  for (const auto& entry : list) measured[entry["id"]] = entry["measured"];
  for (auto& entry : list)
    if (!entry["cause"].is_null())
      for (auto& [id, found] : entry["cause"]["shown_by"].items()) found = measured[id];
  for (const auto& entry : list) by_paper[entry["paper"]].push_back(entry);
  for (auto& entry : list) {
    if (entry["headline"].is_null()) continue;
    entry["in_words"] = numbers_in_words(entry);
    entry["prose"] = prose_of(by_paper[entry["paper"]]);
  }
}

/// Keeps the verdicts whose member is one of these words. Throws InputError for a word that is none
/// of those known.
json with_member(const json& verdicts, const char* member, const std::vector<std::string>& words,
                 const std::vector<std::string>& known) {
  if (words.empty()) return verdicts;
  for (const auto& word : words) place_among(known, word, fmt::format("--{}: found", member));
  json kept = json::array();
  for (const auto& v : verdicts)
    if (std::ranges::find(words, text_of(v, member)) != words.end()) kept.push_back(v);
  return kept;
}

/// Keeps the verdicts that hold the text in their id, place, statement or reason, whatever its
/// case.
json with_text(const json& verdicts, const std::string& text) {
  if (text.empty()) return verdicts;
  json kept = json::array();
  for (const auto& v : verdicts)
    for (const char* member : {"id", "place", "states", "reason"})
      if (boost::icontains(text_of(v, member), text)) {
        kept.push_back(v);
        break;
      }
  return kept;
}

json filtered(json list, const Given& given) {
  const std::map<const char*, std::vector<std::string>> known = {
      {"verdict", verdict_words()}, {"kind", claim_kinds()}, {"data", verdict_data()}};
  for (const auto& [member, words] : known)
    list = with_member(list, member, given.texts(member), words);
  return with_text(list, given.text("text"));
}

}  // namespace

json verdicts(const std::vector<std::string>& papers, const std::vector<std::string>& files,
              const Locations& at, const std::vector<Calibration>& calibrations) {
  const auto registry = DatasetRegistry::load(at.registry, at.recipes);
  const auto claims = claims_of(papers);
  auto rows = newest_rows(files);
  for (auto& row : rows)
    if (const auto* c = calibration_of(calibrations, row.device(), row.machine()))
      row.set_between_launches(c->between_launches());
  for (auto& row : registry_rows(registry, at.cache)) rows.push_back(std::move(row));
  for (auto& row : layout_rows(source_root() + "/datasets")) rows.push_back(std::move(row));
  const Known known{data_sets(registry), without_rows(exclusions_of_specs(), rows)};
  const RowsByArtifact by_artifact(std::move(rows));
  json list =
      transformed(claims, [&](const Claim& claim) { return entry_of(claim, by_artifact, known); });
  add_prose(list);
  return list;
}

namespace {

int verdict_command(const Given& given) {
  auto files = given.texts("rows");
  files = files.empty() ? committed_results() : required_results(std::move(files));
  auto papers = given.positionals();
  for (auto& paper : given.texts("paper")) papers.push_back(std::move(paper));
  const auto calibrations = calibrations_of(given);
  const auto list = filtered(verdicts(papers, files, given.locations(), calibrations), given);
  if (given.flag("json"))
    std::cout << list.dump(2) << '\n';
  else if (given.flag("mutate"))
    print_turns(list);
  else {
    print_table(list);
    print_rules(list, calibrations);
  }
  const auto any = [&](auto is) { return std::any_of(list.begin(), list.end(), is); };
  if (given.flag("mutate") && any(cannot_fail)) return 1;
  return given.flag("strict") && any([](const json& v) { return v["holds"] == false; }) ? 1 : 0;
}

}  // namespace

Interface verdict_interface() {
  const Usage usage{
      "verdict [PAPER]...",
      "Compares each published value of the papers (default: all) with the rows of the result "
      "files and says whether it holds. The filters combine: a claim is shown if all of them "
      "match.",
      "retensor verdict pasta --verdict inconsistent deviates --text hicoo", -1};
  Options add;
  add("paper", words("PAPER..."), "only these papers; the same as naming them before the options");
  add("verdict", words("VERDICT..."), "only these verdicts: " + joined(verdict_words(), ", "));
  add("kind", words("SET|DATA|EQ|TAB|FIG|NUM|ALG|QUAL|DER..."), "only claims of these kinds");
  add("data", words("real|stand-in|generated..."),
      "only verdicts on this data: " + joined(verdict_data(), ", "));
  add("text", word("TEXT"), "only claims with this text in id, place, statement or reason");
  add("rows", words("FILE..."),
      "result files and folders of them (default: the committed ones, all of experiments/results)");
  add("mutate", flag(),
      "for each claim that holds, find the smallest change of its rows that changes the verdict. "
      "Exit code 1 if some measurement or property has no such change");
  add("strict", flag(), "exit code 1 if a claim does not hold");
  add.calibration();
  add.locations();
  add.json();
  return {usage, add, verdict_command};
}

}  // namespace retensor::driver
