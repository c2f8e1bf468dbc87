// A slot is what one task at a time may use; it passes to the next task when its own has ended.
#include "experiments/driver/run/local_tasks.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <boost/algorithm/string.hpp>

#include "common/core/error.hpp"
#include "experiments/driver/run/child_process.hpp"

namespace retensor::driver {
namespace {

struct Slot {
  std::string devices;
  std::unique_ptr<ChildProcess> child;
  const Task* task = nullptr;
};

void begin(Slot& slot, const Task& task, const TaskCommand& command) {
  TaskCommand argv = {"env"};
  if (!slot.devices.empty()) argv.push_back("CUDA_VISIBLE_DEVICES=" + slot.devices);
  argv.insert(argv.end(), command.begin(), command.end());
  slot.task = &task;
  slot.child = std::make_unique<ChildProcess>("/usr/bin/env", std::move(argv));
}

/// The exit code of a task that has ended, nothing of one that runs.
std::optional<int> end(Slot& slot) {
  const auto status = slot.child->ended();
  if (!status) return std::nullopt;
  const int code = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
  const auto how = code == 0   ? "all rows ok"
                   : code == 1 ? "some rows not ok"
                               : fmt::format("exit code {}: {}", code, slot.child->last_words());
  std::cerr << fmt::format("{}: {}\n", slot.task->dataset, how);
  slot.child.reset();
  return code;
}

}  // namespace

std::vector<std::string> device_lists(const std::vector<std::string>& devices, std::size_t slots) {
  if (devices.empty()) return std::vector<std::string>(slots);
  const auto each = devices.size() / slots;
  if (each == 0)
    throw InputError(fmt::format("{} tasks at a time, but {} devices: each task needs one", slots,
                                 devices.size()));
  std::vector<std::string> lists;
  for (std::size_t s = 0; s < slots; ++s) {
    const auto first = devices.begin() + static_cast<std::ptrdiff_t>(s * each);
    lists.push_back(boost::join(
        std::vector<std::string>(first, first + static_cast<std::ptrdiff_t>(each)), ","));
  }
  return lists;
}

int run_tasks(const std::vector<Task>& tasks, const std::vector<TaskCommand>& commands,
              const std::vector<std::string>& visible_devices, StopSignals& stop) {
  std::vector<Slot> slots;
  for (const auto& devices : visible_devices) slots.push_back({devices, nullptr, nullptr});
  int worst = 0;
  bool told = false;
  std::size_t next = 0, running = 0;
  do {
    stop.update();
    for (auto& slot : slots) {
      if (slot.child) {
        if (stop.requested() && !told) slot.child->ask_to_stop();
        const auto code = end(slot);
        if (!code) continue;
        worst = std::max(worst, *code);
        --running;
      }
      if (next == tasks.size() || stop.requested()) continue;
      begin(slot, tasks[next], commands[next]);
      ++next, ++running;
    }
    told = stop.requested();
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  } while (running > 0 && !stop.at_once());
  return worst;
}

}  // namespace retensor::driver
