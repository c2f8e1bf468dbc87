// pasta.cpu.coo and pasta.cpu.hicoo.
#include <memory>
#include <string>

#include "papers/pasta/format/options.hpp"
#include "papers/pasta/kernels/coo_cpu.hpp"
#include "papers/pasta/kernels/hicoo_cpu.hpp"
#include "papers/pasta/methods/methods.hpp"

namespace retensor::pasta {
namespace {

/// The parameters `threads` and `update` that every CPU method has; beside atomic, private and
/// owner each has an update of its own.
ParamSchema cpu_params(const std::string& own_update, const std::string& help) {
  return {{"threads",
           std::int64_t{0},
           "OpenMP threads; 0 uses every core the process may use",
           0,
           1024,
           {}},
          {"update",
           std::string("atomic"),
           "MTTKRP: how rows reach the output (the paper: atomic); private: a copy per thread; "
           "owner: every row belongs to one thread; " +
               own_update + ": " + help,
           0,
           0,
           {"atomic", "private", "owner", own_update}}};
}

class CooCpu : public Method {
 public:
  std::string_view id() const override { return "pasta.cpu.coo"; }
  std::string_view summary() const override {
    return "TEW, TS, TTV, TTM and MTTKRP on coordinates with OpenMP (PASTA section III.B.1)";
  }
  Backend backend() const override { return Backend::cpu; }
  ParamSchema params() const override {
    return cpu_params("sequential", "the textbook's loop on one thread, to compare with");
  }
  Support supports(const Problem& problem, const Params&) const override {
    return supports_suite(problem);
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
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
};

class HicooCpu : public Method {
 public:
  std::string_view id() const override { return "pasta.cpu.hicoo"; }
  std::string_view summary() const override {
    return "TEW, TS, TTV, TTM and MTTKRP in HiCOO with OpenMP (PASTA section III.D.1, Algorithm 3)";
  }
  Backend backend() const override { return Backend::cpu; }

  ParamSchema params() const override {
    auto specs = cpu_params("scheduled", "private or owner, whichever moves less").specs();
    specs.push_back(block_param());
    return ParamSchema(std::move(specs));
  }

  Support supports(const Problem& problem, const Params& params) const override {
    if (const auto edge = supports_block(params); !edge.ok) return edge;
    return supports_suite(problem);
  }

  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
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
          return std::make_unique<hicoo::MttkrpRun<T>>(problem, threads, bits,
                                                       params.word("update"));
      }
    });
  }
};

}  // namespace

std::unique_ptr<Method> make_coo_cpu() {
  return std::make_unique<CooCpu>();
}
std::unique_ptr<Method> make_hicoo_cpu() {
  return std::make_unique<HicooCpu>();
}

}  // namespace retensor::pasta
