// tca_spmm.cuda.gather.
#include <utility>

#include "papers/tca_spmm/kernels/prepare_cuda.hpp"
#include "papers/tca_spmm/methods/methods.hpp"

namespace retensor::tca_spmm {
namespace {

/// Positions of nonzeros and, in vectors of 16 bytes, of D in 32 bits.
Support supports_gather(const Problem& problem, const Params&) {
  const auto& dims = problem.x().dims;
  if (problem.nonzeros() >> 32 != 0) return Support::no("supports fewer than 2^32 nonzeros");
  if (dims[0] >> 31 != 0 || problem.rank() >> 31 != 0)
    return Support::no("supports fewer than 2^31 rows and columns of the result");
  if (dims[1] * ((problem.rank() + 7) / 8) >> 32 == 0) return Support::yes();
  return Support::no("supports less than 64 GiB of D");
}

}  // namespace

MethodSpec make_tca_spmm_cuda_gather() {
  const ParamSpec walk =
      param("walk", "auto",
            "how lanes read the nonzeros of a row: passed on between eight of them, or each all; "
            "auto: each where rows have fewer than eight")
          .words({"auto", "passed", "each"});
  MethodSpec own;
  own.id = "tca_spmm.cuda.gather";
  own.summary =
      "sparse times dense matrix, rows of D gathered for each row of S, without shared memory";
  own.conditions = {supports_gather};
  own.prepare = RETENSOR_DEVICE_PART(prepare_gather_cuda);
  own.params = {walk, output_param()};
  own.form = own_form();
  return kernel_method(std::move(own));
}

}  // namespace retensor::tca_spmm
