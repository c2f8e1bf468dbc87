// The program `retensor`: dispatch to a subcommand and the exit code of its errors.
#include <omp.h>

#include <exception>
#include <iostream>

#include <fmt/format.h>

#include "common/core/build_info.hpp"
#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "experiments/driver/commands/commands.hpp"

namespace {

using namespace retensor;
using driver::Args;

void print_help() {
  std::cout << "Usage: retensor COMMAND [arguments]\n\n"
               "Reproduces published measurements of sparse tensor kernels from YAML specs.\n\n"
               "Commands (each has --help with an example):\n";
  for (const auto& command : driver::all_commands())
    if (*command.summary != '\0')
      std::cout << fmt::format("  {:<9} {}\n", command.name, command.summary);
  std::cout
      << "\nExit codes: 0 all ok, 1 some rows or checks not ok, 2 bad input, 3 system error\n";
}

const driver::Command& command_named(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& command : driver::all_commands()) {
    if (command.name == name) return command;
    if (*command.summary != '\0') names.emplace_back(command.name);
  }
  throw InputError(
      fmt::format("unknown command '{}', the nearest is '{}'", name, nearest(name, names)));
}

/// More threads than any machine runs end a worker before it can say so.
void expect_sane_environment() {
  constexpr int kMost = 4096;
  if (omp_get_max_threads() > kMost)
    throw InputError(fmt::format("OMP_NUM_THREADS: found {} threads, expected at most {}",
                                 omp_get_max_threads(), kMost));
}

int dispatch(const Args& args) {
  expect_sane_environment();
  if (args.empty()) throw InputError("expected a command (see: retensor --help)");
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    print_help();
    return 0;
  }
  if (args[0] == "--version") {
    std::cout << "retensor " << build_info().version << '\n';
    return 0;
  }
  return command_named(args[0]).call(Args(args.begin() + 1, args.end()));
}

int complain(const std::exception& error, int code) {
  std::cerr << "retensor: " << printable(error.what()) << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = dispatch(Args(argv + 1, argv + argc));
    // Output that did not arrive (full disk, closed pipe) must not look like success.
    std::cout.flush();
    if (!std::cout) throw SystemError("standard output can't be written");
    return code;
  } catch (const InputError& e) {
    return complain(e, 2);
  } catch (const std::exception& e) {
    return complain(e, 3);
  }
}
