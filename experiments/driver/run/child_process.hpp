// Child processes that are watched: what they print is kept, and none outlives its owner.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
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

/// A socket over which lines of text go both ways.
class LineSocket {
 public:
  explicit LineSocket(int descriptor) : descriptor_(descriptor) {}
  ~LineSocket();
  LineSocket(LineSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LineSocket& operator=(LineSocket&&) = delete;

  int descriptor() const { return descriptor_; }
  /// False where the other side is gone.
  bool send(const std::string& line) const;
  /// From now on the other side finds that nobody is here.
  void leave() const;
  /// The first line that has come whole and was not asked for yet.
  std::optional<std::string> next();
  /// The same, which may have to come first; nothing once the other side is gone.
  std::optional<std::string> wait_for_next();
  /// Takes in what has come; false once the other side is gone.
  bool receive(bool wait = false);
  /// Bytes of lines that were not asked for, or have no end yet.
  std::size_t waiting() const { return received_.size(); }

 private:
  int descriptor_;
  std::string received_;
};

/// This program once more, which finds the other end of the socket under each number of `as`.
struct ConnectedChild {
  LineSocket socket;
  ChildProcess process;

  /// Throws SystemError when it can't be started.
  ConnectedChild(std::vector<std::string> argv, const std::vector<int>& as)
      : ConnectedChild(socket_pair(), std::move(argv), as) {}

 private:
  using Pair = std::pair<LineSocket, LineSocket>;
  static Pair socket_pair();
  ConnectedChild(Pair pair, std::vector<std::string> argv, const std::vector<int>& as)
      : socket(std::move(pair.first)),
        process("/proc/self/exe", std::move(argv), pair.second.descriptor(), as) {}
};

}  // namespace retensor::driver
