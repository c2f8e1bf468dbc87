// pasta.cuda.sliced.
#include <fmt/format.h>

#include "papers/pasta/kernels/prepare_cuda.hpp"
#include "papers/pasta/methods/methods.hpp"

namespace retensor::pasta {
namespace {

/// The factor's rows: four columns of TTM, one of TTV.
Support supports_table(const Problem& problem, const Params&) {
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  const bool ttv = problem.operation() == Operation::ttv;
  if (ttv && problem.x().order() == 1)
    return Support::no(
        "TTV of a tensor of order 1 is a scalar, which the coordinate format can't hold");
  const Count most = kTableBytes / (ttv ? 4 : 16);
  const auto rows = problem.x().dims[static_cast<std::size_t>(problem.mode())];
  if (rows <= most) return Support::yes();
  return Support::no(
      fmt::format("found a mode of {} indices, expected at most {}, whose factor fits into shared "
                  "memory",
                  rows, most));
}

}  // namespace

MethodSpec make_coo_cuda_sliced() {
  return with_shared({Operation::ttv, Operation::ttm}, supports_table,
                     {
                         .id = "pasta.cuda.sliced",
                         .summary = "TTV and TTM of a short mode on fibers as sliced ELLPACK, with "
                                    "the factor in shared memory",
                         .prepare = RETENSOR_DEVICE_PART(prepare_sliced_cuda),
                         .params = {param("ahead", 1,
                                          "records of four nonzeros that are loaded before those "
                                          "at hand are used; with 2 a multiprocessor holds half "
                                          "the threads")
                                        .range(1, 2)},
                         .form = own_form(),
                     });
}

}  // namespace retensor::pasta
