// Child processes that are watched: what they print is kept, and none outlives its owner. Signals
// to stop as something to ask about between cases.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace retensor::driver {

/// While it lives, SIGINT and SIGTERM are blocked and read from a descriptor instead. The first
/// asks for a stop after the current case, the second for a stop at once.
class StopSignals {
 public:
  /// Also ignores SIGXFSZ, so that a file size limit is an error of write() and not a death.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Readable when a signal has come in; for poll().
  int descriptor() const { return fd_; }
  /// Takes in what has come so far.
  void update();
  bool requested() const { return count_ > 0; }
  bool at_once() const { return count_ > 1; }
  /// The first signal, 0 when there was none.
  int first() const { return first_; }

 private:
  int fd_ = -1;
  int count_ = 0;
  int first_ = 0;
  sigset_t before_{};
};

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
