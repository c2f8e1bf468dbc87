/* MTTKRP of GenTen (github.com/sandialabs/GenTen) on the host as a library for ReTensor:
 *
 *       c++ -std=c++17 -O2 -shared -fPIC -I INCLUDE -I PREFIX/include genten_mttkrp.cpp \
 *         -o libgenten_mttkrp.so -L PREFIX/lib -lgentenlib -lkokkoscore -fopenmp
 *
 * PREFIX is where GenTen was installed, built with shared libraries. Its values are double unless
 * it was configured otherwise; the threads are those of Kokkos (OMP_NUM_THREADS). */
#include <Genten_AlgParams.hpp>
#include <Genten_Ktensor.hpp>
#include <Genten_MixedFormatOps.hpp>
#include <Genten_Sptensor.hpp>

#include "adapter.hpp"

class GenTen {
 public:
  using Space = Genten::DefaultHostExecutionSpace;

  explicit GenTen(const retensor_method_problem& problem) : p_(problem) {
    adapter::expect(p_, "mttkrp", sizeof(ttb_real));
    if (!Kokkos::is_initialized()) Kokkos::initialize();
  }

  std::uint64_t prepare() {
    Genten::IndxArray dims(p_.order);
    for (int m = 0; m < p_.order; ++m) dims[m] = p_.dims[m];
    tensor_ = Genten::SptensorT<Space>(dims, p_.nnz);
    for (std::uint64_t x = 0; x < p_.nnz; ++x) {
      for (int m = 0; m < p_.order; ++m) tensor_.subscript(x, m) = p_.indices[m][x];
      tensor_.value(x) = static_cast<const ttb_real*>(p_.values)[x];
    }
    parameters_.mttkrp_method = Genten::MTTKRP_Method::computeDefault<Space>();
    if (parameters_.mttkrp_method == Genten::MTTKRP_Method::Perm) tensor_.createPermutation();
    factors_ = Genten::KtensorT<Space>(p_.rank, p_.order, dims);
    factors_.setWeights(1.0);
    result_ = Genten::KtensorT<Space>(p_.rank, p_.order, dims);
    return p_.nnz * (p_.order * sizeof(ttb_indx) + sizeof(ttb_real));
  }
  void operands(const void* const* data) {
    for (int m = 0; m < p_.order; ++m)
      for (std::uint64_t i = 0; i < p_.dims[m]; ++i)
        for (std::uint64_t r = 0; r < p_.rank; ++r)
          factors_[m].entry(i, r) = static_cast<const ttb_real*>(data[m])[i * p_.rank + r];
  }
  void run(void*) {
    Genten::mttkrp(tensor_, factors_, p_.mode, result_[p_.mode], parameters_);
    Kokkos::fence();
  }
  void result(void* data) const {
    for (std::uint64_t i = 0; i < p_.result.rows; ++i)
      for (std::uint64_t r = 0; r < p_.rank; ++r)
        static_cast<ttb_real*>(data)[i * p_.rank + r] = result_[p_.mode].entry(i, r);
  }

 private:
  const retensor_method_problem& p_;
  Genten::AlgParams parameters_;
  Genten::SptensorT<Space> tensor_;
  Genten::KtensorT<Space> factors_, result_;
};

RETENSOR_ADAPTER(GenTen)
