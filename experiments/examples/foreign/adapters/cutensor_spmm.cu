/* The dense contraction of cuTENSOR 2 on a sparse matrix that is stored densely, for ReTensor:
 *
 *       nvcc -O2 -shared -Xcompiler -fPIC -I INCLUDE -I CUTENSOR/include cutensor_spmm.cu \
 *         -o libcutensor_spmm.so -L CUTENSOR/lib -lcutensor
 *       retensor bench MATRIX.mtx --operation spmm --library cutensor.cuda=./libcutensor_spmm.so \
 *         --precision tf32
 *
 * It is what a dense product costs where a sparse one could do. The computation is in TF32 with
 * `params: {compute: tf32}`, else in single precision. */
#include <cutensor.h>

#include "adapter_cuda.cuh"

class CuTensor {
 public:
  explicit CuTensor(const retensor_method_problem& problem) : p_(problem) {
    adapter::expect(p_, "spmm", sizeof(float));
    if (p_.dims[0] * p_.dims[1] > kMostCells)
      throw adapter::Unsupported("takes at most 2^30 cells");
  }
  std::uint64_t prepare() {
    const auto rows = p_.dims[0], inner = p_.dims[1], columns = p_.rank;
    std::vector<float> dense(rows * inner);
    for (std::uint64_t x = 0; x < p_.nnz; ++x)
      dense[p_.indices[0][x] * inner + p_.indices[1][x]] = static_cast<const float*>(p_.values)[x];
    left_ = adapter::DeviceArray<float>(dense);
    result_ = adapter::DeviceArray<float>(rows * columns);
    expect(cutensorCreate(&handle_), "cutensorCreate");
    const auto a = row_major(rows, inner), b = row_major(inner, columns),
               c = row_major(rows, columns);
    const bool tf32 = std::strstr(p_.params, "tf32") != nullptr;
    cutensorOperationDescriptor_t operation{};
    expect(cutensorCreateContraction(handle_, &operation, a, kA, CUTENSOR_OP_IDENTITY, b, kB,
                                     CUTENSOR_OP_IDENTITY, c, kC, CUTENSOR_OP_IDENTITY, c, kC,
                                     tf32 ? CUTENSOR_COMPUTE_DESC_TF32 : CUTENSOR_COMPUTE_DESC_32F),
           "cutensorCreateContraction");
    cutensorPlanPreference_t preference{};
    expect(cutensorCreatePlanPreference(handle_, &preference, CUTENSOR_ALGO_DEFAULT,
                                        CUTENSOR_JIT_MODE_NONE),
           "cutensorCreatePlanPreference");
    std::uint64_t work = 0;
    expect(cutensorEstimateWorkspaceSize(handle_, operation, preference, CUTENSOR_WORKSPACE_DEFAULT,
                                         &work),
           "cutensorEstimateWorkspaceSize");
    work_ = adapter::DeviceArray<char>(work);
    expect(cutensorCreatePlan(handle_, &plan_, operation, preference, work), "cutensorCreatePlan");
    return left_.bytes();
  }
  void operands(const void* const* data) { dense_ = data[0]; }
  void run(void* stream) {
    const float one = 1, zero = 0;
    expect(cutensorContract(handle_, plan_, &one, left_.data(), dense_, &zero, result_.data(),
                            result_.data(), work_.data(), work_.bytes(),
                            static_cast<cudaStream_t>(stream)),
           "cutensorContract");
  }
  void result(void* data) const { result_.copy_to(data); }

 private:
  static constexpr std::uint64_t kMostCells = std::uint64_t{1} << 30;
  static constexpr std::int32_t kA[] = {'i', 'k'}, kB[] = {'k', 'j'}, kC[] = {'i', 'j'};

  static void expect(cutensorStatus_t status, const char* call) {
    adapter::expect_done(status, call, CUTENSOR_STATUS_SUCCESS);
  }
  cutensorTensorDescriptor_t row_major(std::uint64_t rows, std::uint64_t columns) const {
    const std::int64_t lengths[] = {static_cast<std::int64_t>(rows),
                                    static_cast<std::int64_t>(columns)};
    const std::int64_t strides[] = {lengths[1], 1};
    constexpr std::uint32_t kAlignment = 128;
    cutensorTensorDescriptor_t made{};
    expect(cutensorCreateTensorDescriptor(handle_, &made, 2, lengths, strides, CUTENSOR_R_32F,
                                          kAlignment),
           "cutensorCreateTensorDescriptor");
    return made;
  }

  const retensor_method_problem& p_;
  cutensorHandle_t handle_{};
  cutensorPlan_t plan_{};
  adapter::DeviceArray<float> left_, result_;
  adapter::DeviceArray<char> work_;
  const void* dense_ = nullptr;
};

RETENSOR_ADAPTER(CuTensor)
