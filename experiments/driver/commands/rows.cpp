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

/// Machines by the names that tell them apart.
class MachineLabels {
 public:
  explicit MachineLabels(const std::vector<Row>& rows) : shared_(shared_models(rows)) {}

  std::string of(const Session& session, Backend backend) const {
    const auto& artifact = field(session.line, "spec.artifact");
    return of(session, backend, artifact.is_string() ? artifact.get<std::string>() : "");
  }
  std::string of(const Row& row) const {
    return of(row.session(), row.backend(), text_of(row.row_case(), "artifact"));
  }

 private:
  std::string of(const Session& session, Backend backend, const std::string& artifact) const {
    const auto device = session.device(backend);
    return machine_label(device, session.machine(backend), shared_.contains({artifact, device}));
  }

  std::set<SharedModel> shared_;
};

json exported(const Session& session, const MachineLabels& labels) {
  auto line = session.line;
  auto& devices = line["devices"] = json::array();
  for (const auto backend : {Backend::cpu, Backend::cuda})
    if (session.device(backend) != kUnknownDevice) devices.push_back(labels.of(session, backend));
  if (devices.empty()) devices.push_back(kUnknownDevice);
  return line;
}

}  // namespace

std::string rows_text(const std::vector<std::string>& files) {
  const auto results = read_results(files, {}, Machines::each);
  const MachineLabels labels(results.rows);
  std::string text;
  const auto put = [&](const json& line) {
    text += line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  };
  for (const auto& warning : results.warnings)
    put({{"kind", "warning"}, {"schema", kSchema}, {"text", warning}});
  for (const auto& [id, session] : results.sessions) {
    if (session->line.is_object()) put(exported(*session, labels));
    for (const auto& [backend, ceilings] : session->ceilings) {
      auto line = ceilings;
      line["device"] = labels.of(*session, backend);
      put(line);
    }
  }
  for (const auto& row : results.rows) {
    auto line = row.line();
    line["device"] = labels.of(row);
    put(line);
  }
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
  return {usage, {}, rows_command};
}

}  // namespace retensor::driver
