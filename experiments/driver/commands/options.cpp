// Help has one shape for every subcommand: synopsis, summary, options, example.
#include "experiments/driver/commands/options.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <boost/algorithm/string.hpp>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace {

constexpr const char* kPositional = "positional";

po::options_description with_help(const po::options_description& options) {
  po::options_description visible("Options");
  visible.add(options).add_options()("help,h", "print this help");
  return visible;
}

/// Not every command prints data: those that do not say so instead of naming another option.
void refuse_option(const Usage& usage, const std::string& option,
                   const std::vector<std::string>& known) {
  if (option == "--json")
    throw input_error("{}there is no --json: {}", usage.lead(), usage.without_json);
  throw input_error("{}unknown option '{}'{}", usage.lead(), option, suggestion(option, known));
}

/// What an option of such numbers, one or several, expects in place of `text`: `words`, or the
/// range of the type where the number is outside; empty where it takes others or `text` is one.
template <class Number>
std::string missed(const po::value_semantic* option, std::string_view text, const char* words) {
  if (dynamic_cast<const po::typed_value<Number>*>(option) == nullptr &&
      dynamic_cast<const po::typed_value<std::vector<Number>>*>(option) == nullptr)
    return "";
  if (text.starts_with('+')) text.remove_prefix(1);  // which Boost reads too
  Number number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return words;
  if (error == std::errc()) return "";
  using Range = std::numeric_limits<Number>;
  if (!Range::is_integer) return words;
  return text.starts_with('-') ? fmt::format("at least {}", Range::lowest())
                               : fmt::format("at most {}", Range::max());
}

/// The numbers that an option takes, in words; empty where it takes none or `text` is one. Boost
/// reads "-3" as the whole number 2^64 - 3 where none below zero is meant.
std::string numbers_missed(const po::value_semantic* option, std::string_view text) {
  const bool list = option->max_tokens() > 1;
  const auto* const whole = list ? "whole numbers, separated by blanks" : "a whole number";
  for (const auto& expected :
       {missed<std::uint64_t>(
            option, text,
            list ? "whole numbers from 0 on, separated by blanks" : "a whole number from 0 on"),
        missed<int>(option, text, whole), missed<std::int64_t>(option, text, whole),
        missed<double>(option, text, "a number")})
    if (!expected.empty()) return expected;
  return "";
}

void refuse_other_than_numbers(const po::parsed_options& parsed,
                               const po::options_description& known) {
  for (const auto& option : parsed.options) {
    const auto* const described = known.find_nothrow(option.string_key, false);
    if (described == nullptr) continue;
    for (const auto& value : option.value)
      if (const auto numbers = numbers_missed(described->semantic().get(), value); !numbers.empty())
        throw input_error("--{}: found {}, expected {}", option.string_key,
                          value.empty() ? "nothing" : value, numbers);
  }
}

/// "fetch, make: what it does" applies to fetch and make; more than one word before a comma or the
/// colon is a sentence.
std::map<std::string, Args> scopes_of(const po::options_description& options) {
  static const std::regex scope("([a-z]+(, [a-z]+)*): .*");
  std::map<std::string, Args> scopes;
  for (const auto& option : facts_of(options))
    if (std::smatch found; std::regex_match(option.help, found, scope))
      boost::split(scopes[option.name], found.str(1), boost::is_any_of(", "),
                   boost::token_compress_on);
  return scopes;
}

std::vector<std::string> option_names(const po::options_description& options) {
  return transformed(facts_of(options), [](const auto& option) { return "--" + option.name; });
}

}  // namespace

std::vector<OptionFacts> facts_of(const po::options_description& options) {
  std::vector<OptionFacts> facts;
  const auto all = with_help(options);
  for (const auto& option : all.options()) {
    OptionFacts of{option->long_name(), "", "", option->description()};
    if (option->semantic()->max_tokens() > 0) {
      // "NAME", or "NAME (=default)".
      const auto value = option->semantic()->name();
      const auto end = value.find(" (=");
      of.value = value.substr(0, end);
      if (end != std::string::npos) of.standard = value.substr(end + 3, value.size() - end - 4);
    }
    facts.push_back(std::move(of));
  }
  return facts;
}

std::string help_text(const Usage& usage, const po::options_description& options) {
  std::ostringstream text;
  text << fmt::format("Usage: {}{} [options]\n\n{}\n\n", usage.program, usage.synopsis,
                      usage.summary)
       << with_help(options) << fmt::format("\nExample:\n  {}\n", usage.example);
  return text.str();
}

