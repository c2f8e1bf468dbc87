// pasta.cpu.copies and pasta.cpu.fibers.
#include <fmt/format.h>

#include <utility>

#include "papers/pasta/kernels/fibers_cpu.hpp"
#include "papers/pasta/kernels/prepare_cpu.hpp"
#include "papers/pasta/methods/methods.hpp"

namespace retensor::pasta {
namespace {

Support supports_every_mode(const Problem& problem, const Params& params) {
  for (int mode = 0; mode < problem.x().order(); ++mode)
    if (auto one = supports_packed(problem.of_mode(mode), params); !one.ok) return one;
  return Support::yes();
}

Support supports_fibers(const Problem& problem, const Params&) {
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  const int order = problem.x().order();
  if (order > 2) return Support::yes();
  return Support::no(fmt::format(
      "found a tensor of order {}, expected 3 or more: slices of a matrix are its fibers", order));
}

/// A description with what both have in common.
MethodSpec of_all_modes(Condition condition, MethodSpec own) {
  own.params = {threads_param()};
  own.form = own_form();
  own.bytes_per_nonzero = 64;
  return with_shared({Operation::mttkrp_all}, std::move(condition), std::move(own));
}

}  // namespace

MethodSpec make_copies_cpu() {
  return of_all_modes(
      supports_every_mode,
      {
          .id = "pasta.cpu.copies",
          .summary = "MTTKRP over all modes on packed rows, a copy of the nonzeros for each mode",
          .prepare = prepare_copies_cpu,
      });
}

MethodSpec make_fibers_cpu() {
  return of_all_modes(
      supports_fibers,
      {
          .id = "pasta.cpu.fibers",
          .summary =
              "MTTKRP over all modes on compressed sparse fibers, a tree for each mode, vectors "
              "of 512 bits where the processor has them",
          .prepare = prepare_fibers_cpu,
      });
}

}  // namespace retensor::pasta
