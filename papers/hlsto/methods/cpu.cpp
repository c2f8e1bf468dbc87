// hlsto.cpu.
#include "papers/hlsto/kernels/hlsto_cpu.hpp"
#include "papers/hlsto/methods/methods.hpp"

namespace retensor::hlsto {

MethodSpec make_hlsto_cpu() {
  return tiles_method({
      .id = "hlsto.cpu",
      .summary =
          "MTTKRP and TTM-chain on HLS, an emulated tensor core for dense tiles (Algorithm 1)",
      .prepare = prepare_cpu,
      .params = format_params(false).with({threads_param()}),
      .bytes_per_nonzero = 50,
  });
}

}  // namespace retensor::hlsto
