// What the methods of BCB-SpTC have in common, and their registration.
#include "papers/bcb_sptc/methods/methods.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>
#include <utility>

#include "common/core/error.hpp"
#include "common/method/registry.hpp"
#include "papers/bcb_sptc/format/options.hpp"
#include "papers/bcb_sptc/format/products.hpp"
#include "papers/bcb_sptc/methods/update.hpp"

namespace retensor {
namespace bcb_sptc {
namespace {

ParamSchema shared_params() {
  return {
      param("edge", 1 << kEdgeBits,
            "edge of a block in every mode, a power of two; the paper's is 8")
          .range(2, 16),
      param("block_bits", kBlockBits,
            "log2 of the most cells that a block may have; edges are halved, the last mode first, "
            "to fit")
          .range(6, 15),
      values_param(),
      precision_param(),
      param("intersect", true, "skip pairs of blocks whose bitmaps show no common contracted cell"),
      param("zeros", "keep",
            "what happens to zeros in the result; drop: they are removed (Algorithm 1, line 11)")
          .words({"keep", "drop"}),
      param("output", "blocks",
            "order of the result's entries; blocks: block by block (single products: row by row); "
            "sorted: by coordinate, in a stage of its own")
          .words({"blocks", "sorted"}),
      param("beta", 0.0,
            "other than 0: an update by equation 1, Z = alpha X1 Y + beta Z, where X1 is the first "
            "half of X's nonzeros and Z holds what the others contribute, over beta"),
      param("memory", 0.0, "GiB that each list and the result may take; 0: all that is free")
          .range(0, 1e6)};
}

/// Why the format cannot hold an operand; empty if it can.
std::string refusal(const Problem& problem, const Params& params) {
  const OperandOptions options(contraction_of(problem), blocking_of(params));
  try {
    check_keys(problem.x(), options.x);
    check_keys(problem.y(), options.y);
    if (params.real("beta") != 0 || sorts_output(params))
      sum_index(contraction_of(problem).result_dims(problem.x().dims, problem.y().dims));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

Support supports_contraction(const Problem& problem, const Params& params) {
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  if (problem.spec().beta != 0)
    return Support::no(fmt::format(
        "found beta {}, expected 0: the problem has no tensor Z to add; the parameter beta of the "
        "method updates a result",
        problem.spec().beta));
  const auto edge = static_cast<std::uint64_t>(params.integer("edge"));
  if (!std::has_single_bit(edge))
    return Support::no(
        fmt::format("found blocks of edge {}, expected a power of two from 2 to 16", edge));
  const auto why = refusal(problem, params);
  return why.empty() ? Support::yes() : Support::no(why);
}

reference::Precision precision_of_blocks(const Problem&, const Params& params) {
  return precision_of(arithmetic_of(params), blocking_of(params).values);
}

}  // namespace

MethodSpec blocks_method(MethodSpec own) {
  own.precision = precision_of_blocks;
  own.params = shared_params().with(own.params.specs());
  own.form.published = {{"edge", {"8"}}, {"executed.path", {"blocks"}}};
  return with_shared({Operation::contraction}, supports_contraction, std::move(own));
}

std::unique_ptr<Prepared> prepare_contraction(const Problem& problem, const Params& params,
                                              PrepareRun prepare) {
  const double beta = params.real("beta");
  if (beta == 0) return prepare(problem, params, Addend{});
  return prepare_update(problem, beta, [&](const Problem& part, const Addend& addend) {
    return prepare(part, params, addend);
  });
}

}  // namespace bcb_sptc

void register_bcb_sptc(Registry& registry) {
  registry.add_all({bcb_sptc::make_bcb_cpu, bcb_sptc::make_bcb_cuda, bcb_sptc::make_bcb_cuda_coo,
                    bcb_sptc::make_bcb_cuda_dense, bcb_sptc::make_bcb_cuda_rows,
                    bcb_sptc::make_bcb_cuda_slabs, bcb_sptc::make_bcb_cuda_streamed});
}

}  // namespace retensor
