// pasta.cpu.coo and pasta.cpu.hicoo.
#include <memory>
#include <string>

#include "papers/pasta/format/options.hpp"
#include "papers/pasta/kernels/coo_cpu.hpp"
#include "papers/pasta/kernels/hicoo_cpu.hpp"
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

std::unique_ptr<Prepared> prepare_coo_cpu(const Problem& problem, const Params& params) {
  const int threads = thread_count(params);
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    switch (problem.operation()) {
      case Operation::tew:
        return std::make_unique<coo::TewRun<T>>(problem, threads);
      case Operation::ts:
        return std::make_unique<coo::TsRun<T>>(problem, threads);
      case Operation::ttv:
      case Operation::ttm:
        return std::make_unique<coo::FiberRun<T>>(problem, threads);
      default: {
        const auto& update = params.word("update");
        return std::make_unique<coo::MttkrpRun<T>>(problem, update == "sequential" ? 1 : threads,
                                                   update);
      }
    }
  });
}

std::unique_ptr<Prepared> prepare_hicoo_cpu(const Problem& problem, const Params& params) {
  const int threads = thread_count(params), bits = block_bits(params);
  return dispatch(problem.dtype(), [&]<class T>() -> std::unique_ptr<Prepared> {
    switch (problem.operation()) {
      case Operation::tew:
        return std::make_unique<hicoo::TewRun<T>>(problem, threads, bits);
      case Operation::ts:
        return std::make_unique<hicoo::TsRun<T>>(problem, threads, bits);
      case Operation::ttv:
      case Operation::ttm:
        return std::make_unique<hicoo::FiberRun<T>>(problem, threads, bits);
      default:
        return std::make_unique<hicoo::MttkrpRun<T>>(problem, threads, bits, params.word("update"));
    }
  });
}

}  // namespace

MethodSpec make_coo_cpu() {
  return suite_method({
      .id = "pasta.cpu.coo",
      .summary = "TEW, TS, TTV, TTM and MTTKRP on coordinates with OpenMP (PASTA section III.B.1)",
      .prepare = prepare_coo_cpu,
      .params = cpu_params("sequential", "the textbook's loop on one thread, to compare with"),
      .converts_least = true,
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
  });
}

}  // namespace retensor::pasta
