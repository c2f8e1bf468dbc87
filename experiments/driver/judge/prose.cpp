#include "experiments/driver/judge/prose.hpp"

#include <fmt/format.h>

#include <boost/algorithm/string.hpp>
#include <cctype>
#include <map>

#include "common/core/text.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

using Entries = std::vector<json>;

/// Shares are percentages, all else has four digits.
std::string number_in_words(double value, bool share) {
  return share ? fmt::format("{:.3g}%", 100 * value) : fmt::format("{:.3g}", value);
}

bool is_share(const json& entry) {
  return boost::starts_with(entry["published"].value("unit", ""), "share");
}

std::string published_in_words(const json& entry) {
  const auto& published = entry["published"];
  const auto end = [&](const json& value) {
    return number_in_words(value.get<double>(), is_share(entry));
  };
  if (published.contains("at_least")) return end(published["at_least"]) + " or more";
  if (published.contains("at_most")) return end(published["at_most"]) + " or less";
  if (published.contains("value")) return end(published["value"]);
  return end(published["range"][0]) + " to " + end(published["range"][1]);
}

std::string told(const json& entry) {
  const auto numbers = numbers_in_words(entry);
  return fmt::format("{} (paper: {}, here: {})", entry["headline"].get<std::string>(),
                     numbers["paper"].get<std::string>(), numbers["here"].get<std::string>());
}

std::string told(const Entries& entries) {
  return in_words(transformed(entries, [](const json& entry) { return told(entry); }), "and");
}

/// With the claims that show it and what their rows say.
std::string cause_of(const json& entry) {
  const auto& cause = entry["cause"];
  if (cause.is_null()) return "Cause not found.";
  std::vector<std::string> shown;
  for (const auto& [id, found] : cause["shown_by"].items())
    shown.push_back(found.is_null() ? id : fmt::format("{}: {:.3g}", id, found.get<double>()));
  return fmt::format("Cause: {} (shown by {}).", cause["says"].get<std::string>(),
                     boost::join(shown, ", "));
}

/// Claims that fail, a sentence for those of one cause.
std::vector<std::string> failures(const Entries& failed) {
  std::vector<std::string> causes, sentences;
  std::map<std::string, Entries> by_cause;
  for (const auto& entry : failed) {
    const auto cause = cause_of(entry);
    if (by_cause[cause].empty()) causes.push_back(cause);
    by_cause[cause].push_back(entry);
  }
  for (const auto& cause : causes)
    sentences.push_back(fmt::format("Does not hold: {}. {}", told(by_cause[cause]), cause));
  return sentences;
}

}  // namespace

json numbers_in_words(const json& entry) {
  const auto& found = entry["measured"];
  return {{"paper", published_in_words(entry)},
          {"here", found.is_null() ? "" : number_in_words(found.get<double>(), is_share(entry))}};
}

std::vector<std::string> prose_of(const Entries& entries) {
  Entries held, failed, open;
  for (const auto& entry : entries) {
    if (entry["headline"].is_null()) continue;
    (entry["holds"].is_null() ? open : entry["holds"] == true ? held : failed).push_back(entry);
  }
  if (held.empty() && failed.empty() && open.empty()) return {};
  std::vector<std::string> sentences = {held.empty() ? "No headline claim holds."
                                                     : fmt::format("Holds: {}.", told(held))};
  for (auto& sentence : failures(failed)) sentences.push_back(std::move(sentence));
  if (failed.empty()) sentences.emplace_back("No headline claim fails.");
  std::map<std::string, std::vector<std::string>> by_verdict;
  for (const auto& entry : open)
    by_verdict[entry["verdict"].get<std::string>()].push_back(entry["headline"].get<std::string>());
  for (const auto& [verdict, headlines] : by_verdict)
    sentences.push_back(fmt::format("{}{}: {}.", static_cast<char>(std::toupper(verdict.front())),
                                    verdict.substr(1), in_words(headlines, "and")));
  return sentences;
}

}  // namespace retensor::driver
