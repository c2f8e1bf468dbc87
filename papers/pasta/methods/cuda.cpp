// pasta.cuda.coo, pasta.cuda.hicoo and pasta.cuda.tuned: known to every build, so that a spec plans
// anywhere; without a device they decline with its reason.
#include <algorithm>
#include <memory>
#include <string>

#include "common/measure/cuda_method.hpp"
#include "papers/pasta/kernels/coo_cuda.hpp"
#include "papers/pasta/kernels/hicoo_cuda.hpp"
#include "papers/pasta/kernels/tuned_cuda.hpp"
#include "papers/pasta/methods/methods.hpp"

namespace retensor::pasta {
namespace {

class SuiteMethod : public CudaMethod {
  Support supports_problem(const Problem& problem, const Params& params) const final {
    const auto suite = supports_suite(problem);
    return suite.ok ? supports_own(problem, params) : suite;
  }
  virtual Support supports_own(const Problem&, const Params&) const { return Support::yes(); }
};

class CooCuda : public SuiteMethod {
 public:
  std::string_view id() const override { return "pasta.cuda.coo"; }
  std::string_view summary() const override {
    return "the five kernels on coordinates as in PASTA section III.B.2 (Algorithm 2)";
  }
  ParamSchema params() const override { return {}; }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_coo_cuda(problem, params);
  }
};

class HicooCuda : public SuiteMethod {
 public:
  std::string_view id() const override { return "pasta.cuda.hicoo"; }
  std::string_view summary() const override {
    return "the five kernels in HiCOO as in PASTA section III.D.2 (Algorithm 3)";
  }
  ParamSchema params() const override { return {block_param()}; }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_hicoo_cuda(problem, params);
  }

 private:
  Support supports_own(const Problem&, const Params& params) const override {
    return supports_block(params);
  }
};

// Nonzeros a lane group reduces before its last run goes to memory: long enough that runs of sorted
// input meet few cuts, short enough for many groups on small tensors.
constexpr std::int64_t kChunk = 128;

class TunedCuda : public SuiteMethod {
 public:
  std::string_view id() const override { return "pasta.cuda.tuned"; }
  std::string_view summary() const override {
    return "the five kernels on coordinates with 16-byte accesses and segments summed in registers";
  }
  ParamSchema params() const override {
    return {{"order",
             std::string("row"),
             "MTTKRP: nonzeros sorted by output row (a copy per mode), or as the tensor has them",
             0,
             0,
             {"row", "input"}},
            {"chunk",
             kChunk,
             "TTM, MTTKRP: nonzeros that a lane group takes at most; TTV: an eighth of a warp's",
             1,
             65536,
             {}}};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_tuned_cuda(problem, params);
  }

 private:
  Support supports_own(const Problem& problem, const Params&) const override {
    const Dims& dims = problem.x().dims;
    if (std::any_of(dims.begin(), dims.end(), [](auto d) { return d > (Count{1} << 31); }))
      return Support::no("a mode is longer than 2^31: bit 31 of an index marks a segment");
    if (problem.operation() == Operation::mttkrp && problem.x().order() == 1)
      return Support::no("MTTKRP of a first-order tensor gathers no factor");
    return Support::yes();
  }
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_coo_cuda(const Problem&, const Params&) {
  no_cuda();
}
std::unique_ptr<Prepared> prepare_hicoo_cuda(const Problem&, const Params&) {
  no_cuda();
}
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem&, const Params&) {
  no_cuda();
}
#endif

std::unique_ptr<Method> make_coo_cuda() {
  return std::make_unique<CooCuda>();
}
std::unique_ptr<Method> make_hicoo_cuda() {
  return std::make_unique<HicooCuda>();
}
std::unique_ptr<Method> make_coo_cuda_tuned() {
  return std::make_unique<TunedCuda>();
}

}  // namespace retensor::pasta
