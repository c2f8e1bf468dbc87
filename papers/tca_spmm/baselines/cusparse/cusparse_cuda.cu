// The runs of cusparse.cuda and cusparse.cuda.ell: cusparseSpMM with alpha = 1, beta = 0, analysed
// and given its workspace when prepared.
#include <cusparse.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/tensor/operations.hpp"
#include "papers/tca_spmm/baselines/cuda_library.hpp"
#include "papers/tca_spmm/baselines/cusparse/cusparse_cuda.hpp"
#include "papers/tca_spmm/baselines/types.hpp"
#include "papers/tca_spmm/format/options.hpp"
#include "papers/tca_spmm/kernels/run_cuda.cuh"

namespace retensor::cusparse {
namespace {

using device::Buffer;
using tca_spmm::DenseOrder;
using tca_spmm::Element;

const tca_spmm::CudaLibrary& library() {
  static const tca_spmm::CudaLibrary cusparse("libcusparse.so." +
                                              std::to_string(CUSPARSE_VER_MAJOR));
  return cusparse;
}

struct Functions {
  Functions() {
    library().load(create, "cusparseCreate");
    library().load(destroy, "cusparseDestroy");
    library().load(set_stream, "cusparseSetStream");
    library().load(words, "cusparseGetErrorString");
    library().load(create_csr, "cusparseCreateCsr");
    library().load(create_ell, "cusparseCreateBlockedEll");
    library().load(destroy_sparse, "cusparseDestroySpMat");
    library().load(create_dense, "cusparseCreateDnMat");
    library().load(destroy_dense, "cusparseDestroyDnMat");
    library().load(workspace, "cusparseSpMM_bufferSize");
    library().load(analyse, "cusparseSpMM_preprocess");
    library().load(multiply, "cusparseSpMM");
  }
  void check(cusparseStatus_t status, const char* call) const {
    if (status != CUSPARSE_STATUS_SUCCESS)
      throw DeviceError(std::string(call) + ": " + words(status));
  }

  decltype(cusparseCreate)* create;
  decltype(cusparseDestroy)* destroy;
  decltype(cusparseSetStream)* set_stream;
  decltype(cusparseGetErrorString)* words;
  decltype(cusparseCreateCsr)* create_csr;
  decltype(cusparseCreateBlockedEll)* create_ell;
  decltype(cusparseDestroySpMat)* destroy_sparse;
  decltype(cusparseCreateDnMat)* create_dense;
  decltype(cusparseDestroyDnMat)* destroy_dense;
  decltype(cusparseSpMM_bufferSize)* workspace;
  decltype(cusparseSpMM_preprocess)* analyse;
  decltype(cusparseSpMM)* multiply;
};

cudaDataType type_of(Element e) {
  return e == Element::half ? CUDA_R_16F : CUDA_R_32F;
}
std::int64_t signed_of(Count n) {
  return static_cast<std::int64_t>(n);
}

/// The call; a class derived from it makes `s_matrix_` and calls begin().
class SpmmCall : public tca_spmm::SpmmRun {
 public:
  SpmmCall(const Problem& problem, const std::string& kernel, tca_spmm::Types types,
           DenseOrder order, Count row_unit, cusparseSpMMAlg_t algorithm)
      : SpmmRun(problem, kernel, types.output, order, row_unit),
        operands_(types.operands),
        algorithm_(algorithm),
        d_(problem.dense().front(), order, operands_, row_unit) {
    count_bytes(d_.values);
    f_.check(f_.create(&handle_), "cusparseCreate");
  }
  ~SpmmCall() override {
    if (s_matrix_ != nullptr) f_.destroy_sparse(s_matrix_);
    if (d_matrix_ != nullptr) f_.destroy_dense(d_matrix_);
    if (o_matrix_ != nullptr) f_.destroy_dense(o_matrix_);
    f_.destroy(handle_);
  }

  void run(StageTimer& timer) override {
    timer.stage("kernel");
    if (problem_.x().nnz() == 0) return out_.zero(stream_of(timer));
    f_.check(f_.set_stream(handle_, stream_of(timer)), "cusparseSetStream");
    f_.check(f_.multiply(handle_, kPlain, kPlain, &kOne, s_matrix_, d_matrix_, &kZero, o_matrix_,
                         CUDA_R_32F, algorithm_, workspace_.data()),
             "cusparseSpMM");
  }

