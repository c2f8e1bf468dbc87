// signalfd keeps the state in an object: no handler, no global flag.
#include "experiments/driver/run/stop.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include "common/core/error.hpp"

namespace retensor::driver {
namespace {

sigset_t watched_signals() {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGTERM);
  return watched;
}

}  // namespace

StopSignals::StopSignals() {
  const auto watched = watched_signals();
  pthread_sigmask(SIG_BLOCK, &watched, &before_);
  fd_ = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd_ < 0) throw SystemError("signals can't be watched (signalfd)");
  std::signal(SIGXFSZ, SIG_IGN);
}

StopSignals::~StopSignals() {
  close(fd_);
  std::signal(SIGXFSZ, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopSignals::update() {
  signalfd_siginfo info{};
  while (read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (++count_ == 1) first_ = static_cast<int>(info.ssi_signo);
  }
}

EndedBySignals::EndedBySignals()
    : open_([over = over_.get_future()] {
        const auto watched = watched_signals();
        pthread_sigmask(SIG_UNBLOCK, &watched, nullptr);
        over.wait();
      }) {}

EndedBySignals::~EndedBySignals() {
  over_.set_value();
  open_.join();
}

}  // namespace retensor::driver
