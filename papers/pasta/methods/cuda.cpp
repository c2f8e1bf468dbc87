// The CUDA methods.

#include <fmt/format.h>
#include <algorithm>

#include "papers/pasta/format/packed.hpp"
#include "papers/pasta/kernels/prepare_cuda.hpp"
#include "papers/pasta/methods/methods.hpp"

namespace retensor::pasta {

MethodSpec make_coo_cuda() {
  return suite_method({
      .id = "pasta.cuda.coo",
      .summary = "the five kernels on coordinates as in PASTA section III.B.2 (Algorithm 2)",
      .prepare = RETENSOR_DEVICE_PART(prepare_coo_cuda),
      .converts_least = true,
  });
}

MethodSpec make_hicoo_cuda() {
  return suite_method({
      .id = "pasta.cuda.hicoo",
      .summary = "the five kernels in HiCOO as in PASTA section III.D.2 (Algorithm 3)",
      .conditions = {supports_block},
      .prepare = RETENSOR_DEVICE_PART(prepare_hicoo_cuda),
      .params = {block_param()},
  });
}

namespace {

Support supports_tuned(const Problem& problem, const Params&) {
  const auto too_long = [](auto length) { return length > (Count{1} << 31); };
  if (std::ranges::any_of(problem.x().dims, too_long))
    return Support::no(
        "supports only modes of at most 2^31 indices: bit 31 of an index marks a segment");
  const bool mttkrp =
      problem.operation() == Operation::mttkrp || problem.operation() == Operation::mttkrp_all;
  if (mttkrp && problem.x().order() == 1)
    return Support::no("a tensor of order 1 has no other mode whose factor MTTKRP could use");
  return Support::yes();
}

}  // namespace

MethodSpec make_coo_cuda_tuned() {
  return suite_method({
      .id = "pasta.cuda.tuned",
      .summary =
          "the five kernels on coordinates with 16-byte accesses and segments summed in registers",
      .conditions = {supports_tuned},
      .prepare = RETENSOR_DEVICE_PART(prepare_tuned_cuda),
      .params =
          {param(
               "order", "row",
               "MTTKRP: nonzeros sorted by output row (a copy per mode), or as the tensor has them")
               .words({"row", "input"}),
           // Long enough that runs of sorted input meet few cuts before their sums go to memory,
           // short enough for many lane groups on small tensors.
           param(
               "chunk", 128,
               "TTM, MTTKRP: most nonzeros of a group of lanes; TTV: an eighth of those of a warp")
               .range(1, 65536)},
      .form = own_form(),
  });
}

namespace {

/// What packs a mode of length 1 behind whole words of indices writes the values' first words back
/// as they are. With values of two words those belong to other threads.
Support supports_streamed(const Problem& problem, const Params&) {
  const PackedLayout layout(problem.x().dims);
  if (problem.dtype() != DType::f64) return Support::yes();
  for (int m = 0; m < layout.order; ++m)
    if (layout.mode[m].width == 0 && layout.mode[m].word >= layout.words)
      return Support::no(
          fmt::format("found mode {} of length 1 behind indices of whole words ({} bits), which "
                      "can't be packed beside values in double precision",
                      m + 1, 32 * layout.words));
  return Support::yes();
}

}  // namespace

MethodSpec make_coo_cuda_streamed() {
  return {
      .id = "pasta.cuda.streamed",
      .summary =
          "MTTKRP and SpMM of a tensor that stays on the host: coordinates pass through the device "
          "in parts",
      .operations = {Operation::mttkrp, Operation::mttkrp_all, Operation::spmm},
      .conditions = {supports_tuned, supports_streamed},
      .prepare = RETENSOR_DEVICE_PART(prepare_streamed_cuda),
      .predict = RETENSOR_DEVICE_PART(predict_streamed_cuda),
      .params = {param("buffer", 128,
                       "MiB of device memory for two parts, of which one is copied while the other "
                       "is used, and for the indices of one")
                     .range(1, 65536),
                 param("file", "",
                       "binary tensor (.tnsb) from which the nonzeros are read in order in each "
                       "run; empty: they are kept in memory"),
                 param("alone", false, "also time copies and kernels separately")},
      .form = own_form(),
      .bytes_per_nonzero = 20,
  };
}

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
  return with_shared(
      {Operation::ttv, Operation::ttm}, supports_table,
      {
          .id = "pasta.cuda.sliced",
          .summary = "TTV and TTM of a short mode on fibers as sliced ELLPACK, with "
                     "the factor in shared memory",
          .prepare = RETENSOR_DEVICE_PART(prepare_sliced_cuda),
          .params = {param("ahead", 1,
                           "how many records of four nonzeros are loaded in advance; with 2, a "
                           "multiprocessor holds half as many threads")
                         .range(1, 2)},
          .form = own_form(),
      });
}

}  // namespace retensor::pasta
