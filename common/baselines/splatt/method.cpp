// splatt.cpu: MTTKRP on compressed sparse fibers, a tree per output mode.
#include "common/method/registry.hpp"

namespace retensor {
namespace splatt {
std::unique_ptr<Prepared> prepare_cpu(const Problem& problem, const Params& params);
}

namespace {

Support has_fibers(const Problem& problem, const Params&) {
  if (problem.x().order() > 1) return Support::yes();
  return Support::no("a tensor of order 1 has no fibers");
}

}  // namespace

void register_splatt(Registry& registry) {
  registry.add({
      .id = "splatt.cpu",
      .summary = "MTTKRP on compressed sparse fibers with OpenMP, a tree per mode (SPLATT)",
      .operations = {Operation::mttkrp},
      .conditions = {has_fibers},
      .prepare = splatt::prepare_cpu,
      .params = {threads_param()},
      .bytes_per_nonzero = 48,
  });
}

}  // namespace retensor
