// The methods of the test program retensor-faulty: pasta.cpu.coo with one fault each; `good` has
// none.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "experiments/driver/run/worker.hpp"
#include "tests/support/faulty_method.hpp"

namespace retensor {

void register_faulty(Registry&);

namespace {

using test::Fault;
using test::FaultyMethod;

void segfault() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Takes memory in pieces small enough for any limit to be met, and touches it.
void hog() {
  std::vector<std::vector<char>> pieces;
  for (;;) pieces.emplace_back(std::size_t{16} << 20, 'x');
}

void hog_in_thread() {
#pragma omp parallel num_threads(2)
  hog();
}

void say(const std::string& text) {
  if (write(driver::kWorkerSocket, text.data(), text.size()) < 0) std::abort();
}

}  // namespace

void register_faulty(Registry& registry) {
  const auto add = [&](const std::string& name, const Fault& fault) {
    registry.add(std::make_unique<FaultyMethod>("faulty.cpu." + name, "pasta.cpu.coo", fault));
  };
  add("good", {});
  add("wrong", {});
  add("unsupported", {});
  add("once", {});
  add("segfault", segfault);
  add("abort", [] { std::abort(); });
  add("hang", hang);
  add("hog", hog);
  add("hog_in_thread", hog_in_thread);
  add("exception", [] { throw std::runtime_error("the method gave up"); });
  add("thrown_in_thread", [] { std::thread([] { throw std::runtime_error("lost"); }).join(); });
  add("half_row", [] {
    say("{\"status\":\"ok\",\"reason\":\"\",\"rows\":[{\"stat");
    _exit(0);
  });
  add("not_a_row", [] { say("chatter on the wrong channel\n"); });
  add("quit", [] { std::exit(0); });
  add("last_words", [] {
    std::puts("printed");
    std::fputs("complained\n", stderr);
    std::fflush(nullptr);
    std::raise(SIGTERM);
  });
}

}  // namespace retensor
