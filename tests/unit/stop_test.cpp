// Signals of a program that has not begun to measure, and of one that has.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "experiments/driver/run/stop.hpp"

using namespace retensor::driver;

namespace {

/// The status of a child that runs `body`.
template <class Body>
int ended(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("a signal before the first case ends the program, a later one is asked about") {
  for (const int sent : {SIGINT, SIGTERM}) {
    const int planning = ended([&] {
      StopSignals stop;
      const EndedBySignals open;
      kill(getpid(), sent);
      sleep(60);
    });
    CHECK(WIFSIGNALED(planning));
    CHECK(WTERMSIG(planning) == sent);
    const int running = ended([&] {
      StopSignals stop;
      { const EndedBySignals open; }
      kill(getpid(), sent);
      stop.update();
      _exit(stop.first());
    });
    CHECK(WIFEXITED(running));
    CHECK(WEXITSTATUS(running) == sent);
  }
}
