// retensor doctor: what this machine can run, and why not where it can't.
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "common/core/build_info.hpp"
#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "common/machine/ceilings.hpp"
#include "common/machine/machine.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/options.hpp"
#include "experiments/driver/commands/table.hpp"
#include "experiments/driver/data/locations.hpp"
#include "experiments/driver/data/process.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

std::string cpu_text() {
  const auto cpu = cpu_facts();
  return fmt::format("{}, {} cores, {}, {} of memory", cpu.model, cpu.cores, cpu.simd,
                     bytes_text(cpu.memory_bytes));
}

std::string gpu_text() {
  if (const auto gpu = device::available(); !gpu.ok) return "none: " + gpu.reason;
  const auto facts = device::facts();
  return fmt::format("{}, compute capability {}.{}, {} SMs, {} of memory, driver {}", facts.name,
                     facts.major, facts.minor, facts.sms, bytes_text(facts.memory_bytes),
                     facts.driver);
}

std::string build_text() {
  const auto& build = build_info();
  return fmt::format("{} by {} {}, CUDA {}", build.version, build.compiler, build.flags,
                     build.cuda.empty() ? "left out" : build.cuda + " for " + build.cuda_archs);
}

std::string methods_text() {
  int cpu = 0, cuda = 0;
  const auto methods = all_methods();
  for (const auto& method : methods.methods()) ++(method->backend() == Backend::cpu ? cpu : cuda);
  return fmt::format("{} on the CPU, {} with CUDA", cpu, cuda);
}

/// Modules are looked up, not imported: some take a second to load.
std::string python_text() {
  std::string missing;
  for (const char* module : {"jinja2", "matplotlib", "pandas", "yaml"}) {
    const std::string check = "import importlib.util, sys; sys.exit(importlib.util.find_spec('" +
                              std::string(module) + "') is None)";
    if (run_process({python_interpreter(), "-c", check}, "", ChildOutput::to_stderr) != 0)
      missing += std::string(missing.empty() ? "" : ", ") + module;
  }
  return python_interpreter() + (missing.empty() ? ", all modules" : ", missing: " + missing);
}

/// Looks at the nearest folder above that exists, so that nothing is made.
std::string cache_text(const std::string& cache_dir) {
  auto folder = fs::absolute(cache_dir);
  while (!fs::exists(folder) && folder != folder.root_path()) folder = folder.parent_path();
  const bool writable = access(folder.c_str(), W_OK) == 0;
  return cache_dir + (writable ? "" : ", not writable");
}

void print_ceilings() {
  std::vector<TableRow> rows;
  for (const auto& measure : {cpu_ceilings, gpu_ceilings})
    for (const auto& c : measure(3.0))
      rows.push_back({c.what, fmt::format("{:.4g}", c.value), c.unit, c.detail});
  std::cout << "\nCeilings\n" << table_text(rows);
}

}  // namespace

int doctor_command(const Args& args) {
  const Usage usage{
      "doctor",
      "Tells what this machine can run: processor, GPU or why there is none, methods, "
      "Python modules of plots and report, data sets that can be obtained.",
      "retensor doctor --ceilings", 0};
  po::options_description options;
  options.add_options()("ceilings", flag(), "measure bandwidths and peaks (seconds)");
  add_location_options(options);
  const auto given = parse_options(usage, options, args);
  if (!given) return 0;
  const auto cache = given->cache();
  const auto datasets = given->registry();
  std::cout << table_text({{"build", build_text()},
                           {"CPU", cpu_text()},
                           {"GPU", gpu_text()},
                           {"methods", methods_text()},
                           {"python", python_text()},
                           {"cache", cache_text(cache)}});
  std::cout << "\nData sets\n" << datasets_text(datasets, cache);
  if (given->flag("ceilings")) print_ceilings();
  return 0;
}

}  // namespace retensor::driver
