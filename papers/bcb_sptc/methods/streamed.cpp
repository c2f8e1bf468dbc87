// bcb_sptc.cuda.streamed.
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"

#include <limits>

#include "papers/bcb_sptc/methods/methods.hpp"

namespace retensor::bcb_sptc {

MethodSpec make_bcb_cuda_streamed() {
  return {
      .id = "bcb_sptc.cuda.streamed",
      .summary =
          "contraction whose larger operand stays on the host: its rows pass the device in parts, "
          "a "
          "result beyond the device's memory leaves it in slabs",
      .operations = {Operation::contraction},
      .conditions = {[](const Problem& problem, const Params&) {
        constexpr Count most = std::numeric_limits<Index>::max();
        if (problem.dtype() != DType::f32)
          return Support::no("supports only single precision (f32)");
        if (problem.spec().beta != 0)
          return Support::no("supports only beta=0: the problem has no tensor Z to add");
        return problem.nonzeros() < most && problem.y().nnz() < most
                   ? Support::yes()
                   : Support::no("supports fewer than 2^32 - 1 nonzeros");
      }},
      .prepare = RETENSOR_DEVICE_PART(prepare_streamed_cuda),
      .predict = RETENSOR_DEVICE_PART(predict_streamed_cuda),
      .params =
          {param("buffer", 128.0,
                 "MiB of device memory for two parts of the larger operand, and at most for each "
                 "of two slabs of the result")
               .range(1e-4, 65536),
           param("memory", 0.0,
                 "GiB of device memory that the result may take, whole or as two slabs; 0: all "
                 "that is free")
               .range(0, 1e6),
           param("alone", false, "also tell what copies and kernels take each by themselves")},
      .form = own_form(),
  };
}

}  // namespace retensor::bcb_sptc
