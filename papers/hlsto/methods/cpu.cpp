// hlsto.cpu and hlsto.cpu.half.
#include "papers/hlsto/format/options.hpp"
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
      .form = {.emulates = true},
      .bytes_per_nonzero = 50,
  });
}

MethodSpec make_hlsto_cpu_half() {
  return tiles_method({
      .id = "hlsto.cpu.half",
      .summary = "hlsto.cpu with both products as sums in half precision (Algorithm 1, line 23)",
      .precision = precision_of_halves,
      .prepare = prepare_half_cpu,
      .params = half_params(false).with({threads_param()}),
      .form = {.emulates = true},
      .bytes_per_nonzero = 50,
  });
}

}  // namespace retensor::hlsto