 protected:
  void begin() {
    const auto order = order_ == DenseOrder::row_major ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
    f_.check(f_.create_dense(&d_matrix_, signed_of(d_.rows), signed_of(d_.cols),
                             signed_of(d_.stride), d_.values.data(), type_of(operands_), order),
             "cusparseCreateDnMat");
    f_.check(f_.create_dense(&o_matrix_, signed_of(stored_rows_), signed_of(width_),
                             signed_of(out_stride_), out_.data(), type_of(output_), order),
             "cusparseCreateDnMat");
    std::size_t bytes = 0;
    f_.check(f_.workspace(handle_, kPlain, kPlain, &kOne, s_matrix_, d_matrix_, &kZero, o_matrix_,
                          CUDA_R_32F, algorithm_, &bytes),
             "cusparseSpMM_bufferSize");
    workspace_ = Buffer<std::byte>(std::max<std::size_t>(bytes, 1));
    count_bytes(workspace_);
    f_.check(f_.analyse(handle_, kPlain, kPlain, &kOne, s_matrix_, d_matrix_, &kZero, o_matrix_,
                        CUDA_R_32F, algorithm_, workspace_.data()),
             "cusparseSpMM_preprocess");
  }

  static constexpr cusparseOperation_t kPlain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr float kOne = 1, kZero = 0;

  const Functions f_;
  const Element operands_;
  const cusparseSpMMAlg_t algorithm_;
  tca_spmm::DeviceDense d_;
  cusparseHandle_t handle_ = nullptr;
  cusparseSpMatDescr_t s_matrix_ = nullptr;
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
    f_.check(f_.create_csr(&s_matrix_, signed_of(s.rows), signed_of(s.cols), signed_of(s.nnz()),
                           row_start_.data(), columns_.data(), values_.data(), CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of(operands_)),
             "cusparseCreateCsr");
    begin();
  }

 private:
  Buffer<std::int32_t> row_start_;
  Buffer<Index> columns_;
  Buffer<std::byte> values_;
};

/// Every row of blocks has as many as the fullest, those that lack by the column -1.
struct BlockedEll {
  BlockedEll(const Coo& s, Count block_edge)
      : edge(block_edge), block_rows((s.dims[0] + edge - 1) / edge) {
    std::map<std::pair<Count, Count>, Count> blocks;  // by row and column; place in its row
    for (Count x = 0; x < s.nnz(); ++x)
      blocks.emplace(std::pair(s.indices[0][x] / edge, s.indices[1][x] / edge), 0);
    std::vector<Count> of_row(block_rows, 0);
    for (auto& block : blocks) block.second = of_row[block.first.first]++;
    per_row = *std::max_element(of_row.begin(), of_row.end());
    columns.assign(block_rows * per_row, -1);
    for (const auto& block : blocks)
      columns[block.first.first * per_row + block.second] =
          static_cast<std::int32_t>(block.first.second);
    values.assign(block_rows * edge * per_row * edge, 0);
    const auto from = s.values.as<float>();
    for (Count x = 0; x < s.nnz(); ++x) {
      const Count row = s.indices[0][x], column = s.indices[1][x];
      const Count place = blocks.at({row / edge, column / edge});
      values[row * per_row * edge + place * edge + column % edge] += from[x];
    }
  }

  Count edge, block_rows, per_row = 0;
  std::vector<std::int32_t> columns;  // of blocks
  std::vector<float> values;          // rows x (per_row edge), row-major
};

class EllRun : public SpmmCall {
 public:
  EllRun(const Problem& problem, const Params& params)
      : SpmmCall(problem, "cusparseSpMM, Blocked-ELL", tca_spmm::types_of(params),
                 DenseOrder::row_major, static_cast<Count>(params.integer("edge")),
                 CUSPARSE_SPMM_BLOCKED_ELL_ALG1) {
    if (problem.x().nnz() == 0) return;
    const BlockedEll ell(problem.x(), static_cast<Count>(params.integer("edge")));
    columns_ = Buffer<std::int32_t>(ell.columns);
    values_ = tca_spmm::upload_elements(ell.values, operands_);
    count_bytes(columns_, values_);
    executed_["blocks_per_row"] = std::to_string(ell.per_row);
    f_.check(
        f_.create_ell(&s_matrix_, signed_of(stored_rows_), signed_of(d_.rows), signed_of(ell.edge),
                      signed_of(ell.per_row * ell.edge), columns_.data(), values_.data(),
                      CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of(operands_)),
        "cusparseCreateBlockedEll");
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
