// Help has one shape for every subcommand: synopsis, summary, options, example.
#include "experiments/driver/commands/options.hpp"

#include <iostream>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/data/locations.hpp"

namespace retensor::driver {
namespace {

constexpr const char* kPositional = "positional";

void print_help(const Usage& usage, const po::options_description& options) {
  std::cout << fmt::format("Usage: retensor {} [options]\n\n{}\n\n", usage.synopsis, usage.summary)
            << options << fmt::format("\nExample:\n  {}\n", usage.example);
}

std::vector<std::string> option_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  return names;
}

}  // namespace

std::optional<po::variables_map> parse_options(const Usage& usage,
                                               const po::options_description& options,
                                               const Args& args) {
  po::options_description visible("Options");
  visible.add(options).add_options()("help,h", "print this help");
  po::options_description all;
  all.add(visible).add_options()(kPositional, po::value<std::vector<std::string>>());
  po::positional_options_description places;
  places.add(kPositional, usage.positionals);

  namespace style = po::command_line_style;
  const int spelling = style::unix_style & ~style::allow_guessing;
  po::variables_map given;
  try {
    po::store(po::command_line_parser(args).options(all).positional(places).style(spelling).run(),
              given);
    po::notify(given);
  } catch (const po::unknown_option& e) {
    throw InputError(fmt::format("unknown option '{}', the nearest is '{}'", e.get_option_name(),
                                 nearest(e.get_option_name(), option_names(visible))));
  } catch (const po::error& e) {
    throw InputError(fmt::format("{} (see: retensor {} --help)", e.what(),
                                 usage.synopsis.substr(0, usage.synopsis.find(' '))));
  }
  if (given.count("help") != 0) {
    print_help(usage, visible);
    return std::nullopt;
  }
  return given;
}

std::vector<std::string> positionals(const po::variables_map& given) {
  return given.count(kPositional) == 0 ? Args{} : given[kPositional].as<Args>();
}

std::string required_positional(const po::variables_map& given, const std::string& what) {
  const auto found = positionals(given);
  if (found.size() != 1) throw InputError("expected " + what);
  return found.front();
}

void add_profile_option(po::options_description& options) {
  options.add_options()("with", po::value<std::string>()->value_name("PROFILE")->default_value(""),
                        "overlay of the spec's profiles to apply: quick, device, full");
}

void add_location_options(po::options_description& options) {
  options.add_options()("registry", po::value<std::string>()->value_name("FILE"),
                        "data set registry (default: datasets/registry.yaml)")(
      "recipes", po::value<std::string>()->value_name("DIR"),
      "folder of programs that make data sets (default: the project's, whichever the registry)")(
      "cache", po::value<std::string>()->value_name("DIR"),
      "cache of converted tensors (default: $RETENSOR_CACHE or cache/)");
}

std::string profile_of(const po::variables_map& given) {
  return given["with"].as<std::string>();
}

Locations locations_of(const po::variables_map& given) {
  Locations at;
  const auto take = [&given](const char* option, std::string& place) {
    if (given.count(option) != 0) place = given[option].as<std::string>();
  };
  take("registry", at.registry);
  take("recipes", at.recipes);
  take("cache", at.cache);
  return at;
}

DatasetRegistry registry_of(const po::variables_map& given) {
  const auto at = locations_of(given);
  return DatasetRegistry::load(at.registry, at.recipes);
}

std::string cache_of(const po::variables_map& given) {
  return locations_of(given).cache;
}

}  // namespace retensor::driver
