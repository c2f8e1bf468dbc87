// The program `retensor`: dispatch to a subcommand and the exit code of its errors.
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <boost/algorithm/string.hpp>

#include "common/core/build_info.hpp"
#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/run/table.hpp"

namespace {

using namespace retensor;
using driver::Args;

/// More threads than any machine runs end a worker before it can say so, and so does a number that
/// a runtime of OpenMP does not expect.
void expect_sane_environment() {
  constexpr int kMost = 4096;
  const auto given = driver::environment("OMP_NUM_THREADS");
  if (given.empty()) return;
  std::vector<std::string> levels;
  boost::split(levels, given, boost::is_any_of(","));
  const auto fits = [](std::string text) {
    boost::trim(text);
    const auto threads = number_in<int>(text);
    return threads && *threads >= 1 && *threads <= kMost;
  };
  if (!std::ranges::all_of(levels, fits))
    throw input_error("OMP_NUM_THREADS: found '{}', expected 1 to {} threads", given, kMost);
}

int dispatch(const Args& args) {
  expect_sane_environment();
  if (args.empty()) throw input_error("expected a command (see: retensor --help)");
  if (args[0] == "--help" || args[0] == "-h") {
    std::cout << driver::overview();
    return 0;
  }
  if (args[0] == "--version") {
    std::cout << "retensor " << build_info().version << '\n';
    return 0;
  }
  const auto interface = driver::command_named(args[0]).interface();
  const auto given =
      parse_options(interface.usage, interface.options, Args(args.begin() + 1, args.end()));
  if (given) return interface.run(*given);
  std::cout << help_text(interface.usage, interface.options);
  return 0;
}

int complain(const std::exception& error, int code) {
  std::cerr << driver::talk_style()(driver::Tone::bad, "retensor:") << ' '
            << printable(error.what()) << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = dispatch(Args(argv + 1, argv + argc));
    // Output that did not arrive (full disk, closed pipe) must not look like success.
    std::cout.flush();
    if (!std::cout) throw system_error("standard output can't be written");
    return code;
  } catch (const InputError& e) {
    return complain(e, 2);
  } catch (const std::exception& e) {
    return complain(e, 3);
  }
}
