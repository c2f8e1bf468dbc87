// pasta.cpu.copies.
#include "papers/pasta/kernels/copies_cpu.hpp"
#include "papers/pasta/methods/methods.hpp"

namespace retensor::pasta {
namespace {

Support supports_every_mode(const Problem& problem, const Params& params) {
  for (int mode = 0; mode < problem.x().order(); ++mode)
    if (auto one = supports_packed(problem.of_mode(mode), params); !one.ok) return one;
  return Support::yes();
}

}  // namespace

MethodSpec make_copies_cpu() {
  return {
      .id = "pasta.cpu.copies",
      .summary = "MTTKRP over all modes on packed rows, a copy of the nonzeros for each mode",
      .operations = {Operation::mttkrp_all},
      .conditions = {supports_every_mode},
      .prepare = prepare_copies_cpu,
      .params = {threads_param()},
      .form = own_form(),
      .bytes_per_nonzero = 64,
  };
}

}  // namespace retensor::pasta
