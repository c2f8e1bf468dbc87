// retensor rows: what result files hold, for programs that read no result files themselves.
#include <iostream>

#include <nlohmann/json.hpp>

#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/options.hpp"
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

int rows_command(const Args& args) {
  const Usage usage{"rows [FILE]...",
                    "Prints what result files hold (all of experiments/results and out/results by "
                    "default) as JSON lines: sessions, ceilings and the newest row of each case on "
                    "each machine with what follows from it.",
                    "retensor rows experiments/results/cpu/hlsto-table4.jsonl", -1};
  const auto given = parse_options(usage, {}, args);
  if (!given) return 0;
  std::cout << rows_text(required_results(given->positionals()));
  return 0;
}

}  // namespace retensor::driver
