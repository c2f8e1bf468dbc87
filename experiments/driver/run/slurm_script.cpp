// Slurm signals every process of a job that it takes away (SIGTERM), but only the shell when the
// time limit is near (--signal=B:), so that the two can be told apart.
#include "experiments/driver/run/slurm_script.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <boost/algorithm/string.hpp>

#include "common/core/error.hpp"

namespace retensor::driver {
namespace {

/// A line of options; sbatch knows quotes, but no newline and no quote within them.
std::string option_line(const std::string& name, const std::string& value = "") {
  if (value.find_first_of("\n'\"") != value.npos)
    throw InputError(
        fmt::format("'{}': sbatch takes no quote and no newline in --{}", value, name));
  return value.empty() ? fmt::format("#SBATCH --{}\n", name)
                       : fmt::format("#SBATCH --{}='{}'\n", name, value);
}

std::string option_lines(const std::string& name, std::size_t tasks, const std::string& folder,
                         const SlurmOptions& options) {
  const auto limit = options.array_limit > 0 ? fmt::format("%{}", options.array_limit) : "";
  // A percent sign begins a field of the name.
  const auto logs = boost::replace_all_copy(folder, "%", "%%") + "/logs/%A_%a.log";
  auto text = option_line("job-name", name) +
              option_line("array", fmt::format("0-{}{}", tasks - 1, limit)) +
              option_line("chdir", std::filesystem::current_path().string()) +
              option_line("output", logs) + option_line("open-mode", "append") +
              option_line("requeue") +
              option_line("signal", fmt::format("B:USR1@{}", options.notice));
  if (!options.shared) text += option_line("exclusive");
  if (!options.partition.empty()) text += option_line("partition", options.partition);
  if (!options.gres.empty()) text += option_line("gres", options.gres);
  if (!options.time.empty()) text += option_line("time", options.time);
  return text;
}

std::string shell_word(const std::string& text) {
  return '\'' + boost::replace_all_copy(text, "'", "'\\''") + '\'';
}

constexpr const char* kBody = R"(
rows() { grep -so '"kind":"row"' "$shard" | wc -l; }

told=false out_of_time=false driver=''
stop_for_time() {
  told=true out_of_time=true
  [[ -n $driver ]] || return
  kill -TERM "$driver"
  # The second signal ends the case that runs.
  (sleep "$grace" && kill -TERM "$driver") 2>/dev/null 9>&- &
}
trap stop_for_time USR1
trap 'told=true' TERM  # it goes to the driver too

# The exit code of a child, however often a signal interrupts the wait.
await() {
  told=true
  while $told; do
    told=false
    wait "$1"
    code=$?
  done
}

exec 9>"$shard.lock"
flock 9 &
await $!
if $out_of_time; then exec scontrol requeue "$SLURM_JOB_ID"; fi
before=$(rows)
run_task &
driver=$!
if $out_of_time; then stop_for_time; fi
await "$driver"
if $out_of_time && ((code > 128)); then
  if (($(rows) > before)); then exec scontrol requeue "$SLURM_JOB_ID"; fi
  echo "no case ended within the time limit: submit with a longer --time" >&2
fi
exit "$code"
)";

}  // namespace

std::string shell_words(const TaskCommand& command) {
  std::vector<std::string> words;
  for (const auto& word : command) words.push_back(shell_word(word));
  return boost::join(words, " ");
}

std::string slurm_script(const std::string& name, const std::vector<Task>& tasks,
                         const std::vector<TaskCommand>& commands, const std::string& folder,
                         const SlurmOptions& options) {
  auto text = "#!/bin/bash\n" + option_lines(name, tasks.size(), folder, options) +
              fmt::format("\ngrace={}\ncase $SLURM_ARRAY_TASK_ID in\n", options.notice / 2);
  for (std::size_t k = 0; k < tasks.size(); ++k)
    text += fmt::format("  {}) shard={}; run_task() {{ exec {}; }} ;;\n", k,
                        shell_word(tasks[k].shard), shell_words(commands[k]));
  return text + "esac\n" + kBody;
}

}  // namespace retensor::driver
