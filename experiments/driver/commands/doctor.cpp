// retensor doctor: what this machine can run, and why not where it can't.
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "common/core/build_info.hpp"
#include "common/device/device.hpp"
#include "common/machine/ceilings.hpp"
#include "common/machine/machine.hpp"
#include "common/method/registry.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/process.hpp"
#include "experiments/driver/run/bench/bench.hpp"
#include "experiments/driver/run/table.hpp"

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

std::string method_counts_text() {
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

std::vector<Ceiling> measured_ceilings() {
  std::vector<Ceiling> all;
  for (const auto& measure : {cpu_ceilings, gpu_ceilings})
    for (auto& ceiling : measure(3.0)) all.push_back(std::move(ceiling));
  return all;
}

void print_ceilings() {
  std::vector<TableRow> rows;
  for (const auto& c : measured_ceilings())
    rows.push_back({c.what, fmt::format("{:.4g}", c.value), c.unit, c.detail});
  std::cout << "\nCeilings\n" << table_text({"what", "value", "unit", "detail"}, rows, out_style());
}

int doctor_command(const Given& given) {
  const auto cache = given.cache();
  const auto sets = datasets_json(given.registry(), cache);
  const std::vector<TableRow> facts = {{"build", build_text()},   {"CPU", cpu_text()},
                                       {"GPU", gpu_text()},       {"methods", method_counts_text()},
                                       {"python", python_text()}, {"cache", cache_text(cache)}};
  if (given.flag("json")) {
    nlohmann::json told = {{"datasets", sets}};
    for (const auto& fact : facts) told[fact[0]] = fact[1];
    if (given.flag("ceilings")) told["ceilings"] = ceilings_json(measured_ceilings());
    std::cout << told.dump(2) << '\n';
    return 0;
  }
  std::cout << table_text(facts) << "\nData sets\n" << datasets_text(sets);
  if (given.flag("ceilings")) print_ceilings();
  return 0;
}

}  // namespace

Interface doctor_interface() {
  const Usage usage{"doctor",
                    "Reports what this machine can run: the processor, the GPU (or why there is "
                    "none), the methods, the Python modules that figures and the report need, and "
                    "the data sets that can be obtained.",
                    "retensor doctor --ceilings", 0};
  Options add;
  add("ceilings", flag(), "measure bandwidths and peaks (seconds)");
  add.locations();
  add.json();
  return {usage, add, doctor_command};
}

}  // namespace retensor::driver
