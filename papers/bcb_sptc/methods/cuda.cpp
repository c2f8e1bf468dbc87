// bcb_sptc.cuda: known to every build, so that a spec plans anywhere; without a device it declines
// with its reason.
#include <limits>
#include <string>
#include <string_view>

#include "common/measure/cuda_method.hpp"
#include "papers/bcb_sptc/format/options.hpp"
#include "papers/bcb_sptc/format/products.hpp"
#include "papers/bcb_sptc/kernels/bcb_sptc_cuda.hpp"
#include "papers/bcb_sptc/methods/methods.hpp"

namespace retensor::bcb_sptc {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_bcb_cuda(const Problem&, const Params&, const Addend&) {
  no_cuda();
}
#endif

namespace {

class Cuda : public CudaMethod {
 public:
  std::string_view id() const override { return "bcb_sptc.cuda"; }
  std::string_view summary() const override {
    return "sparse tensor contraction on BCB by tensor cores (Algorithms 1 to 4)";
  }
  ParamSchema params() const override {
    auto specs = shared_params();
    specs.push_back({"path",
                     std::string("auto"),
                     "blocks on tensor cores or single products with hash tables; auto: by the "
                     "products of a pair of blocks",
                     0,
                     0,
                     {"auto", "blocks", "elements"}});
    specs.push_back(
        {"tasks",
         std::string("sorted"),
         "blocks: pairs sorted by result block, whose sums a warp keeps, or as they are "
         "found, each adding its sums to the result",
         0,
         0,
         {"sorted", "unsorted"}});
    specs.push_back(
        {"index",
         std::string("packed"),
         "blocks: their indices as binary linear indices or as coordinates, a word a mode",
         0,
         0,
         {"packed", "coordinates"}});
    specs.push_back({"cores",
                     std::string("tensor"),
                     "blocks: their products on tensor cores or, one by one, on CUDA cores",
                     0,
                     0,
                     {"tensor", "cuda"}});
    specs.push_back({"prepare",
                     std::string("device"),
                     "where the format is made of the coordinates: on the host or on the device",
                     0,
                     0,
                     {"host", "device"}});
    return ParamSchema(std::move(specs));
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_contraction(problem, params, prepare_bcb_cuda);
  }
  reference::Precision precision(const Problem&, const Params& params) const override {
    return precision_of(arithmetic_of(params), blocking_of(params).values);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (const auto shared = supports_contraction(problem, params); !shared.ok) return shared;
    constexpr auto most = std::numeric_limits<Index>::max();
    if (problem.x().nnz() > most || problem.y().nnz() > most)
      return Support::no("positions of nonzeros have 32 bits on the device");
    return Support::yes();
  }
};

}  // namespace

std::unique_ptr<Method> make_bcb_cuda() {
  return std::make_unique<Cuda>();
}

}  // namespace retensor::bcb_sptc
