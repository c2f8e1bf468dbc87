// pasta.cpu.coo, pasta.cpu.hicoo and pasta.cpu.plain.
#include <string>

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

}  // namespace retensor::pasta
