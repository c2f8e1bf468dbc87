// pasta.cuda.coo and pasta.cuda.tuned: known to every build, so that a spec plans anywhere; without
// a device they decline with its reason.
#include <memory>
#include <string>

#include "common/core/error.hpp"
#include "common/device/device.hpp"
#include "papers/pasta/coo_cuda.hpp"
#include "papers/pasta/cpu_run.hpp"
#include "papers/pasta/methods.hpp"
#include "papers/pasta/prepare.hpp"

namespace retensor::pasta {
namespace {

// Nonzeros a lane group reduces before its last run goes to memory: long enough that runs of sorted
// input meet few cuts, short enough for many groups on small tensors.
constexpr std::int64_t kChunk = 128;

class CooCuda : public Method {
 public:
  explicit CooCuda(Family family) : family_(family) {}

  std::string_view id() const override {
    return family_ == Family::paper ? "pasta.cuda.coo" : "pasta.cuda.tuned";
  }
  std::string_view summary() const override {
    return family_ == Family::paper
               ? "the five kernels on coordinates as in PASTA section III.B.2 (Algorithm 2)"
               : "the five kernels on coordinates with 16-byte accesses and reduced runs";
  }
  Backend backend() const override { return Backend::cuda; }

  ParamSchema params() const override {
    if (family_ == Family::paper) return {};
    return {{"chunk",
             kChunk,
             "MTTKRP: consecutive nonzeros that one lane group reduces",
             1,
             65536,
             {}}};
  }

  Support supports(const Problem& problem, const Params&) const override {
    const auto suite = supports_suite(problem);
    if (!suite.ok) return suite;
    if (problem.operation() == Operation::tew && !same_pattern(problem.x(), problem.y()))
      return Support::no("the patterns differ; only equal patterns are combined on the device");
    const auto device = device::available();
    return device.ok ? Support::yes() : Support::no(device.reason);
  }

  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    const auto chunk = family_ == Family::tuned ? params.integer("chunk") : kChunk;
    return prepare_coo_cuda(problem, family_, static_cast<unsigned>(chunk));
  }

 private:
  const Family family_;
};

}  // namespace

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_coo_cuda(const Problem&, Family, unsigned) {
  throw LogicError("a CUDA method was prepared in a build without CUDA");
}
#endif

std::unique_ptr<Method> make_coo_cuda() {
  return std::make_unique<CooCuda>(Family::paper);
}
std::unique_ptr<Method> make_coo_cuda_tuned() {
  return std::make_unique<CooCuda>(Family::tuned);
}

}  // namespace retensor::pasta
