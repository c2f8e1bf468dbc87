// What the methods of BCB-SpTC have in common, and their registration.
#include "papers/bcb_sptc/methods/methods.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>
#include <utility>

#include "common/core/error.hpp"
#include "common/method/registry.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/bcb_sptc/format/options.hpp"
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

reference::Precision precision_of(Arithmetic arithmetic, ValueType values) {
  // An MMA cuts a sum of t terms other than zero by t + 1 alignments of 2^-25 and one of 2^-23,
  // at most 3 x 2^-24 a term; split operands take three MMAs for a term.
  reference::Precision p{.operand_eps = kUnitRoundoffFp16,
                         .roundings = 2,
                         .accumulate_eps = 3 * kUnitRoundoffF32,
                         .underflow = kUnderflowFp16};
  if (arithmetic == Arithmetic::bf16) p.operand_eps = kUnitRoundoffBf16;
  if (arithmetic == Arithmetic::split_fp16) {
    // What the second halves leave of two operands, and their product, which is left out.
    p.operand_eps = 1.5 * kUnitRoundoffFp16 * kUnitRoundoffFp16;
    p.accumulate_eps = 9 * kUnitRoundoffF32;
  }
  if (values != ValueType::f32 && values != storage_of(arithmetic))
    p.operand_eps += values == ValueType::bf16 ? kUnitRoundoffBf16 : kUnitRoundoffFp16;
  return p;
}

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
  using namespace bcb_sptc;
  registry.add_all({make_bcb_cpu, make_bcb_cuda, make_bcb_cuda_coo, make_bcb_cuda_dense,
                    make_bcb_cuda_rows, make_bcb_cuda_slabs, make_bcb_cuda_streamed});
}

}  // namespace retensor
