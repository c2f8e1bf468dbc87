// retensor rows: what result files hold, for programs that read no result files themselves.
#include <iostream>
#include <set>

#include <nlohmann/json.hpp>

#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/results.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

std::string artifact_of(const Session& session) {
  return text_of(field(session.line, "spec"), "artifact");
}

/// Name of a machine of a session, by which others of its model are told apart where `shared` has
/// it.
std::string label_of(const Session& session, Backend backend, const std::string& artifact,
                     const std::set<SharedModel>& shared) {
  const auto device = session.device(backend);
  return machine_label(device, session.machine(backend), shared.contains({artifact, device}));
}

json exported(const Session& session, const std::set<SharedModel>& shared) {
  auto line = session.line;
  auto& devices = line["devices"] = json::array();
  for (const auto backend : {Backend::cpu, Backend::cuda})
    if (session.device(backend) != kUnknownDevice)
      devices.push_back(label_of(session, backend, artifact_of(session), shared));
  if (devices.empty()) devices.push_back(kUnknownDevice);
  return line;
}

}  // namespace

std::string rows_text(const std::vector<std::string>& files) {
  const auto results = read_results(files, {}, Machines::each);
  const auto shared = shared_models(results.rows);
  std::string text;
  const auto put = [&](const json& line) {
    text += line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  };
  for (const auto& warning : results.warnings)
    put({{"kind", "warning"}, {"schema", kSchema}, {"text", warning}});
  for (const auto& [id, session] : results.sessions) {
    if (session->line.is_object()) put(exported(*session, shared));
    for (const auto& [backend, ceilings] : session->ceilings) {
      auto line = ceilings;
      line["device"] = label_of(*session, backend, artifact_of(*session), shared);
      put(line);
    }
  }
  const auto put_rows = [&](const std::vector<Row>& rows, bool apart) {
    for (const auto& row : rows) {
      const auto artifact = text_of(row.row_case(), "artifact");
      if (shared.contains({artifact, row.device()}) != apart) continue;
      auto line = row.line();
      line["device"] = label_of(row.session(), row.backend(), artifact, shared);
      put(line);
    }
  };
  put_rows(results.rows, true);
  put_rows(read_results(files).rows, false);
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
      "Prints the contents of result files or folders (default: all below experiments/results and "
      "out/results) as JSON lines: sessions, ceilings and, for each case and machine, "
      "the newest row with the quantities derived from it.",
      "retensor rows experiments/results/cpu/hlsto-table4.jsonl", -1,
      "its output is JSON lines already"};
  return {usage, {}, rows_command};
}

}  // namespace retensor::driver
