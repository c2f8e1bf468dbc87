// retensor rows: what result files hold, for programs that read no result files themselves.
#include <iostream>

#include <nlohmann/json.hpp>

#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

json exported(const Session& session) {
  auto line = session.line;
  auto& devices = line["devices"] = json::array();
  for (const auto backend : {Backend::cpu, Backend::cuda})
    if (const auto device = session.device(backend); device != kUnknownDevice)
      devices.push_back(device);
  if (devices.empty()) devices.push_back(kUnknownDevice);
  return line;
}

}  // namespace

std::string rows_text(const std::vector<std::string>& files) {
  const auto results = read_results(files);
  std::string text;
  const auto put = [&](const json& line) {
    text += line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  };
  for (const auto& warning : results.warnings)
    put({{"kind", "warning"}, {"schema", kSchema}, {"text", warning}});
  for (const auto& [id, session] : results.sessions) {
    if (session->line.is_object()) put(exported(*session));
    for (const auto& [backend, ceilings] : session->ceilings) {
      auto line = ceilings;
      line["device"] = session->device(backend);
      put(line);
    }
  }
  for (const auto& row : results.rows) put(row.line());
  return text;
}

namespace {

int rows_command(const Given& given) {
  std::cout << rows_text(required_results(given.positionals()));
  return 0;
}

}  // namespace

Interface rows_interface() {
  const Usage usage{
      "rows [FILE]...",
      "Prints the contents of result files (default: all below experiments/results and "
      "out/results) as JSON lines: sessions, ceilings and, for each case and machine, "
      "the newest row with the quantities derived from it.",
      "retensor rows experiments/results/cpu/hlsto-table4.jsonl", -1,
      "its output is JSON lines already"};
  return {usage, po::options_description(), rows_command};
}

}  // namespace retensor::driver
