// The run of cusparse_spgemm.cuda. The library is opened when a problem asks for it, so that a
// program starts where it is missing.
//
// Stages: tasks (work estimation, with alg2 and alg3 the estimate of memory), kernel (computation),
// output (copy of the product and its coordinates). With reuse: tasks (the pattern of the product),
// kernel (its columns and values), output (coordinates). Buffers are the library's sizes, taken
// once.
#include <dlfcn.h>

#include <array>
#include <string>

#include "common/core/error.hpp"
#include "common/method/method.hpp"
#include "papers/bcb_sptc/baselines/matrix_run_cuda.cuh"

#if __has_include(<cusparse.h>)
#include <cusparse.h>

namespace retensor::cusparse_spgemm {
namespace {

using bcb_sptc::Buffer;

/// The library's functions by name.
class Library {
 public:
  Library() {
    for (const char* name : {"libcusparse.so.12", "/usr/local/cuda/lib64/libcusparse.so.12"})
      if (handle_ == nullptr) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      refusal = "cuSPARSE: libcusparse.so.12 was not found";
      return;
    }
#define RETENSOR_CUSPARSE_FIND(function) find(function, "cusparse" #function)
    RETENSOR_CUSPARSE_FIND(Create);
    RETENSOR_CUSPARSE_FIND(Destroy);
    RETENSOR_CUSPARSE_FIND(SetStream);
    RETENSOR_CUSPARSE_FIND(CreateCsr);
    RETENSOR_CUSPARSE_FIND(DestroySpMat);
    RETENSOR_CUSPARSE_FIND(SpMatGetSize);
    RETENSOR_CUSPARSE_FIND(CsrSetPointers);
    RETENSOR_CUSPARSE_FIND(SpGEMM_createDescr);
    RETENSOR_CUSPARSE_FIND(SpGEMM_destroyDescr);
    RETENSOR_CUSPARSE_FIND(SpGEMM_workEstimation);
    RETENSOR_CUSPARSE_FIND(SpGEMM_estimateMemory);
    RETENSOR_CUSPARSE_FIND(SpGEMM_compute);
    RETENSOR_CUSPARSE_FIND(SpGEMM_copy);
    RETENSOR_CUSPARSE_FIND(SpGEMMreuse_workEstimation);
    RETENSOR_CUSPARSE_FIND(SpGEMMreuse_nnz);
    RETENSOR_CUSPARSE_FIND(SpGEMMreuse_copy);
    RETENSOR_CUSPARSE_FIND(SpGEMMreuse_compute);
#undef RETENSOR_CUSPARSE_FIND
  }

  std::string refusal;
#define RETENSOR_CUSPARSE_FUNCTION(function) decltype(&cusparse##function) function = nullptr
  RETENSOR_CUSPARSE_FUNCTION(Create);
  RETENSOR_CUSPARSE_FUNCTION(Destroy);
  RETENSOR_CUSPARSE_FUNCTION(SetStream);
  RETENSOR_CUSPARSE_FUNCTION(CreateCsr);
  RETENSOR_CUSPARSE_FUNCTION(DestroySpMat);
  RETENSOR_CUSPARSE_FUNCTION(SpMatGetSize);
  RETENSOR_CUSPARSE_FUNCTION(CsrSetPointers);
  RETENSOR_CUSPARSE_FUNCTION(SpGEMM_createDescr);
  RETENSOR_CUSPARSE_FUNCTION(SpGEMM_destroyDescr);
  RETENSOR_CUSPARSE_FUNCTION(SpGEMM_workEstimation);
  RETENSOR_CUSPARSE_FUNCTION(SpGEMM_estimateMemory);
  RETENSOR_CUSPARSE_FUNCTION(SpGEMM_compute);
  RETENSOR_CUSPARSE_FUNCTION(SpGEMM_copy);
  RETENSOR_CUSPARSE_FUNCTION(SpGEMMreuse_workEstimation);
  RETENSOR_CUSPARSE_FUNCTION(SpGEMMreuse_nnz);
  RETENSOR_CUSPARSE_FUNCTION(SpGEMMreuse_copy);
  RETENSOR_CUSPARSE_FUNCTION(SpGEMMreuse_compute);
#undef RETENSOR_CUSPARSE_FUNCTION

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr) refusal = std::string("cuSPARSE lacks ") + name;
  }

  void* handle_ = nullptr;  // kept open: the driver may hold addresses of the library's kernels
};

const Library& library() {
  static const Library the_library;
  return the_library;
}