std::optional<Given> parse_options(const Usage& usage, const po::options_description& options,
                                   const Args& args) {
  const auto visible = with_help(options);
  po::options_description all;
  all.add(visible).add_options()(kPositional, po::value<Args>());
  po::positional_options_description places;
  places.add(kPositional, usage.positionals);

  namespace style = po::command_line_style;
  const int spelling = style::unix_style & ~style::allow_guessing;
  po::variables_map given;
  try {
    const auto parsed =
        po::command_line_parser(args).options(all).positional(places).style(spelling).run();
    refuse_other_than_numbers(parsed, all);
    po::store(parsed, given);
    po::notify(given);
  } catch (const po::unknown_option& e) {
    refuse_option(usage, e.get_option_name(), option_names(options));
  } catch (const po::too_many_positional_options_error&) {
    throw input_error("{}found more arguments than '{}{}' takes (see: {})", usage.lead(),
                      usage.program, usage.synopsis, usage.help());
  } catch (const po::error& e) {
    throw input_error("{} (see: {})", e.what(), usage.help());
  }
  if (given.count("help") != 0) return std::nullopt;
  return Given(std::move(given), args, scopes_of(options));
}

void Given::refuse(const Args& options, const std::string& where) const {
  for (const auto& option : options)
    if (typed(option.c_str()))
      throw input_error("--{} does nothing {}; leave it out", option, where);
}

void Given::refuse_others_than(const std::string& chosen, const std::string& where) const {
  for (const auto& [option, words] : scopes_)
    if (std::ranges::find(words, chosen) == words.end()) refuse({option}, where);
}

Args Given::command_line(const char* command) const {
  Args all = {"retensor", command};
  all.insert(all.end(), args_.begin(), args_.end());
  return all;
}

Args Given::positionals() const {
  return texts(kPositional);
}

Args Given::positionals(const char* complaint) const {
  auto found = positionals();
  if (found.empty()) throw InputError(complaint);
  return found;
}

std::string Given::positional(const std::string& what) const {
  const auto found = positionals();
  if (found.empty()) throw InputError("expected " + what);
  if (found.size() > 1)
    throw input_error("found {} arguments, expected only {}", found.size(), what);
  return found.front();
}

std::chrono::seconds Given::time_limit() const {
  constexpr int kDay = 86'400;
  const auto seconds = get<int>("timeout");
  if (seconds < 1 || seconds > kDay)
    throw input_error("--timeout: found {}, expected 1 to {}", seconds, kDay);
  return std::chrono::seconds(seconds);
}

Locations Given::locations() const {
  Locations at;
  const auto take = [this](const char* option, std::string& place) {
    if (const auto named = text(option); !named.empty()) place = named;
  };
  take("registry", at.registry);
  take("recipes", at.recipes);
  take("cache", at.cache);
  return at;
}

DatasetRegistry Given::registry() const {
  const auto at = locations();
  return DatasetRegistry::load(at.registry, at.recipes);
}

po::value_semantic* flag() {
  return po::bool_switch();
}

po::value_semantic* word(const char* name, const char* standard) {
  return po::value<std::string>()->value_name(name)->default_value(standard);
}

po::value_semantic* words(const char* name) {
  return po::value<Args>()->multitoken()->value_name(name);
}

void Options::profile() {
  (*this)("with", word("PROFILE"), "profile of the spec to apply: quick, device or full");
}

void Options::calibration() {
  (*this)(
      "calibration", words("FILE..."),
      "files of `retensor calibrate` that take precedence over those in the folders of results");
}

void Options::json() {
  (*this)("json", flag(), "print JSON instead of text");
}

int Given::at_least_one(const char* option) const {
  const int found = get<int>(option);
  if (found < 1) throw input_error("--{}: found {}, expected 1 or more", option, found);
  return found;
}

void Options::oracles() {
  (*this)("keep-oracles", flag(),
          "keep the expected results in the cache folder for further runs on the same data sets "
          "(default: they are removed after the last use of a data set)");
}

void Options::time_limit(int standard) {
  (*this)("timeout", number("SECONDS", standard),
          "time limit of each case, including its preparation and the check");
}

void Options::locations() {
  auto& add = *this;
  add("registry", word("FILE"), "data set registry (default: datasets/registry.yaml)");
  add("recipes", word("DIR"),
      "folder of the programs that make data sets (default: the project's, even with --registry)");
  add("cache", word("DIR"), "cache of converted tensors (default: $RETENSOR_CACHE or cache/)");
}

}  // namespace retensor::driver
