// Long options of one subcommand (Boost.Program_options) and its generated help.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/data/locations.hpp"

namespace retensor::driver {
namespace po = boost::program_options;

using Args = std::vector<std::string>;

struct Usage {
  std::string synopsis;  ///< "plan SPEC..."
  std::string summary;   ///< what the command does, in a sentence or two
  std::string example;   ///< one command line that works in the source tree
  int positionals = 0;   ///< most positional arguments; -1: any number
  /// Why the command has no --json, where it has none.
  std::string without_json = "it prints only the paths of the files that it writes";
  /// Before the synopsis; empty where that begins with another program.
  std::string program = "retensor ";

  /// The first word of the synopsis.
  std::string command() const { return synopsis.substr(0, synopsis.find(' ')); }
  /// Before a complaint, which begins with the program's name.
  std::string lead() const { return program.empty() ? "" : command() + ": "; }
  /// How to ask for help.
  std::string help() const { return program + command() + " --help"; }
};

/// The kinds of options; `name` stands for the value in the help.
po::value_semantic* flag();
po::value_semantic* word(const char* name, const char* standard = "");
po::value_semantic* words(const char* name);
template <class T>
po::value_semantic* number(const char* name, T standard) {
  return po::value<T>()->value_name(name)->default_value(standard);
}

/// The options of a command, to which a call adds one with its kind and its line of help. Where the
/// help begins with words and a colon, as in "fetch, make: ...", the option applies to these alone:
/// Given::refuse_others_than().
struct Options : po::options_description {
  void operator()(const char* name, const po::value_semantic* kind, const std::string& help) {
    add_options()(name, kind, help.c_str());
  }
  // Those that several commands share.
  void profile();                 ///< --with NAME
  void json();                    ///< --json
  void calibration();             ///< --calibration FILE...
  void locations();               ///< --registry, --recipes, --cache
  void oracles();                 ///< --keep-oracles
  void time_limit(int standard);  ///< --timeout SECONDS, of each case
};

/// What was given on the command line.
class Given {
 public:
  /// `scopes`: by option the words of which it takes one to apply, empty for most.
  Given(po::variables_map values, Args args, std::map<std::string, Args> scopes)
      : values_(std::move(values)), args_(std::move(args)), scopes_(std::move(scopes)) {}

  /// The command line after the command's name, as it was typed.
  const Args& args() const { return args_; }
  /// The same from `retensor` on.
  Args command_line(const char* command) const;

  bool flag(const char* option) const { return get<bool>(option); }
  /// Whether the command line has the option.
  bool typed(const char* option) const {
    return values_.count(option) > 0 && !values_[option].defaulted();
  }
  /// Throws InputError for an option that was typed and does nothing `where`, which is "with
  /// --launcher local" or the like.
  void refuse(const Args& options, const std::string& where) const;
  /// The same for those whose help begins with other words than `chosen`.
  void refuse_others_than(const std::string& chosen, const std::string& where) const;
  /// Empty where the option is not given and has no default.
  std::string text(const char* option) const { return get<std::string>(option); }
  std::vector<std::string> texts(const char* option) const { return get<Args>(option); }
  /// T() where the option is not given and has no default.
  template <class T>
  T get(const char* option) const {
    return values_.count(option) == 0 ? T() : values_[option].as<T>();
  }

  /// The positional arguments in order.
  Args positionals() const;
  /// At least one; throws InputError with this complaint when there is none.
  Args positionals(const char* complaint) const;
  /// The only positional argument; throws InputError with `what` when it is missing.
  std::string positional(const std::string& what) const;
  std::string profile() const { return text("with"); }
  Locations locations() const;
  /// An option that counts what there has to be one of. Throws InputError for less.
  int at_least_one(const char* option) const;
  /// --timeout; throws InputError unless it is from a second to a day.
  std::chrono::seconds time_limit() const;
  /// The registry that was given, or the project's.
  DatasetRegistry registry() const;
  std::string cache() const { return locations().cache; }

 private:
  po::variables_map values_;
  Args args_;
  std::map<std::string, Args> scopes_;
};

/// An option as help, man page and shell completion describe it.
struct OptionFacts {
  std::string name;      ///< without dashes
  std::string value;     ///< the name that stands for its value; empty where it takes none
  std::string standard;  ///< the default, empty without one
  std::string help;
};
/// Of all options of a command, --help included.
std::vector<OptionFacts> facts_of(const po::options_description& options);

/// Synopsis, summary, options and example, as --help prints them.
std::string help_text(const Usage& usage, const po::options_description& options);

/// Parsed options; nothing when --help was asked for. Throws InputError for an unknown option, a
/// malformed value, or too many positional arguments.
std::optional<Given> parse_options(const Usage& usage, const po::options_description& options,
                                   const Args& args);

}  // namespace retensor::driver
