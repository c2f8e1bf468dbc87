// tca_spmm.cuda, tca_spmm.cuda.tiles and tca_spmm.cuda.tuned.
#include "papers/tca_spmm/kernels/prepare_cuda.hpp"
#include "papers/tca_spmm/methods/methods.hpp"

namespace retensor::tca_spmm {
namespace {

Support supports_paper(const Problem& problem, const Params& params) {
  if (problem.rank() >> 31 != 0) return Support::no("supports fewer than 2^31 columns of D");
  if (params.word("long_rows") == "nonzeros" && params.word("output") == "f16")
    return Support::no(
        "long_rows=nonzeros adds shared outputs in single precision and needs output=f32");
  return Support::yes();
}

/// D row-major, half precision; a kernel that multiplies decompressed parts of S.
Support supports_decompressed(const Problem& problem, const Params&) {
  if (problem.rank() >> 31 != 0 || problem.x().dims[0] >> 31 != 0)
    return Support::no("supports fewer than 2^31 rows and columns of the result");
  return Support::yes();
}

}  // namespace

MethodSpec make_tca_spmm_cuda() {
  return kernel_method({
      .id = "tca_spmm.cuda",
      .summary = "sparse times dense matrix by traces of small products (Algorithms 2 to 4)",
      .conditions = {supports_kernel, supports_paper},
      .prepare = RETENSOR_DEVICE_PART(prepare_paper_cuda),
      .params = kernel_params().with(
          {param("rhs_buffer", true,
                 "compressed columns of D through shared memory, or from global memory at once"),
           param("output_buffer", true,
                 "outputs through shared memory, 16 bytes at a time, or one by one")}),
  });
}

MethodSpec make_tca_spmm_cuda_tiles() {
  return kernel_method({
      .id = "tca_spmm.cuda.tiles",
      .summary = "sparse times dense matrix, tiles of S decompressed in registers (Hopper)",
      .conditions = {supports_decompressed},
      .obstacle = RETENSOR_DEVICE_PART(tiles_obstacle),
      .prepare = RETENSOR_DEVICE_PART(prepare_tiles_cuda),
      .params = {param("parts", "auto",
                       "thread blocks that share outputs; auto: as many as fill the device")
                     .words({"auto", "1", "2", "4", "8"}),
                 output_param()},
      .form = own_form(),
  });
}

MethodSpec make_tca_spmm_cuda_tuned() {
  return kernel_method({
      .id = "tca_spmm.cuda.tuned",
      .summary =
          "sparse times dense matrix, rows of S as an MMA's columns, rows of D gathered for 64 or "
          "128",
      .conditions = {supports_decompressed},
      .obstacle = RETENSOR_DEVICE_PART(panels_obstacle),
      .prepare = RETENSOR_DEVICE_PART(prepare_tuned_cuda),
      .params = {param("groups", "auto",
                       "of eight rows of S in a panel; auto: 16 where they keep the device busy")
                     .words({"auto", "8", "16"}),
                 output_param()},
      .form = own_form(),
  });
}

}  // namespace retensor::tca_spmm
