// The process of a worker: its limits, its end, and lines in and out.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <new>
#include <string>

#include "common/core/error.hpp"
#include "experiments/driver/run/bench/bench.hpp"
#include "experiments/driver/run/child_process.hpp"
#include "experiments/driver/run/worker.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// An allocation that fails in a thread can't be caught where the request is answered.
[[noreturn]] void end_of_process() {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    _exit(kOomExit);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "uncaught: %s\n", e.what());
  } catch (...) {
    std::fputs("uncaught exception of unknown type\n", stderr);
  }
  std::abort();
}

/// RLIMIT_DATA counts private writable memory alone: the address space that a CUDA context reserves
/// without using it is no reason to call a case out of memory.
void limit_memory(Count bytes) {
  const rlimit limit{bytes, bytes};
  if (bytes > 0 && setrlimit(RLIMIT_DATA, &limit) != 0)
    throw SystemError("the memory limit of a worker can't be set");
}

}  // namespace

int profiled_main(const WorkerSetup& setup, const std::string& request_path) {
  std::ifstream in(request_path);
  const auto request = json::parse(in);
  alarm(request.at("limit").get<unsigned>());
  Bench(setup).run_profiled(case_from_json(request.at("case")));
  return 0;
}

int worker_main(const WorkerSetup& setup, int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the call that writes
  limit_memory(setup.memory_limit);
  std::set_terminate(end_of_process);

  std::unique_ptr<Bench> bench;
  LineSocket driver(socket);
  while (const auto line = driver.wait_for_next()) {
    const auto answer = guarded([&] {
      if (!bench) bench = std::make_unique<Bench>(setup);
      return bench->answer(json::parse(*line));
    });
    if (!driver.send(answer.dump(-1, ' ', false, json::error_handler_t::replace)))
      throw SystemError("the driver is gone");
  }
  return 0;
}

}  // namespace retensor::driver
