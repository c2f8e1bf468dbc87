// bcb_sptc.cuda.rows.
#include "papers/bcb_sptc/baselines/matrix_method.hpp"
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"

namespace retensor::bcb_sptc {

MethodSpec make_bcb_cuda_rows() {
  return matrix_method({
      .id = "bcb_sptc.cuda.rows",
      .summary = "contraction by single products with hash tables in one pass",
      .prepare = RETENSOR_DEVICE_PART(without_params(prepare_rows_cuda)),
      .form = own_form(),
  });
}

}  // namespace retensor::bcb_sptc
