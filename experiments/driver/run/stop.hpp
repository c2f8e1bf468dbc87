// SIGINT and SIGTERM as something to ask about between cases.
#pragma once

#include <csignal>
#include <future>
#include <thread>

namespace retensor::driver {

/// While it lives, SIGINT and SIGTERM are blocked and read from a descriptor instead. The first
/// asks for a stop after the current case, the second for a stop at once. A thread that was started
/// before would still die of them, and the program with it: make this before anything that starts
/// threads, such as reading a tensor.
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

/// While it lives, signals that StopSignals watches end the program nevertheless: for what comes
/// before the first case, when there is nothing to finish.
class EndedBySignals {
 public:
  EndedBySignals();
  ~EndedBySignals();

 private:
  std::promise<void> over_;
  std::thread open_;  ///< the only thread that the signals can reach
};

}  // namespace retensor::driver
