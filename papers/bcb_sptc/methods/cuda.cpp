// The CUDA methods.

#include <fmt/format.h>
#include <limits>
#include <vector>

#include "papers/bcb_sptc/baselines/matrix_method.hpp"
#include "papers/bcb_sptc/format/grouped.hpp"
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"
#include "papers/bcb_sptc/methods/update.hpp"

namespace retensor::bcb_sptc {

MethodSpec make_bcb_cuda() {
  return blocks_method({
      .id = "bcb_sptc.cuda",
      .summary = "sparse tensor contraction on BCB by tensor cores (Algorithms 1 to 4)",
      .conditions = {[](const Problem& problem, const Params&) {
        constexpr auto most = std::numeric_limits<Index>::max();
        if (problem.nonzeros() <= most && problem.y().nnz() <= most) return Support::yes();
        return Support::no("supports fewer than 2^32 nonzeros");
      }},
      .prepare = RETENSOR_DEVICE_PART([](const Problem& problem, const Params& params) {
        return prepare_contraction(problem, params, prepare_bcb_cuda);
      }),
      .params =
          {param("path", "auto",
                 "blocks on tensor cores, or elements: product by product with hash tables; auto: "
                 "by the mean number of products per pair of blocks")
               .words({"auto", "blocks", "elements"}),
           param("tasks", "sorted",
                 "blocks: pairs sorted by result block, whose sums a warp keeps, or as they are "
                 "found, each adding its sums to the result")
               .words({"sorted", "unsorted"}),
           param("index", "packed",
                 "blocks: their indices as binary linear indices or as coordinates, a word a mode")
               .words({"packed", "coordinates"}),
           param("cores", "tensor",
                 "blocks: their products on tensor cores or, one by one, on CUDA cores")
               .words({"tensor", "cuda"}),
           prepare_param()},
  });
}

MethodSpec make_bcb_cuda_slabs() {
  MethodSpec slabs = make_bcb_cuda();
  slabs.id = "bcb_sptc.cuda.slabs";
  slabs.summary =
      "bcb_sptc.cuda in slabs of the result's first mode, which move to the host, for results "
      "larger than the device's memory";
  slabs.conditions.push_back([](const Problem&, const Params& params) {
    return params.real("beta") == 0 ? Support::yes() : Support::no("supports only beta=0");
  });
  slabs.prepare = RETENSOR_DEVICE_PART([](const Problem& problem, const Params& params) {
    return prepare_slabs(problem, [params](const Problem& slab, const Addend& addend) {
      return prepare_bcb_cuda(slab, params, addend);
    });
  });
  slabs.form = own_form();
  return slabs;
}

namespace {

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

}  // namespace

MethodSpec make_bcb_cuda_dense() {
  return with_shared({Operation::contraction}, supports_few_cells,
                     {
                         .id = "bcb_sptc.cuda.dense",
                         .summary = "contraction product by product, with one sum per cell of the "
                                    "result or of a range of its rows",
                         .prepare = RETENSOR_DEVICE_PART(without_params(prepare_dense_cuda)),
                         .form = own_form(),
                     });
}

MethodSpec make_bcb_cuda_rows() {
  return matrix_method({
      .id = "bcb_sptc.cuda.rows",
      .summary = "contraction product by product with hash tables, in one pass",
      .prepare = RETENSOR_DEVICE_PART(without_params(prepare_rows_cuda)),
      .form = own_form(),
  });
}

MethodSpec make_bcb_cuda_coo() {
  MethodSpec coo = make_bcb_cuda();
  coo.id = "bcb_sptc.cuda.coo";
  coo.summary =
      "contraction of tensors in coordinates on the device: each run chooses a path, converts and "
      "multiplies";
  coo.conditions.push_back([](const Problem&, const Params& params) {
    return params.real("beta") == 0 && params.word("output") == "blocks" &&
                   params.word("zeros") == "keep"
               ? Support::yes()
               : Support::no("supports only beta=0, output=blocks and zeros=keep");
  });
  coo.conditions.push_back([](const Problem& problem, const Params& params) {
    return params.word("path") == "dense" ? supports_few_cells(problem, params)
                                          : supports_matrix(problem, params);
  });
  coo.prepare = RETENSOR_DEVICE_PART(prepare_coo_cuda);
  std::vector<ParamSpec> params = coo.params.specs();
  std::erase_if(params, [](const ParamSpec& p) { return p.name == "path" || p.name == "prepare"; });
  coo.params =
      ParamSchema(std::move(params))
          .with(
              {param(
                   "path", "auto",
                   "auto: a sum a cell where the result has few, else blocks where a pair has the "
                   "products that its MMAs take, else rows with hash tables; paper: blocks or "
                   "elements "
                   "as bcb_sptc.cuda chooses")
                   .words({"auto", "paper", "blocks", "elements", "rows", "dense"}),
               param("choice", "sample",
                     "what auto and paper count: a sample of the contracted coordinates, or all "
                     "nonzeros "
                     "in the orders of both paths")
                   .words({"sample", "sorts"})});
  coo.form = own_form();
  return coo;
}

MethodSpec make_bcb_cuda_streamed() {
  return {
      .id = "bcb_sptc.cuda.streamed",
      .summary =
          "contraction whose larger operand stays on the host: its rows pass through the device in "
          "parts, and a result larger than the device's memory leaves it in slabs",
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
           param("alone", false, "also time copies and kernels separately")},
      .form = own_form(),
  };
}

}  // namespace retensor::bcb_sptc
