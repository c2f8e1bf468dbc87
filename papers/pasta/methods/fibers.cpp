// pasta.cpu.fibers.
#include <fmt/format.h>

#include "papers/pasta/kernels/fibers_cpu.hpp"
#include "papers/pasta/methods/methods.hpp"

namespace retensor::pasta {
namespace {

Support supports_fibers(const Problem& problem, const Params&) {
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  if (problem.x().order() > 2) return Support::yes();
  return Support::no(fmt::format(
      "found a tensor of order {}, expected 3 or more: slices of a matrix are its fibers",
      problem.x().order()));
}

}  // namespace

MethodSpec make_fibers_cpu() {
  return {
      .id = "pasta.cpu.fibers",
      .summary =
          "MTTKRP over all modes on compressed sparse fibers, a tree for each mode, vectors "
          "of 512 bits where the processor has them",
      .operations = {Operation::mttkrp_all},
      .conditions = {supports_fibers},
      .prepare = prepare_fibers_cpu,
      .params = {threads_param()},
      .form = own_form(),
      .bytes_per_nonzero = 64,
  };
}

}  // namespace retensor::pasta
