// tca_spmm.cpu.
#include "papers/tca_spmm/kernels/tca_spmm_cpu.hpp"
#include "papers/tca_spmm/methods/methods.hpp"

namespace retensor::tca_spmm {

MethodSpec make_tca_spmm_cpu() {
  return {.id = "tca_spmm.cpu",
          .summary =
              "sparse times dense matrix by traces of small products, an emulated tensor core "
              "(section 4)",
          .operations = {Operation::spmm},
          .supports = supports_kernel,
          .prepare = prepare_run<CpuRun>,
          .precision = kernel_precision,
          .params = kernel_params().with({threads_param()})};
}

}  // namespace retensor::tca_spmm
