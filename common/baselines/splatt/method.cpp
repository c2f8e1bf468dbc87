// splatt.cpu.
#include <utility>

#include "common/baselines/splatt/splatt_cpu.hpp"
#include "common/method/registry.hpp"

namespace retensor {
namespace {

Support has_fibers(const Problem& problem, const Params&) {
  if (problem.x().order() > 1) return Support::yes();
  return Support::no("a tensor of order 1 has no fibers");
}

}  // namespace

void register_splatt(Registry& registry) {
  MethodSpec spec{
      .id = "splatt.cpu",
      .summary = "MTTKRP on compressed sparse fibers with OpenMP, a tree per mode (SPLATT)"};
  spec.operations = {Operation::mttkrp};
  spec.conditions = {has_fibers};
  spec.prepare = splatt::prepare_cpu;
  spec.params = {threads_param()};
  spec.bytes_per_nonzero = 48;
  registry.add(std::move(spec));
}

}  // namespace retensor
