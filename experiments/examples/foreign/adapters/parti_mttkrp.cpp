/* MTTKRP of ParTI (github.com/hpcgarage/ParTI) in COO as a library for ReTensor:
 *
 *       c++ -std=c++17 -O2 -shared -fPIC -I INCLUDE -I PARTI/include parti_mttkrp.cpp \
 *         -o libparti_mttkrp.so -L PARTI/build -lParTI -fopenmp -lm
 *
 * PARTI is the tree. `params: {threads: 8}` runs sptOmpMTTKRP, else sptMTTKRP runs. ParTI keeps
 * matrices with rows of a multiple of eight values, so that factors are copied. */
#include <cstdlib>
#include <vector>

extern "C" {
#include <ParTI.h>
}

#include "adapter.hpp"

class Parti {
 public:
  explicit Parti(const retensor_method_problem& problem) : p_(problem) {
    adapter::expect(p_, "mttkrp", sizeof(sptValue));
    if (const char* at = std::strstr(p_.params, "\"threads\":")) threads_ = std::atoi(at + 10);
    for (int m = 1; m < p_.order; ++m) order_.push_back((p_.mode + m) % p_.order);
    order_.insert(order_.begin(), p_.mode);
  }
  ~Parti() {
    if (!prepared_) return;
    for (auto& matrix : matrices_) sptFreeMatrix(&matrix);
    sptFreeSparseTensor(&tensor_);
  }
  Parti(const Parti&) = delete;
  Parti& operator=(const Parti&) = delete;

  std::uint64_t prepare() {
    const std::vector<sptIndex> dims(p_.dims, p_.dims + p_.order);
    adapter::expect_done(sptNewSparseTensor(&tensor_, p_.order, dims.data()), "sptNewSparseTensor");
    for (int m = 0; m < p_.order; ++m)
      for (std::uint64_t x = 0; x < p_.nnz; ++x)
        sptAppendIndexVector(&tensor_.inds[m], p_.indices[m][x]);
    for (std::uint64_t x = 0; x < p_.nnz; ++x)
      sptAppendValueVector(&tensor_.values, static_cast<const sptValue*>(p_.values)[x]);
    tensor_.nnz = p_.nnz;
    sptSparseTensorSortIndexAtMode(&tensor_, p_.mode, 1, threads_ > 0 ? threads_ : 1);
    matrices_.resize(p_.order + 1);  // the last one takes the result
    for (int m = 0; m <= p_.order; ++m)
      adapter::expect_done(
          sptNewMatrix(&matrices_[m], m < p_.order ? p_.dims[m] : p_.result.rows, p_.rank),
          "sptNewMatrix");
    prepared_ = true;
    return p_.nnz * (p_.order * sizeof(sptIndex) + sizeof(sptValue));
  }
  void operands(const void* const* data) {
    for (int m = 0; m < p_.order; ++m)
      for (std::uint64_t i = 0; i < p_.dims[m]; ++i)
        std::memcpy(matrices_[m].values + i * matrices_[m].stride,
                    static_cast<const sptValue*>(data[m]) + i * p_.rank,
                    p_.rank * sizeof(sptValue));
  }
  void run(void*) {
    std::vector<sptMatrix*> all;
    for (auto& matrix : matrices_) all.push_back(&matrix);
    adapter::expect_done(threads_ > 0
                             ? sptOmpMTTKRP(&tensor_, all.data(), order_.data(), p_.mode, threads_)
                             : sptMTTKRP(&tensor_, all.data(), order_.data(), p_.mode),
                         "sptMTTKRP");
  }
  void result(void* data) const {
    const auto& matrix = matrices_.back();
    for (std::uint64_t i = 0; i < p_.result.rows; ++i)
      std::memcpy(static_cast<sptValue*>(data) + i * p_.rank, matrix.values + i * matrix.stride,
                  p_.rank * sizeof(sptValue));
  }

 private:
  const retensor_method_problem& p_;
  int threads_ = 0;
  std::vector<sptIndex> order_;
  bool prepared_ = false;
  sptSparseTensor tensor_{};
  std::vector<sptMatrix> matrices_;
};

RETENSOR_ADAPTER(Parti)
