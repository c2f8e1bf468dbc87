// retensor gather: the shards of a submitted spec as the result file that `run` would have written.
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/commands/submit.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

int gather_command(const Given& given) {
  const Submission submission(given);
  const auto added = merge_shards(submission.tasks, given.text("out"), submission.plan.artifact);
  auto tasks = json::array();
  std::vector<TableRow> lines;
  std::size_t missing = 0;
  for (const auto& task : submission.tasks) {
    const auto state = state_of(task);
    missing += state.left() + state.unsupported;
    tasks.push_back({{"dataset", task.dataset},
                     {"shard", task.shard},
                     {"ok", state.ok},
                     {"unsupported", state.unsupported},
                     {"failed", state.failed},
                     {"open", state.open}});
    lines.push_back({task.dataset, std::to_string(state.ok), std::to_string(state.unsupported),
                     std::to_string(state.failed), std::to_string(state.open)});
  }
  if (given.flag("json")) {
    std::cout << json{{"files", added}, {"tasks", tasks}}.dump(2) << '\n';
  } else {
    for (const auto& [path, rows] : added) std::cout << path << '\n';
    std::cerr << table_text({"data set", "ok", "unsupported", "failed", "open"}, lines,
                            talk_style());
  }
  return missing == 0 ? 0 : 1;
}

}  // namespace

Interface gather_interface() {
  const Usage usage{
      "gather SPEC",
      "Adds the rows of the shards that retensor submit left to result files, prints the paths of "
      "those files, and tells for each data set how its cases ended. It may run while tasks do: "
      "rows that a result file has are not added again. Exit code 1 while cases are open or not "
      "ok.",
      "retensor gather experiments/pasta/fig4.yaml --with quick", 1};
  po::options_description options;
  options.add_options()(
      "out", word("FILE"),
      "result file, or folder of <paper>-<artifact>.jsonl (default: out/results/<device>/)");
  add_submission_options(options);
  add_json_option(options);
  return {usage, options, gather_command};
}

}  // namespace retensor::driver
