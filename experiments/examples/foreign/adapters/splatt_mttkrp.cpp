/* MTTKRP of an installed SPLATT (github.com/ShadenSmith/splatt) as a library for ReTensor:
 *
 *       c++ -std=c++17 -O2 -shared -fPIC -I INCLUDE -I PREFIX/include splatt_mttkrp.cpp \
 *         -o libsplatt_mttkrp.so -L PREFIX/lib -lsplatt -fopenmp -lm
 *
 * INCLUDE is the folder of retensor_method.h, PREFIX the one that SPLATT was installed in. SPLATT
 * takes the mode lengths from the largest indices: the rows behind them stay zero. */
#include <splatt.h>

#include <vector>

#include "adapter.hpp"

class Splatt {
 public:
  explicit Splatt(const retensor_method_problem& problem) : p_(problem) {
    adapter::expect(p_, "mttkrp", sizeof(splatt_val_t));
    if (p_.order < 3 || p_.nnz == 0)
      throw adapter::Unsupported("takes order 3 to 8 and a nonzero or more");
    options_[SPLATT_OPTION_VERBOSITY] = SPLATT_VERBOSITY_NONE;
  }
  ~Splatt() {
    if (tensor_ != nullptr) splatt_free_csf(tensor_, options_);
    splatt_free_opts(options_);
  }
  Splatt(const Splatt&) = delete;
  Splatt& operator=(const Splatt&) = delete;

  /// Of copies in SPLATT's types, which its conversion sorts in place.
  std::uint64_t prepare() {
    std::vector<std::vector<splatt_idx_t>> copies;
    std::vector<splatt_idx_t*> indices;
    for (int m = 0; m < p_.order; ++m) {
      copies.emplace_back(p_.indices[m], p_.indices[m] + p_.nnz);
      indices.push_back(copies.back().data());
    }
    const auto* given = static_cast<const splatt_val_t*>(p_.values);
    std::vector<splatt_val_t> values(given, given + p_.nnz);
    adapter::expect_done(
        splatt_csf_convert(p_.order, p_.nnz, indices.data(), values.data(), &tensor_, options_),
        "splatt_csf_convert", SPLATT_SUCCESS);
    result_.resize(p_.result.rows * p_.rank);
    return 0;  // the installed header tells no size of a CSF tensor
  }
  void operands(const void* const* data) {
    factors_.clear();
    for (int m = 0; m < p_.order; ++m)
      factors_.push_back(static_cast<splatt_val_t*>(const_cast<void*>(data[m])));
  }
  void run(void*) {
    adapter::expect_done(
        splatt_mttkrp(p_.mode, p_.rank, tensor_, factors_.data(), result_.data(), options_),
        "splatt_mttkrp", SPLATT_SUCCESS);
  }
  void result(void* data) const {
    std::memcpy(data, result_.data(), result_.size() * sizeof(splatt_val_t));
  }

 private:
  const retensor_method_problem& p_;
  double* options_ = splatt_default_opts();
  splatt_csf* tensor_ = nullptr;
  std::vector<splatt_val_t*> factors_;
  std::vector<splatt_val_t> result_;
};

RETENSOR_ADAPTER(Splatt)
