// retensor man: the manual page (man(7)), generated from the options of the commands.
#include <iostream>

#include <fmt/format.h>
#include <boost/algorithm/string.hpp>

#include "common/core/build_info.hpp"
#include "experiments/driver/commands/commands.hpp"

namespace retensor::driver {
namespace {

/// Text that roff prints as it stands: no escapes, no line that looks like a request.
std::string roff(std::string text) {
  boost::replace_all(text, "\\", "\\e");
  boost::replace_all(text, "-", "\\-");
  boost::replace_all(text, "\n", "\n.br\n");
  if (text.starts_with('.') || text.starts_with('\'')) text.insert(0, "\\&");
  return text;
}

std::string option_text(const OptionFacts& option) {
  auto text = fmt::format(".TP\n\\fB\\-\\-{}\\fR", roff(option.name));
  if (!option.value.empty()) text += fmt::format(" \\fI{}\\fR", roff(option.value));
  text += '\n' + roff(option.help);
  if (!option.standard.empty()) text += fmt::format(" (default: {})", roff(option.standard));
  return text + '\n';
}

std::string command_text(const Command& command) {
  const auto interface = command.interface();
  auto text = fmt::format(".SS \"retensor {}\"\n{}\n", roff(interface.usage.synopsis),
                          roff(interface.usage.summary));
  for (const auto& option : facts_of(interface.options)) text += option_text(option);
  return text +
         fmt::format(".PP\nExample:\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n", roff(interface.usage.example));
}

int man_command(const Given&) {
  std::cout << fmt::format(
      ".TH RETENSOR 1 \"\" \"ReTensor {}\" \"User Commands\"\n"
      ".SH NAME\nretensor \\- reproduces published measurements of sparse tensor kernels\n"
      ".SH SYNOPSIS\n.B retensor\n.I COMMAND\n[arguments]\n.SH COMMANDS\n",
      roff(build_info().version));
  for (const auto& command : all_commands())
    if (*command.summary != '\0') std::cout << command_text(command);
  std::cout << ".SH EXIT STATUS\n"
            << roff(kExitCodes)
            << ".SH ENVIRONMENT\n"
               ".TP\n\\fBRETENSOR_CACHE\\fR\nfolder of converted tensors, instead of cache/\n"
               ".TP\n\\fBNO_COLOR\\fR\nwhere it is set and not empty, nothing is coloured\n"
               ".TP\n\\fBOMP_NUM_THREADS\\fR\nthreads of methods on the CPU that are given none\n";
  return 0;
}

}  // namespace

Interface man_interface() {
  const Usage usage{"man", "Prints the manual page of retensor, for man(1).",
                    "retensor man > retensor.1", 0, "its output is no data"};
  return {usage, {}, man_command};
}

}  // namespace retensor::driver
