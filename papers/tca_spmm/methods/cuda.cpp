// The CUDA methods: known to every build, so that a spec plans anywhere;
// without a device they decline with its reason.
#include <string>
#include <string_view>
#include <utility>

#include "common/measure/cuda_method.hpp"
#include "papers/tca_spmm/kernels/tca_spmm_cuda.hpp"
#include "papers/tca_spmm/kernels/tiles_cuda.hpp"
#include "papers/tca_spmm/kernels/tuned_cuda.hpp"
#include "papers/tca_spmm/methods/methods.hpp"

namespace retensor::tca_spmm {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_paper_cuda(const Problem&, const Params&) {
  no_cuda();
}
std::unique_ptr<Prepared> prepare_tiles_cuda(const Problem&, const Params&) {
  no_cuda();
}
std::unique_ptr<Prepared> prepare_tuned_cuda(const Problem&, const Params&) {
  no_cuda();
}
std::string tiles_obstacle() {
  no_cuda();
}
std::string panels_obstacle() {
  no_cuda();
}
#endif

namespace {

class PaperCuda : public CudaMethod {
 public:
  std::string_view id() const override { return "tca_spmm.cuda"; }
  std::string_view summary() const override {
    return "sparse times dense matrix by traces of small products (Algorithms 2 to 4)";
  }
  ParamSchema params() const override {
    auto specs = kernel_params();
    specs.push_back({"rhs_buffer",
                     true,
                     "compressed columns of D through shared memory, or from global memory at once",
                     0,
                     0,
                     {}});
    specs.push_back({"output_buffer",
                     true,
                     "outputs through shared memory, 16 bytes at a time, or one by one",
                     0,
                     0,
                     {}});
    return ParamSchema(std::move(specs));
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_paper_cuda(problem, params);
  }
  reference::Precision precision(const Problem&, const Params& params) const override {
    return kernel_precision(params);
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (const auto own = supports_kernel(problem, params); !own.ok) return own;
    if (problem.rank() >> 31 != 0) return Support::no("numbers of columns of D have 31 bits");
    if (params.word("long_rows") == "nonzeros" && params.word("output") == "f16")
      return Support::no("outputs that blocks share are added in single precision: output=f32");
    return Support::yes();
  }
};

ParamSpec output_param() {
  return {"output", std::string("f32"), "type of O; sums are f32", 0, 0, {"f32", "f16"}};
}

/// D row-major, half precision; a kernel that multiplies decompressed parts of S.
class DecompressingCuda : public CudaMethod {
 public:
  reference::Precision precision(const Problem&, const Params& params) const final {
    return kernel_precision(params);
  }

 private:
  /// Why the device that is there cannot run it; empty where it can.
  virtual std::string obstacle() const = 0;
  Support supports_problem(const Problem& problem, const Params&) const final {
    if (problem.operation() != Operation::spmm)
      return Support::no("sparse times dense matrix alone");
    if (problem.dtype() != DType::f32)
      return Support::no("tensor cores take operands of at most single precision");
    if (problem.rank() >> 31 != 0 || problem.x().dims[0] >> 31 != 0)
      return Support::no("numbers of rows and columns of the result have 31 bits");
    if (!device::available().ok) return Support::yes();
    const std::string reason = obstacle();
    return reason.empty() ? Support::yes() : Support::no(reason);
  }
};

class TilesCuda : public DecompressingCuda {
 public:
  std::string_view id() const override { return "tca_spmm.cuda.tiles"; }
  std::string_view summary() const override {
    return "sparse times dense matrix, tiles of S decompressed in registers (Hopper)";
  }
  ParamSchema params() const override {
    return {{"parts",
             std::string("auto"),
             "thread blocks that share outputs; auto: as many as fill the device",
             0,
             0,
             {"auto", "1", "2", "4", "8"}},
            output_param()};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_tiles_cuda(problem, params);
  }

 private:
  std::string obstacle() const override { return tiles_obstacle(); }
};

class TunedCuda : public DecompressingCuda {
 public:
  std::string_view id() const override { return "tca_spmm.cuda.tuned"; }
  std::string_view summary() const override {
    return "sparse times dense matrix, rows of S as an MMA's columns, rows of D gathered for 64 or "
           "128";
  }
  ParamSchema params() const override {
    return {{"groups",
             std::string("auto"),
             "of eight rows of S in a panel; auto: 16 where they keep the device busy",
             0,
             0,
             {"auto", "8", "16"}},
            output_param()};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_tuned_cuda(problem, params);
  }

 private:
  std::string obstacle() const override { return panels_obstacle(); }
};

}  // namespace

std::unique_ptr<Method> make_tca_spmm_cuda_tiles() {
  return std::make_unique<TilesCuda>();
}
std::unique_ptr<Method> make_tca_spmm_cuda_tuned() {
  return std::make_unique<TunedCuda>();
}
std::unique_ptr<Method> make_tca_spmm_cuda() {
  return std::make_unique<PaperCuda>();
}

}  // namespace retensor::tca_spmm
