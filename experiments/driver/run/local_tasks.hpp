// Tasks side by side on this machine.
#pragma once

#include <string>
#include <vector>

#include "experiments/driver/run/slurm_script.hpp"
#include "experiments/driver/run/stop.hpp"

namespace retensor::driver {

/// Runs the commands, as many at a time as there are lists of visible devices
/// (CUDA_VISIBLE_DEVICES; an empty one leaves the variable alone), and says on standard error how
/// each ended. After a signal none begins and the running ones are asked to stop. Returns the
/// largest exit code.
int run_tasks(const std::vector<Task>& tasks, const std::vector<TaskCommand>& commands,
              const std::vector<std::string>& visible_devices, StopSignals& stop);

/// Devices in as many lists of equal length as there are `slots`; what is left over is not used.
/// Empty lists where no device is named. Throws InputError for fewer devices than slots.
std::vector<std::string> device_lists(const std::vector<std::string>& devices, std::size_t slots);

}  // namespace retensor::driver
