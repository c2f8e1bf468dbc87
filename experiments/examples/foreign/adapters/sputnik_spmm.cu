/* Sparse times dense matrix of Sputnik (github.com/google-research/sputnik) for ReTensor:
 *
 *       nvcc -O2 -shared -Xcompiler -fPIC -I INCLUDE -I SPUTNIK sputnik_spmm.cu \
 *         -o libsputnik_spmm.so -L SPUTNIK/build/sputnik -lspmm
 *       retensor bench MATRIX.mtx --operation spmm --library
 * sputnik_original.cuda=./libsputnik_spmm.so
 *
 * SPUTNIK is the tree. Rows are handed over in descending order of their lengths
 * (its row swizzle), in single precision. */
#include <sputnik/spmm/cuda_spmm.h>

#include "adapter_cuda.cuh"

class Sputnik {
 public:
  explicit Sputnik(const retensor_method_problem& problem) : p_(problem) {
    adapter::expect(p_, "spmm", sizeof(float));
  }
  std::uint64_t prepare() {
    const auto csr = adapter::csr_of(p_);
    std::vector<int> swizzle(p_.dims[0]);
    std::iota(swizzle.begin(), swizzle.end(), 0);
    const auto length = [&](int row) { return csr.starts[row + 1] - csr.starts[row]; };
    std::stable_sort(swizzle.begin(), swizzle.end(),
                     [&](int a, int b) { return length(a) > length(b); });
    swizzle_ = adapter::DeviceArray<int>(swizzle);
    starts_ = adapter::DeviceArray<int>(csr.starts);
    columns_ = adapter::DeviceArray<int>(csr.columns);
    values_ = adapter::DeviceArray<float>(csr.values);
    result_ = adapter::DeviceArray<float>(p_.result.rows * p_.result.columns);
    return swizzle_.bytes() + starts_.bytes() + columns_.bytes() + values_.bytes();
  }
  void operands(const void* const* data) { dense_ = static_cast<const float*>(data[0]); }
  void run(void* stream) {
    adapter::expect_cuda(
        sputnik::CudaSpmm(static_cast<int>(p_.dims[0]), static_cast<int>(p_.dims[1]),
                          static_cast<int>(p_.rank), static_cast<int>(p_.nnz), swizzle_.data(),
                          values_.data(), starts_.data(), columns_.data(), dense_, result_.data(),
                          static_cast<cudaStream_t>(stream)),
        "CudaSpmm");
  }
  void result(void* data) const { result_.copy_to(data); }

 private:
  const retensor_method_problem& p_;
  adapter::DeviceArray<int> swizzle_, starts_, columns_;
  adapter::DeviceArray<float> values_, result_;
  const float* dense_ = nullptr;
};

RETENSOR_ADAPTER(Sputnik)
