// Child processes that are watched: what they print is kept, and none outlives its owner.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace retensor::driver {

/// Path of the running program, as children start it again.
std::string own_program();

/// A program in a process group of its own (so Ctrl-C of the terminal does not reach it), without
/// standard input; killed with its group when the object goes.
class ChildProcess {
 public:
  /// Starts the file `program` with all signals at their defaults. The child finds the descriptor
  /// `given` under each number of `as`. Throws SystemError when it can't be started.
  ChildProcess(const std::string& program, std::vector<std::string> argv, int given = -1,
               const std::vector<int>& as = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The wait status once the child has ended.
  std::optional<int> ended();
  /// The wait status; kills the child's group when it outlives the limit.
  int reap(std::chrono::milliseconds limit);
  /// Sends SIGTERM.
  void ask_to_stop();
  /// The end of what the child printed since the last forget_output(), on one line.
  std::string last_words() const;
  void forget_output();

 private:
  pid_t pid_ = -1;
  int printed_ = -1;  ///< memory file that collects the child's stdout and stderr
};

}  // namespace retensor::driver
