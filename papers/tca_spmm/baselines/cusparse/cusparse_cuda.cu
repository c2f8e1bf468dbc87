// The runs of cusparse.cuda and cusparse.cuda.ell: cusparseSpMM with alpha = 1, beta = 0, analysed
// and given its workspace when prepared.
#include <cusparse.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/method/method.hpp"
#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/baselines/cusparse/format.hpp"
#include "papers/tca_spmm/baselines/library_cuda.cuh"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/kernels/run_cuda.cuh"

namespace retensor::cusparse {
namespace {

using device::Buffer;
using tca_spmm::DenseOrder;
using tca_spmm::Element;
using tca_spmm::signed_of;
using tca_spmm::type_of;

const tca_spmm::CudaLibrary& library() {
  static const tca_spmm::CudaLibrary cusparse("libcusparse.so." +
                                              std::to_string(CUSPARSE_VER_MAJOR));
  return cusparse;
}

void check(cusparseStatus_t status, const char* call) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw DeviceError(std::string(call) + ": " +
                      RETENSOR_LIBRARY_FUNCTION(cusparseGetErrorString)(status));
}

/// The call; a class derived from it makes `s_matrix_` and calls begin().
class SpmmCall : public tca_spmm::SpmmRun {
 public:
  SpmmCall(const Problem& problem, const std::string& kernel, tca_spmm::Types types,
           DenseOrder order, Count row_unit, cusparseSpMMAlg_t algorithm)
      : SpmmRun(problem, kernel, types, order, order, row_unit), algorithm_(algorithm) {
    RETENSOR_LIBRARY_CALL(cusparseCreate, &handle_);
  }
  ~SpmmCall() override {
    if (s_matrix_ != nullptr) RETENSOR_LIBRARY_FUNCTION(cusparseDestroySpMat)(s_matrix_);
    for (const auto dense : {d_matrix_, o_matrix_})
      if (dense != nullptr) RETENSOR_LIBRARY_FUNCTION(cusparseDestroyDnMat)(dense);
    RETENSOR_LIBRARY_FUNCTION(cusparseDestroy)(handle_);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    if (problem_.x().nnz() == 0) return out_.zero(stream_of(timer));
    RETENSOR_LIBRARY_CALL(cusparseSetStream, handle_, stream_of(timer));
    spmm(RETENSOR_LIBRARY_FUNCTION(cusparseSpMM), "cusparseSpMM", workspace_.data());
  }

 protected:
  void begin() {
    d_matrix_ = dense(d_.rows, d_.cols, d_.stride, d_.values.data(), operands_);
    o_matrix_ = dense(stored_rows_, width_, out_stride_, out_.data(), output_);
    std::size_t bytes = 0;
    spmm(RETENSOR_LIBRARY_FUNCTION(cusparseSpMM_bufferSize), "cusparseSpMM_bufferSize", &bytes);
    workspace_ = Buffer<std::byte>(std::max<std::size_t>(bytes, 1));
    count_bytes(workspace_);
    spmm(RETENSOR_LIBRARY_FUNCTION(cusparseSpMM_preprocess), "cusparseSpMM_preprocess",
         workspace_.data());
  }

  cusparseSpMatDescr_t s_matrix_ = nullptr;

 private:
  cusparseDnMatDescr_t dense(Count rows, Count cols, Count stride, std::byte* values,
                             Element element) const {
    cusparseDnMatDescr_t matrix = nullptr;
    RETENSOR_LIBRARY_CALL(
        cusparseCreateDnMat, &matrix, signed_of(rows), signed_of(cols), signed_of(stride), values,
        type_of(element),
        order_ == DenseOrder::row_major ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL);
    return matrix;
  }
  /// The library's functions for the product differ in their last argument.
  template <class F, class Last>
  void spmm(F* function, const char* name, Last last) const {
    constexpr auto kPlain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const float one = 1, zero = 0;
    check(function(handle_, kPlain, kPlain, &one, s_matrix_, d_matrix_, &zero, o_matrix_,
                   CUDA_R_32F, algorithm_, last),
          name);
  }

  const cusparseSpMMAlg_t algorithm_;
  cusparseHandle_t handle_ = nullptr;
  cusparseDnMatDescr_t d_matrix_ = nullptr, o_matrix_ = nullptr;
  Buffer<std::byte> workspace_;
};

cusparseSpMMAlg_t algorithm_of(const Params& params) {
  static const std::map<std::string, cusparseSpMMAlg_t> algorithms = {
      {"default", CUSPARSE_SPMM_ALG_DEFAULT},
      {"csr1", CUSPARSE_SPMM_CSR_ALG1},
      {"csr2", CUSPARSE_SPMM_CSR_ALG2},
      {"csr3", CUSPARSE_SPMM_CSR_ALG3}};
  return algorithms.at(params.word("algorithm"));
}

class CsrRun : public SpmmCall {
 public:
  CsrRun(const Problem& problem, const Params& params, const Csr& s)
      : SpmmCall(problem, "cusparseSpMM, CSR", tca_spmm::types_of(params),
                 tca_spmm::dense_order(params), 1, algorithm_of(params)),
        row_start_(std::vector<std::int32_t>(s.row_start.begin(), s.row_start.end())),
        columns_(s.columns),
        values_(tca_spmm::upload_elements(s.values.as<float>(), operands_)) {
    count_bytes(row_start_, columns_, values_);
    if (s.nnz() == 0) return;
    RETENSOR_LIBRARY_CALL(cusparseCreateCsr, &s_matrix_, signed_of(s.rows), signed_of(s.cols),
                          signed_of(s.nnz()), row_start_.data(), columns_.data(), values_.data(),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          type_of(operands_));
    begin();
  }

 private:
  Buffer<std::int32_t> row_start_;
  Buffer<Index> columns_;
  Buffer<std::byte> values_;
};

class EllRun : public SpmmCall {
 public:
  EllRun(const Problem& problem, const Params& params)
      : SpmmCall(problem, "cusparseSpMM, Blocked-ELL", tca_spmm::types_of(params),
                 DenseOrder::row_major, static_cast<Count>(params.integer("edge")),
                 CUSPARSE_SPMM_BLOCKED_ELL_ALG1) {
    if (problem.x().nnz() == 0) return;
    const auto edge = static_cast<Count>(params.integer("edge"));
    const BlockedEll ell = to_blocked_ell(problem.x(), edge);
    columns_ = Buffer<std::int32_t>(ell.columns);
    values_ = tca_spmm::upload_elements(ell.values, operands_);
    count_bytes(columns_, values_);
    executed_["blocks_per_row"] = std::to_string(ell.per_row);
    RETENSOR_LIBRARY_CALL(cusparseCreateBlockedEll, &s_matrix_, signed_of(stored_rows_),
                          signed_of(d_.rows), signed_of(edge), signed_of(ell.per_row * edge),
                          columns_.data(), values_.data(), CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_BASE_ZERO, type_of(operands_));
    begin();
  }

 private:
  Buffer<std::int32_t> columns_;
  Buffer<std::byte> values_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_csr(const Problem& problem, const Params& params) {
  return std::make_unique<CsrRun>(problem, params, to_csr(problem.x()));
}
std::unique_ptr<Prepared> prepare_ell(const Problem& problem, const Params& params) {
  return std::make_unique<EllRun>(problem, params);
}

std::string missing_library() {
  return library().missing();
}

}  // namespace retensor::cusparse
