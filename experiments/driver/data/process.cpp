// A child with an environment that differs in PYTHONPATH alone.
#include "experiments/driver/data/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "experiments/driver/data/locations.hpp"

namespace retensor::driver {
namespace {

constexpr int kNotStarted = 127;  // as a shell says it

/// The child's side: it dies with its parent, however that ends.
[[noreturn]] void become(const std::vector<char*>& words, pid_t parent, ChildOutput output,
                         const char* errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNotStarted);
  if (*errors != '\0') {
    const int file = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, STDERR_FILENO) < 0) _exit(kNotStarted);
  }
  if (output == ChildOutput::to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(words[0], words.data());
  _exit(kNotStarted);
}

}  // namespace

int run_process(const std::vector<std::string>& argv, const std::string& python_path,
                ChildOutput output, const std::string& errors) {
  auto arguments = argv;
  if (!python_path.empty()) {
    const auto before = environment("PYTHONPATH");
    const auto path = before.empty() ? python_path : fmt::format("{}:{}", python_path, before);
    arguments.insert(arguments.begin(), {"env", "PYTHONPATH=" + path});
  }
  std::vector<char*> words;
  for (auto& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw system_error("{} can't be started: {}", argv[0], std::strerror(errno));
  if (child == 0) become(words, parent, output, errors.c_str());
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw system_error("waiting for {}: {}", argv[0], std::strerror(errno));
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == kNotStarted) throw SystemError(argv[0] + " can't be started");
  return code;
}

std::string python_interpreter() {
  if (const auto chosen = environment("RETENSOR_PYTHON"); !chosen.empty()) return chosen;
  const std::string configured = RETENSOR_PYTHON;
  return !configured.empty() && access(configured.c_str(), X_OK) == 0 ? configured : "python3";
}

int run_package(const std::vector<std::string>& arguments, ChildOutput output) {
  std::vector<std::string> argv = {python_interpreter(), "-m", "retensor.cli"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_process(argv, source_root() + "/plots", output);
}

}  // namespace retensor::driver
