// posix_spawnp with an environment that differs in PYTHONPATH alone.
#include "experiments/driver/data/process.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "common/core/error.hpp"

namespace retensor::driver {
namespace {

std::vector<std::string> environment_with(const std::string& python_path) {
  const std::string name = "PYTHONPATH=";
  std::vector<std::string> result;
  std::string before;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (python_path.empty() || !text.starts_with(name))
      result.push_back(text);
    else
      before = fmt::format(":{}", text.substr(name.size()));
  }
  if (!python_path.empty()) result.push_back(name + python_path + before);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

int run_process(const std::vector<std::string>& argv, const std::string& python_path,
                ChildOutput output) {
  auto arguments = argv;
  auto environment = environment_with(python_path);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output == ChildOutput::to_stderr)
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv.at(0).c_str(), &actions, nullptr,
                                 pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw SystemError(fmt::format("{} can't be started: {}", argv[0], std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw SystemError(fmt::format("waiting for {}: {}", argv[0], std::strerror(errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string python_interpreter() {
  const char* chosen = std::getenv("RETENSOR_PYTHON");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  const std::string configured = RETENSOR_PYTHON;
  return !configured.empty() && access(configured.c_str(), X_OK) == 0 ? configured : "python3";
}

}  // namespace retensor::driver
