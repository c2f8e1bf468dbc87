// The CPU methods.

#include <fmt/format.h>
#include <string>
#include <utility>

#include "papers/pasta/format/packed_rows.hpp"
#include "papers/pasta/kernels/packed_cpu.hpp"
#include "papers/pasta/kernels/prepare_cpu.hpp"
#include "papers/pasta/methods/methods.hpp"

namespace retensor::pasta {

namespace {

/// Beside atomic, private and owner each method has an update of its own.
ParamSchema cpu_params(const std::string& own_update, const std::string& help) {
  return {
      threads_param(),
      param("update", "atomic",
            "MTTKRP: how rows reach the output (the paper: atomic); private: a copy per thread; "
            "owner: every row belongs to one thread; " +
                own_update + ": " + help)
          .words({"atomic", "private", "owner", own_update})};
}

}  // namespace

MethodSpec make_coo_cpu() {
  return suite_method({
      .id = "pasta.cpu.coo",
      .summary = "TEW, TS, TTV, TTM and MTTKRP on coordinates with OpenMP (PASTA section III.B.1)",
      .prepare = prepare_coo_cpu,
      .params = cpu_params("sequential", "the textbook's loop on one thread, to compare with"),
      // Running sums, vectors, prefetching and stores past the caches are no part of the paper's
      // loops.
      .form = own_form(),
      .converts_least = true,
      .bytes_per_nonzero = 0,
  });
}

MethodSpec make_hicoo_cpu() {
  return suite_method({
      .id = "pasta.cpu.hicoo",
      .summary =
          "TEW, TS, TTV, TTM and MTTKRP in HiCOO with OpenMP (PASTA section III.D.1, Algorithm 3)",
      .conditions = {supports_block},
      .prepare = prepare_hicoo_cpu,
      .params =
          cpu_params("scheduled", "private or owner, whichever moves less").with({block_param()}),
      .form = own_form(),
      .bytes_per_nonzero = 20,
  });
}

MethodSpec make_plain_cpu() {
  return suite_method({
      .id = "pasta.cpu.plain",
      .summary = "TEW, TS, TTV, TTM and MTTKRP by the paper's plain loops with OpenMP, on "
                 "coordinates or in HiCOO (PASTA sections III.B.1 and III.D.1)",
      .conditions = {supports_block},
      .prepare = prepare_plain_cpu,
      .params = {threads_param(),
                 param("format", "coo", "coo: coordinates; hicoo: blocks of edge `block`")
                     .words({"coo", "hicoo"}),
                 block_param()},
  });
}

namespace {

Support supports_every_mode(const Problem& problem, const Params& params) {
  for (int mode = 0; mode < problem.x().order(); ++mode)
    if (auto one = supports_packed(problem.of_mode(mode), params); !one.ok) return one;
  return Support::yes();
}

Support supports_fibers(const Problem& problem, const Params&) {
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  const int order = problem.x().order();
  if (order > 2) return Support::yes();
  return Support::no(fmt::format(
      "found a tensor of order {}, expected 3 or more: slices of a matrix are its fibers", order));
}

/// A description with what both have in common.
MethodSpec of_all_modes(Condition condition, MethodSpec own) {
  own.params = {threads_param()};
  own.form = own_form();
  own.bytes_per_nonzero = 64;
  return with_shared({Operation::mttkrp_all}, std::move(condition), std::move(own));
}

}  // namespace

MethodSpec make_copies_cpu() {
  return of_all_modes(
      supports_every_mode,
      {
          .id = "pasta.cpu.copies",
          .summary = "MTTKRP over all modes on packed rows, with a copy of the nonzeros per mode",
          .prepare = prepare_copies_cpu,
      });
}

MethodSpec make_fibers_cpu() {
  return of_all_modes(supports_fibers,
                      {
                          .id = "pasta.cpu.fibers",
                          .summary = "MTTKRP over all modes on compressed sparse fibers, with a "
                                     "tree per mode, 512-bit vectors if the processor has them",
                          .prepare = prepare_fibers_cpu,
                      });
}

namespace {

constexpr int kMostPackedOrder = 5;  // as many factors as the kernel has as constants, and one

}  // namespace

Support supports_packed(const Problem& problem, const Params&) {
  const int order = problem.x().order();
  if (order < 2 || order > kMostPackedOrder)
    return Support::no(
        fmt::format("found a tensor of order {}, expected 2 to {}", order, kMostPackedOrder));
  const int bits = packed_bits(problem.x().dims, problem.mode());
  if (bits > kMostPackedBits)
    return Support::no(
        fmt::format("found coordinates of {} bits beside mode {}, expected at most {}", bits,
                    problem.mode(), kMostPackedBits));
  return Support::yes();
}

MethodSpec make_packed_cpu() {
  return with_shared({Operation::mttkrp}, supports_packed,
                     {
                         .id = "pasta.cpu.packed",
                         .summary = "MTTKRP on nonzeros sorted by output row with packed "
                                    "coordinates, 512-bit vectors if the processor has them",
                         .prepare = prepare_packed_cpu,
                         .params = {threads_param()},
                         .form = own_form(),
                         .bytes_per_nonzero = 32,
                     });
}

}  // namespace retensor::pasta
