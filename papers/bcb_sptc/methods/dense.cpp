// bcb_sptc.cuda.dense.
#include <fmt/format.h>

#include <limits>

#include "papers/bcb_sptc/format/grouped.hpp"
#include "papers/bcb_sptc/kernels/dense_cuda.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"

namespace retensor::bcb_sptc {

Support supports_few_cells(const Problem& problem, const Params&) {
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  if (problem.spec().beta != 0)
    return Support::no("supports only beta=0: the problem has no tensor Z to add");
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  if (problem.x().nnz() > most || problem.y().nnz() > most)
    return Support::no("supports fewer than 2^31 nonzeros");
  const Contraction modes(problem.spec().variant, problem.x().dims, problem.y().dims);
  const CellRanges cells(modes, problem.x().dims, problem.y().dims);
  if (!cells.are_taken())
    return Support::no(fmt::format(
        "found a result of {} rows and {} columns, expected at most {} cells, or {} columns and {} "
        "rows",
        cells.rows, cells.columns, kMostCells, kMostColumns, kMostRows));
  if (cells.sorted_bits > kMostKeyBits)
    return Support::no(
        fmt::format("found keys of {} bits, contracted coordinate and range of rows, expected at "
                    "most {}",
                    cells.sorted_bits, kMostKeyBits));
  return Support::yes();
}

MethodSpec make_bcb_cuda_dense() {
  return with_shared(
      {Operation::contraction}, supports_few_cells,
      {
          .id = "bcb_sptc.cuda.dense",
          .summary = "contraction by single products, with a sum for each cell of the "
                     "result or of a range of its rows",
          .prepare = RETENSOR_DEVICE_PART(without_params(prepare_dense_cuda)),
          .form = own_form(),
      });
}

}  // namespace retensor::bcb_sptc
