// The run of cusparse_spgemm.cuda.
//
// Stages: tasks (work estimation, with alg2 and alg3 the estimate of memory), kernel (computation),
// output (copy of the product and its coordinates). With reuse: tasks (the pattern of the product),
// kernel (its columns and values), output (coordinates). Buffers are the library's sizes, taken
// once.
#include <cusparse.h>

#include <array>
#include <string>

#include "common/core/error.hpp"
#include "common/device/library.cuh"
#include "common/method/method.hpp"
#include "papers/bcb_sptc/baselines/matrix_run_cuda.cuh"

namespace retensor::cusparse_spgemm {
namespace {

using bcb_sptc::Buffer;

const device::CudaLibrary& library() {
  static const device::CudaLibrary cusparse("libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR));
  return cusparse;
}

void check(cusparseStatus_t status, const char* call) {
  if (status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES || status == CUSPARSE_STATUS_ALLOC_FAILED)
    throw OutOfMemory(std::string(call) + " found too little memory");
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw DeviceError(std::string(call) + ": " +
                      RETENSOR_LIBRARY_FUNCTION(cusparseGetErrorString)(status));
}

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
    cusparseHandle_t handle = nullptr;
    RETENSOR_LIBRARY_CALL(cusparseCreate, &handle);
    handle_ = {handle, RETENSOR_LIBRARY_FUNCTION(cusparseDestroy)};
    x_ = csr(m_.rows, m_.groups, m_.x_group.size(), m_.row_start.data(), m_.x_group.data(),
             m_.x_values.data());
    y_ = csr(m_.groups, m_.columns, m_.y_column.size(), m_.group_start.data(), m_.y_column.data(),
             m_.y_values.data());
    first_entry_ = Buffer<std::int32_t>(m_.rows + 1);
    start(nullptr);
    estimate();
    if (!reuse_) compute();
    std::int64_t rows = 0, columns = 0, entries = 0;
    RETENSOR_LIBRARY_CALL(cusparseSpMatGetSize, z_, &rows, &columns, &entries);
    make_room(static_cast<Count>(entries));
    column_ = Buffer<std::int32_t>(result_.entries);
    reuse_ ? compute_reused() : copy();
    finish();
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

  device::Owned<cusparseSpMatDescr_t> csr(Count rows, Count columns, Count entries,
                                          const void* starts, const void* indices,
                                          const void* values) const {
    cusparseSpMatDescr_t matrix = nullptr;
    RETENSOR_LIBRARY_CALL(cusparseCreateCsr, &matrix, static_cast<std::int64_t>(rows),
                          static_cast<std::int64_t>(columns), static_cast<std::int64_t>(entries),
                          const_cast<void*>(starts), const_cast<void*>(indices),
                          const_cast<void*>(values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    return {matrix, RETENSOR_LIBRARY_FUNCTION(cusparseDestroySpMat)};
  }

  /// A product of the library is one use of a descriptor.
  void start(cudaStream_t stream) {
    RETENSOR_LIBRARY_CALL(cusparseSetStream, handle_, stream);
    cusparseSpGEMMDescr_t product = nullptr;
    RETENSOR_LIBRARY_CALL(cusparseSpGEMM_createDescr, &product);
    product_ = {product, RETENSOR_LIBRARY_FUNCTION(cusparseSpGEMM_destroyDescr)};
    z_ = csr(m_.rows, m_.columns, 0, first_entry_.data(), nullptr, nullptr);
  }
  void finish() {
    product_ = {};
    z_ = {};
  }

  void estimate() {
    if (reuse_) return find_pattern();
    in_buffer(0, [&](std::size_t& bytes, void* buffer) {
      RETENSOR_LIBRARY_CALL(cusparseSpGEMM_workEstimation, handle_, kAsIs, kAsIs, &alpha_, x_, y_,
                            &kZero, z_, CUDA_R_32F, algorithm_, product_, &bytes, buffer);
    });
    if (algorithm_ == CUSPARSE_SPGEMM_ALG1) return;
    in_buffer(2, [&](std::size_t& bytes, void* buffer) {
      RETENSOR_LIBRARY_CALL(cusparseSpGEMM_estimateMemory, handle_, kAsIs, kAsIs, &alpha_, x_, y_,
                            &kZero, z_, CUDA_R_32F, algorithm_, product_, kChunk, &bytes, buffer,
                            &compute_bytes_);
    });
  }

  void find_pattern() {
    in_buffer(0, [&](std::size_t& bytes, void* buffer) {
      RETENSOR_LIBRARY_CALL(cusparseSpGEMMreuse_workEstimation, handle_, kAsIs, kAsIs, x_, y_, z_,
                            algorithm_, product_, &bytes, buffer);
    });
    std::size_t bytes[3] = {};
    const auto call = [&](void* first, void* second, void* third) {
      RETENSOR_LIBRARY_CALL(cusparseSpGEMMreuse_nnz, handle_, kAsIs, kAsIs, x_, y_, z_, algorithm_,
                            product_, &bytes[0], first, &bytes[1], second, &bytes[2], third);
    };
    call(nullptr, nullptr, nullptr);
    for (std::size_t k = 0; k < 3; ++k) device::ensure_size(buffers_[k + 1], bytes[k]);
    call(buffers_[1].data(), buffers_[2].data(), buffers_[3].data());
  }

  void compute_reused() {
    set_result();
    in_buffer(4, [&](std::size_t& bytes, void* buffer) {
      RETENSOR_LIBRARY_CALL(cusparseSpGEMMreuse_copy, handle_, kAsIs, kAsIs, x_, y_, z_, algorithm_,
                            product_, &bytes, buffer);
    });
    RETENSOR_LIBRARY_CALL(cusparseSpGEMMreuse_compute, handle_, kAsIs, kAsIs, &alpha_, x_, y_,
                          &kZero, z_, CUDA_R_32F, algorithm_, product_);
  }

  void compute() {
    const auto call = [&](std::size_t& bytes, void* buffer) {
      RETENSOR_LIBRARY_CALL(cusparseSpGEMM_compute, handle_, kAsIs, kAsIs, &alpha_, x_, y_, &kZero,
                            z_, CUDA_R_32F, algorithm_, product_, &bytes, buffer);
    };
    if (algorithm_ == CUSPARSE_SPGEMM_ALG1) return in_buffer(1, call);
    device::ensure_size(buffers_[1], compute_bytes_);
    call(compute_bytes_, buffers_[1].data());
  }

  void set_result() {
    RETENSOR_LIBRARY_CALL(cusparseCsrSetPointers, z_, first_entry_.data(), column_.data(),
                          result_.values.data());
  }

  void copy() {
    set_result();
    RETENSOR_LIBRARY_CALL(cusparseSpGEMM_copy, handle_, kAsIs, kAsIs, &alpha_, x_, y_, &kZero, z_,
                          CUDA_R_32F, algorithm_, product_);
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
  device::Owned<cusparseHandle_t> handle_;
  device::Owned<cusparseSpMatDescr_t> x_, y_, z_;
  device::Owned<cusparseSpGEMMDescr_t> product_;
  Buffer<std::int32_t> first_entry_, column_;
  std::array<Buffer<unsigned char>, 5> buffers_;
  std::size_t compute_bytes_ = 0;
};

}  // namespace

std::string missing_library() {
  return library().missing();
}

std::unique_ptr<Prepared> prepare_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<Run>(problem, params);
}

}  // namespace retensor::cusparse_spgemm
