// A child with an environment that differs in PYTHONPATH alone.
#include "experiments/driver/data/process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "experiments/driver/data/locations.hpp"

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

constexpr int kNotStarted = 127;  // as a shell says it

/// The child's side: it dies with its parent, however that ends.
[[noreturn]] void become(const std::vector<char*>& words, const std::vector<char*>& variables,
                         pid_t parent, ChildOutput output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNotStarted);
  if (output == ChildOutput::to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvpe(words[0], words.data(), variables.data());
  _exit(kNotStarted);
}

}  // namespace

int run_process(const std::vector<std::string>& argv, const std::string& python_path,
                ChildOutput output) {
  auto arguments = argv;
  auto environment = environment_with(python_path);
  const auto words = pointers(arguments), variables = pointers(environment);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    throw SystemError(fmt::format("{} can't be started: {}", argv[0], std::strerror(errno)));
  if (child == 0) become(words, variables, parent, output);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw SystemError(fmt::format("waiting for {}: {}", argv[0], std::strerror(errno)));
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == kNotStarted) throw SystemError(argv[0] + " can't be started");
  return code;
}

std::string python_interpreter() {
  const char* chosen = std::getenv("RETENSOR_PYTHON");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  const std::string configured = RETENSOR_PYTHON;
  return !configured.empty() && access(configured.c_str(), X_OK) == 0 ? configured : "python3";
}

int run_package(const std::vector<std::string>& arguments, ChildOutput output) {
  std::vector<std::string> argv = {python_interpreter(), "-m", "retensor.cli"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_process(argv, source_root() + "/plots", output);
}

}  // namespace retensor::driver
