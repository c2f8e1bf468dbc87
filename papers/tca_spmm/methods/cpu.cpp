// tca_spmm.cpu.
#include "papers/tca_spmm/kernels/tca_spmm_cpu.hpp"
#include "papers/tca_spmm/methods/methods.hpp"

namespace retensor::tca_spmm {

MethodSpec make_tca_spmm_cpu() {
  return kernel_method({
      .id = "tca_spmm.cpu",
      .summary = "sparse times dense matrix by traces of small products, an emulated tensor core "
                 "(section 4)",
      .conditions = {supports_kernel},
      .prepare = prepare_run<PlanRun>,
      .params = kernel_params().with({threads_param()}),
      .form = {.emulates = true},
      .bytes_per_nonzero = 20,
  });
}

}  // namespace retensor::tca_spmm
