// Long options of one subcommand (Boost.Program_options) and its generated help.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "experiments/driver/commands/commands.hpp"

#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/locations.hpp"

namespace retensor::driver {

namespace po = boost::program_options;

struct Usage {
  std::string synopsis;  ///< "plan SPEC..."
  std::string summary;   ///< what the command does, in a sentence or two
  std::string example;   ///< one command line that works in the source tree
  int positionals = 0;   ///< most positional arguments; -1: any number
};

/// Parsed options; nothing when --help was asked for and has been printed. Throws InputError for an
/// unknown option (naming the nearest one), a malformed value, or too many positional arguments.
std::optional<po::variables_map> parse_options(const Usage& usage,
                                               const po::options_description& options,
                                               const Args& args);
/// The positional arguments in order.
std::vector<std::string> positionals(const po::variables_map& given);
/// The only positional argument; throws InputError with `what` when it is missing.
std::string required_positional(const po::variables_map& given, const std::string& what);

/// Options that several commands share.
void add_profile_option(po::options_description& options);    ///< --with NAME
void add_location_options(po::options_description& options);  ///< --registry FILE, --cache DIR
std::string profile_of(const po::variables_map& given);
Locations locations_of(const po::variables_map& given);
/// The registry that was given, or the project's.
DatasetRegistry registry_of(const po::variables_map& given);
std::string cache_of(const po::variables_map& given);

}  // namespace retensor::driver
