// The CUDA methods.

#include <string>
#include <utility>

#include <fmt/format.h>

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

/// The copy engine takes signed coordinates of rows of D.
Support supports_tiles(const Problem& problem, const Params&) {
  if (problem.x().dims[1] >> 31 != 0) return Support::no("supports fewer than 2^31 columns of S");
  return supports_grid(problem, problem.rank() <= 64 ? 64 : 128);
}

/// The largest number of a row of D stands for none.
Support supports_panels(const Problem& problem, const Params&) {
  if (problem.x().dims[1] >> 32 == 0) return Support::yes();
  return Support::no("supports fewer than 2^32 columns of S");
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
      .conditions = {supports_decompressed, supports_tiles},
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
      .conditions = {supports_decompressed, supports_panels},
      .obstacle = RETENSOR_DEVICE_PART(panels_obstacle),
      .prepare = RETENSOR_DEVICE_PART(prepare_tuned_cuda),
      .params = {param("groups", "auto",
                       "of eight rows of S in a panel; auto: 16 where they keep the device busy")
                     .words({"auto", "8", "16"}),
                 output_param()},
      .form = own_form(),
  });
}

namespace {

/// Lanes of a row and columns that they take, 16 bytes of halves each. Threads have numbers of 32
/// bits. Passing on steps by eight nonzeros from a row's beginning to the end of the longest of the
/// warp; reading each by four to the end of the own.
Support supports_walk(const Problem& problem, bool passed) {
  const Count lanes = passed ? 8 : 16, halves = 8;
  const char* const walk = passed ? "passed" : "each";
  if (problem.x().dims[0] > (Count{1} << 32) / lanes)
    return Support::no(
        fmt::format("walk={} supports at most 2^{} rows of S", walk, passed ? 29 : 28));
  if (passed && problem.nonzeros() >> 31 != 0)
    return Support::no("walk=passed supports fewer than 2^31 nonzeros; walk=each takes more");
  if (!passed && problem.nonzeros() > (Count{1} << 32) - 4)
    return Support::no("walk=each supports at most 2^32 - 4 nonzeros");
  return supports_grid(problem, lanes * halves);
}

/// Positions of nonzeros and, in vectors of 16 bytes, of D in 32 bits.
Support supports_gather(const Problem& problem, const Params& params) {
  const auto& dims = problem.x().dims;
  if (problem.nonzeros() >> 32 != 0) return Support::no("supports fewer than 2^32 nonzeros");
  if (dims[0] >> 31 != 0 || problem.rank() >> 31 != 0)
    return Support::no("supports fewer than 2^31 rows and columns of the result");
  if (dims[1] * ((problem.rank() + 7) / 8) >> 32 != 0)
    return Support::no("supports less than 64 GiB of D");
  const std::string& walk = params.word("walk");
  return supports_walk(problem,
                       walk == "auto" ? problem.nonzeros() >= 8 * dims[0] : walk == "passed");
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