void check(cusparseStatus_t status, const char* call) {
  if (status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES || status == CUSPARSE_STATUS_ALLOC_FAILED)
    throw OutOfMemory(std::string("cuSPARSE: ") + call + " found too little memory");
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw DeviceError(std::string("cuSPARSE: ") + call + " gave status " +
                      std::to_string(static_cast<int>(status)));
}
#define RETENSOR_CUSPARSE_CHECK(call) check(library().call, #call)

constexpr cusparseOperation_t kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr float kChunk =
    0.2f;  // share of the products at a time of alg2 and alg3, NVIDIA's example's

cusparseSpGEMMAlg_t algorithm_of(const std::string& word) {
  if (word == "alg2") return CUSPARSE_SPGEMM_ALG2;
  if (word == "alg3") return CUSPARSE_SPGEMM_ALG3;
  if (word == "reuse") return CUSPARSE_SPGEMM_DEFAULT;  // SpGEMMreuse has no algorithms 1 to 3
  return CUSPARSE_SPGEMM_ALG1;
}

class Run : public bcb_sptc::MatrixRun {
 public:
  Run(const Problem& problem, const Params& params)
      : MatrixRun(problem, "cuSPARSE SpGEMM " + params.word("algorithm")),
        algorithm_(algorithm_of(params.word("algorithm"))),
        reuse_(params.word("algorithm") == "reuse") {
    if (m_.products == 0) {
      make_room(0);
      return;
    }
    RETENSOR_CUSPARSE_CHECK(Create(&handle_));
    x_ = csr(m_.rows, m_.groups, m_.x_group.size(), m_.row_start.data(), m_.x_group.data(),
             m_.x_values.data());
    y_ = csr(m_.groups, m_.columns, m_.y_column.size(), m_.group_start.data(), m_.y_column.data(),
             m_.y_values.data());
    first_entry_ = Buffer<std::int32_t>(m_.rows + 1);
    start(nullptr);
    estimate();
    if (!reuse_) compute();
    std::int64_t rows = 0, columns = 0, entries = 0;
    RETENSOR_CUSPARSE_CHECK(SpMatGetSize(z_, &rows, &columns, &entries));
    make_room(static_cast<Count>(entries));
    column_ = Buffer<std::int32_t>(result_.entries);
    reuse_ ? compute_reused() : copy();
    finish();
  }
  ~Run() override {
    if (handle_ == nullptr) return;
    library().DestroySpMat(x_);
    library().DestroySpMat(y_);
    library().Destroy(handle_);
  }

  void run(StageTimer& timer) override {
    timer.stage("tasks");
    if (result_.entries == 0) return;
    const auto stream = stream_of(timer);
    start(stream);
    estimate();
    timer.stage("kernel");
    reuse_ ? compute_reused() : compute();
    timer.stage("output");
    if (!reuse_) copy();
    RETENSOR_CUDA_LAUNCH((bcb_sptc::kernels::write_rows<std::int32_t, std::int32_t>),
                         bcb_sptc::grid_for(m_.rows * 32), bcb_sptc::kThreads, 0, stream, m_.rows,
                         first_entry_.data(), column_.data(), entry_modes_);
    finish();
  }

 private:
  Count work_bytes() const override {
    Count bytes = first_entry_.bytes() + column_.bytes();
    for (const auto& buffer : buffers_) bytes += buffer.bytes();
    return bytes;
  }

