// Spawning, killing and the last words of a child process.
#include "experiments/driver/run/child_process.hpp"

#include <fcntl.h>
#include <omp.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/trim_all.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "common/core/message.hpp"

namespace retensor::driver {

using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;

/// A group of its own and all signals at their defaults.
void detach(posix_spawnattr_t& attributes) {
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
}

/// With OMP_PROC_BIND this thread is bound to the first place, and a child would inherit that as
/// all the processors that there are. While this lives, the thread has the processors of every
/// place.
class Unbound {
 public:
  Unbound() {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int place = 0; place < omp_get_num_places(); ++place) {
      std::vector<int> processors(static_cast<std::size_t>(omp_get_place_num_procs(place)));
      omp_get_place_proc_ids(place, processors.data());
      for (const int processor : processors) CPU_SET(processor, &all);
    }
    changed_ = CPU_COUNT(&all) > 0 && sched_getaffinity(0, sizeof before_, &before_) == 0 &&
               sched_setaffinity(0, sizeof all, &all) == 0;
  }
  ~Unbound() {
    if (changed_) sched_setaffinity(0, sizeof before_, &before_);
  }
  Unbound(const Unbound&) = delete;
  Unbound& operator=(const Unbound&) = delete;

 private:
  cpu_set_t before_{};
  bool changed_ = false;
};

}  // namespace

std::string own_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

ChildProcess::ChildProcess(const std::string& program, std::vector<std::string> argv, int given,
                           const std::vector<int>& as) {
  printed_ = memfd_create("output of a child", MFD_CLOEXEC);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (printed_ >= 0) posix_spawn_file_actions_adddup2(&files, printed_, STDOUT_FILENO);
  if (printed_ >= 0) posix_spawn_file_actions_adddup2(&files, printed_, STDERR_FILENO);
  for (const int number : as) posix_spawn_file_actions_adddup2(&files, given, number);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  detach(attributes);

  std::vector<char*> words;
  for (auto& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  const int error = [&] {
    const Unbound unbound;
    return posix_spawn(&pid_, program.c_str(), &files, &attributes, words.data(), environ);
  }();
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return;
  if (printed_ >= 0) close(printed_);
  throw system_error("{} can't be started: {}", program, std::strerror(error));
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) reap(milliseconds{0});
  if (printed_ >= 0) close(printed_);
}

std::optional<int> ChildProcess::ended() {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == 0) return std::nullopt;
  pid_ = -1;
  return status;
}

int ChildProcess::reap(milliseconds limit) {
  const auto end = Clock::now() + limit;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() >= end) {
      kill(-pid_, SIGKILL);
      kill(pid_, SIGKILL);  // it may not have reached its own group yet
      while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
      break;
    }
    std::this_thread::sleep_for(milliseconds{1});
  }
  pid_ = -1;
  return status;
}

void ChildProcess::ask_to_stop() {
  kill(pid_, SIGTERM);
}

std::string ChildProcess::last_words() const {
  constexpr off_t kLength = 300;
  const off_t end = printed_ < 0 ? 0 : lseek(printed_, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::min(end, kLength)), '\0');
  const auto n = pread(printed_, text.data(), text.size(), std::max<off_t>(0, end - kLength));
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return boost::trim_fill_copy(text, " ");
}

void ChildProcess::forget_output() {
  if (printed_ >= 0 && ftruncate(printed_, 0) == 0) lseek(printed_, 0, SEEK_SET);
}

LineSocket::~LineSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool LineSocket::send(const std::string& line) const {
  const auto text = line + '\n';
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = ::send(descriptor_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

void LineSocket::leave() const {
  shutdown(descriptor_, SHUT_RDWR);
}

std::optional<std::string> LineSocket::next() {
  const auto end = received_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  auto line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

std::optional<std::string> LineSocket::wait_for_next() {
  auto line = next();
  while (!line && receive(true)) line = next();
  return line;
}

bool LineSocket::receive(bool wait) {
  std::array<char, 65536> buffer{};
  const auto n = recv(descriptor_, buffer.data(), buffer.size(), wait ? 0 : MSG_DONTWAIT);
  if (n > 0) received_.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

ConnectedChild::Pair ConnectedChild::socket_pair() {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    throw system_error("no socket pair for a child process: {}", std::strerror(errno));
  return {LineSocket(pair[0]), LineSocket(pair[1])};
}

}  // namespace retensor::driver
