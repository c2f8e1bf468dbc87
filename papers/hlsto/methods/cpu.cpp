// hlsto.cpu.
#include "papers/hlsto/kernels/hlsto_cpu.hpp"
#include "papers/hlsto/methods/methods.hpp"

namespace retensor::hlsto {

MethodSpec make_hlsto_cpu() {
  return {.id = "hlsto.cpu",
          .summary =
              "MTTKRP and TTM-chain on HLS, an emulated tensor core for dense tiles (Algorithm 1)",
          .operations = {Operation::mttkrp, Operation::ttm_chain},
          .supports = supports_format,
          .prepare = prepare_run<CpuRun>,
          .precision = format_precision,
          .params = format_params(false).with({threads_param()})};
}

}  // namespace retensor::hlsto
