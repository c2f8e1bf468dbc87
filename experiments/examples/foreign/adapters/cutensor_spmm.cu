/* The dense contraction of cuTENSOR 2 on a sparse matrix that is stored densely, for ReTensor:
 *
 *       nvcc -O2 -shared -Xcompiler -fPIC -I INCLUDE -I CUTENSOR/include cutensor_spmm.cu \
 *         -o libcutensor_spmm.so -L CUTENSOR/lib -lcutensor
 *       retensor bench MATRIX.mtx --operation spmm --library cutensor.cuda=./libcutensor_spmm.so \
 *         --precision tf32
 *
 * It is what a dense product costs where a sparse one could do. `params: {compute: tf32}` computes
 * in TF32 (`--precision tf32`), `{compute: f16}` on operands and a result in halves with sums in
 * single precision (`--precision f16_sums`: the result is rounded), else all is in single
 * precision. */
#include <cuda_fp16.h>

#include "cutensor_plan.cuh"

template <class To, class From>
__global__ void convert(To* to, const From* from, std::uint64_t size) {
  for (auto x = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; x < size;
       x += std::uint64_t{gridDim.x} * blockDim.x)
    to[x] = static_cast<To>(static_cast<float>(from[x]));
}

class CuTensor {
 public:
  explicit CuTensor(const retensor_method_problem& problem)
      : p_(problem), is_tf32_(says("\"tf32\"")), is_half_(says("\"f16\"")) {
    adapter::expect(p_, "spmm", sizeof(float));
    if (p_.dims[0] * p_.dims[1] > kMostCells)
      throw adapter::Unsupported("takes at most 2^30 cells");
  }
  CuTensor(const CuTensor&) = delete;
  CuTensor& operator=(const CuTensor&) = delete;
  ~CuTensor() {
    cutensorDestroyPlan(plan_);
    cutensorDestroy(handle_);
  }
  std::uint64_t prepare() {
    const auto rows = p_.dims[0], inner = p_.dims[1], columns = p_.rank;
    std::vector<float> dense(rows * inner);
    for (std::uint64_t x = 0; x < p_.nnz; ++x)
      dense[p_.indices[0][x] * inner + p_.indices[1][x]] = static_cast<const float*>(p_.values)[x];
    left_ = adapter::DeviceArray<float>(dense);
    result_ = adapter::DeviceArray<float>(rows * columns);
    if (is_half_) {
      left_half_ = adapter::DeviceArray<__half>(rows * inner);
      right_half_ = adapter::DeviceArray<__half>(inner * columns);
      result_half_ = adapter::DeviceArray<__half>(rows * columns);
      launch(left_half_.data(), left_.data(), rows * inner);
      adapter::expect_cuda(cudaDeviceSynchronize(), "convert");
      left_ = {};
    }
    make_plan();
    return left_.bytes() + left_half_.bytes();
  }
  void operands(const void* const* data) {
    right_ = data[0];
    if (!is_half_) return;
    launch(right_half_.data(), static_cast<const float*>(right_), p_.dims[1] * p_.rank);
    adapter::expect_cuda(cudaDeviceSynchronize(), "convert");
    right_ = right_half_.data();
  }
  void run(void* stream) {
    const float one = 1, zero = 0;
    const void* left = is_half_ ? static_cast<void*>(left_half_.data()) : left_.data();
    void* result = is_half_ ? static_cast<void*>(result_half_.data()) : result_.data();
    expect(cutensorContract(handle_, plan_, &one, left, right_, &zero, result, result, work_.data(),
                            work_.bytes(), static_cast<cudaStream_t>(stream)),
           "cutensorContract");
  }
  void result(void* data) const {
    if (is_half_) launch(result_.data(), result_half_.data(), p_.dims[0] * p_.rank);
    result_.copy_to(data);
  }

 private:
  static constexpr std::uint64_t kMostCells = std::uint64_t{1} << 30;
  static constexpr std::int32_t kA[] = {'i', 'k'}, kB[] = {'k', 'j'}, kC[] = {'i', 'j'};

  bool says(const char* word) const { return std::strstr(p_.params, word) != nullptr; }
  static void expect(cutensorStatus_t status, const char* call) {
    adapter::expect_done(status, call, CUTENSOR_STATUS_SUCCESS);
  }
  template <class To, class From>
  static void launch(To* to, const From* from, std::uint64_t size) {
    convert<<<1024, 256>>>(to, from, size);
    adapter::expect_cuda(cudaGetLastError(), "convert");
  }
  void make_plan() {
    expect(cutensorCreate(&handle_), "cutensorCreate");
    const auto a = row_major(p_.dims[0], p_.dims[1]), b = row_major(p_.dims[1], p_.rank),
               c = row_major(p_.dims[0], p_.rank);
    cutensorOperationDescriptor_t operation{};
    expect(cutensorCreateContraction(
               handle_, &operation, a, kA, CUTENSOR_OP_IDENTITY, b, kB, CUTENSOR_OP_IDENTITY, c, kC,
               CUTENSOR_OP_IDENTITY, c, kC,
               is_tf32_ ? CUTENSOR_COMPUTE_DESC_TF32 : CUTENSOR_COMPUTE_DESC_32F),
           "cutensorCreateContraction");
    work_ = adapter::make_plan(handle_, operation, plan_);
    for (const auto made : {a, b, c})
      expect(cutensorDestroyTensorDescriptor(made), "cutensorDestroyTensorDescriptor");
  }
  cutensorTensorDescriptor_t row_major(std::uint64_t rows, std::uint64_t columns) const {
    const std::int64_t lengths[] = {static_cast<std::int64_t>(rows),
                                    static_cast<std::int64_t>(columns)};
    const std::int64_t strides[] = {lengths[1], 1};
    constexpr std::uint32_t kAlignment = 128;
    cutensorTensorDescriptor_t made{};
    expect(cutensorCreateTensorDescriptor(handle_, &made, 2, lengths, strides,
                                          is_half_ ? CUTENSOR_R_16F : CUTENSOR_R_32F, kAlignment),
           "cutensorCreateTensorDescriptor");
    return made;
  }

  const retensor_method_problem& p_;
  bool is_tf32_, is_half_;
  cutensorHandle_t handle_{};
  cutensorPlan_t plan_{};
  adapter::DeviceArray<float> left_, result_;
  adapter::DeviceArray<__half> left_half_, right_half_, result_half_;
  adapter::DeviceArray<char> work_;
  const void* right_ = nullptr;
};

RETENSOR_ADAPTER(CuTensor)