  cusparseSpMatDescr_t csr(Count rows, Count columns, Count entries, const void* starts,
                           const void* indices, const void* values) const {
    cusparseSpMatDescr_t matrix = nullptr;
    RETENSOR_CUSPARSE_CHECK(
        CreateCsr(&matrix, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns),
                  static_cast<std::int64_t>(entries), const_cast<void*>(starts),
                  const_cast<void*>(indices), const_cast<void*>(values), CUSPARSE_INDEX_32I,
                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    return matrix;
  }

  /// A product of the library is one use of a descriptor.
  void start(cudaStream_t stream) {
    RETENSOR_CUSPARSE_CHECK(SetStream(handle_, stream));
    RETENSOR_CUSPARSE_CHECK(SpGEMM_createDescr(&product_));
    z_ = csr(m_.rows, m_.columns, 0, first_entry_.data(), nullptr, nullptr);
  }
  void finish() {
    RETENSOR_CUSPARSE_CHECK(SpGEMM_destroyDescr(product_));
    RETENSOR_CUSPARSE_CHECK(DestroySpMat(z_));
  }

  void estimate() {
    if (reuse_) return find_pattern();
    in_buffer(0, [&](std::size_t& bytes, void* buffer) {
      RETENSOR_CUSPARSE_CHECK(SpGEMM_workEstimation(handle_, kAsIs, kAsIs, &alpha_, x_, y_, &kZero,
                                                    z_, CUDA_R_32F, algorithm_, product_, &bytes,
                                                    buffer));
    });
    if (algorithm_ == CUSPARSE_SPGEMM_ALG1) return;
    in_buffer(2, [&](std::size_t& bytes, void* buffer) {
      RETENSOR_CUSPARSE_CHECK(SpGEMM_estimateMemory(handle_, kAsIs, kAsIs, &alpha_, x_, y_, &kZero,
                                                    z_, CUDA_R_32F, algorithm_, product_, kChunk,
                                                    &bytes, buffer, &compute_bytes_));
    });
  }

  void find_pattern() {
    in_buffer(0, [&](std::size_t& bytes, void* buffer) {
      RETENSOR_CUSPARSE_CHECK(SpGEMMreuse_workEstimation(handle_, kAsIs, kAsIs, x_, y_, z_,
                                                         algorithm_, product_, &bytes, buffer));
    });
    std::size_t bytes[3] = {};
    const auto call = [&](void* first, void* second, void* third) {
      RETENSOR_CUSPARSE_CHECK(SpGEMMreuse_nnz(handle_, kAsIs, kAsIs, x_, y_, z_, algorithm_,
                                              product_, &bytes[0], first, &bytes[1], second,
                                              &bytes[2], third));
    };
    call(nullptr, nullptr, nullptr);
    for (std::size_t k = 0; k < 3; ++k) device::ensure_size(buffers_[k + 1], bytes[k]);
    call(buffers_[1].data(), buffers_[2].data(), buffers_[3].data());
  }

  void compute_reused() {
    set_result();
    in_buffer(4, [&](std::size_t& bytes, void* buffer) {
      RETENSOR_CUSPARSE_CHECK(SpGEMMreuse_copy(handle_, kAsIs, kAsIs, x_, y_, z_, algorithm_,
                                               product_, &bytes, buffer));
    });
    RETENSOR_CUSPARSE_CHECK(SpGEMMreuse_compute(handle_, kAsIs, kAsIs, &alpha_, x_, y_, &kZero, z_,
                                                CUDA_R_32F, algorithm_, product_));
  }

  void compute() {
    const auto call = [&](std::size_t& bytes, void* buffer) {
      RETENSOR_CUSPARSE_CHECK(SpGEMM_compute(handle_, kAsIs, kAsIs, &alpha_, x_, y_, &kZero, z_,
                                             CUDA_R_32F, algorithm_, product_, &bytes, buffer));
    };
    if (algorithm_ == CUSPARSE_SPGEMM_ALG1) return in_buffer(1, call);
    device::ensure_size(buffers_[1], compute_bytes_);
    call(compute_bytes_, buffers_[1].data());
  }

  void set_result() {
    RETENSOR_CUSPARSE_CHECK(
        CsrSetPointers(z_, first_entry_.data(), column_.data(), result_.values.data()));
  }

  void copy() {
    set_result();
    RETENSOR_CUSPARSE_CHECK(SpGEMM_copy(handle_, kAsIs, kAsIs, &alpha_, x_, y_, &kZero, z_,
                                        CUDA_R_32F, algorithm_, product_));
  }

  /// The library asks for a buffer first and does the step with it then.
  template <class Call>
  void in_buffer(std::size_t which, const Call& call) {
    std::size_t bytes = 0;
    call(bytes, nullptr);
    device::ensure_size(buffers_[which], bytes);
    call(bytes, buffers_[which].data());
  }

  static constexpr float kZero = 0;
  const cusparseSpGEMMAlg_t algorithm_;
  const bool reuse_;
  cusparseHandle_t handle_ = nullptr;
  cusparseSpMatDescr_t x_ = nullptr, y_ = nullptr, z_ = nullptr;
  cusparseSpGEMMDescr_t product_ = nullptr;
  Buffer<std::int32_t> first_entry_, column_;
  std::array<Buffer<unsigned char>, 5> buffers_;
  std::size_t compute_bytes_ = 0;
};

}  // namespace

std::string library_refusal() {
  return library().refusal;
}

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<Run>(problem, params);
}

}  // namespace retensor::cusparse_spgemm

#else

namespace retensor::cusparse_spgemm {

std::string library_refusal() {
  return "this build has no cuSPARSE";
}
std::unique_ptr<Prepared> prepare_cuda(const Problem&, const Params&) {
  throw LogicError("cuSPARSE was prepared in a build without it");
}

}  // namespace retensor::cusparse_spgemm

#endif
