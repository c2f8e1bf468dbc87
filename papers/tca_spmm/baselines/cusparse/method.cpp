// cusparse.cuda, cusparse.cuda.ell: sparse times dense matrix by cuSPARSE.
#include <algorithm>
#include <limits>

#include "common/method/registry.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/baselines/competitor_method.hpp"
#include "papers/tca_spmm/baselines/cusparse/format.hpp"

namespace retensor {
namespace cusparse {
/// CSR; parameters `types`, `dense` and `algorithm`.
std::unique_ptr<Prepared> prepare_csr(const Problem& problem, const Params& params);
/// Blocked-ELL; parameters `types` and `edge`.
std::unique_ptr<Prepared> prepare_ell(const Problem& problem, const Params& params);
/// Why the library could not be loaded; empty when it was.
std::string missing_library();

namespace {

using tca_spmm::Element;

constexpr Count kMostIndices = std::numeric_limits<std::int32_t>::max();
/// Of the stored blocks: 1 GiB in half precision, an own choice.
constexpr Count kMostElements = Count{1} << 29;

Support supports_csr(const Problem& problem, const Params&) {
  const auto& dims = problem.x().dims;
  if (std::max({dims[0], dims[1], problem.nonzeros()}) > kMostIndices)
    return Support::no("supports fewer than 2^31 rows, columns and nonzeros of S");
  return Support::yes();
}

Support supports_ell(const Problem& problem, const Params& params) {
  const auto edge = static_cast<Count>(params.integer("edge"));
  if ((edge & (edge - 1)) != 0) return Support::no("the edge of a block must be a power of two");
  if (problem.x().nnz() > 0 && ell_elements(problem.x(), edge) > kMostElements)
    return Support::no(
        "S has more than 2^29 elements when every row of blocks is padded to the fullest");
  return Support::yes();
}

/// On an H200 CSR_ALG2 passed the bound of sums in single precision by up to 8%: it seems to add
/// parts of a row in the type of the result.
reference::Precision csr_precision(const Problem& problem, const Params& params) {
  auto p = tca_spmm::types_precision(problem, params);
  const auto& algorithm = params.word("algorithm");
  if (p.roundings > 0 && (algorithm == "csr2" || algorithm == "default")) ++p.roundings;
  return p;
}

/// Blocks go to tensor cores, in single precision as TF32, whose lower bits are cut off.
reference::Precision ell_precision(const Problem& problem, const Params& params) {
  auto p = tca_spmm::types_precision(problem, params);
  if (tca_spmm::types_of(params).operands == Element::single)
    p.operand_eps = 2 * kUnitRoundoffTf32, p.roundings = 2, p.accumulate_eps *= 2;
  return p;
}

MethodSpec make_cusparse_cuda() {
  return tca_spmm::competitor_method({
      .id = "cusparse.cuda",
      .summary = "SpMM on CSR by cuSPARSE",
      .conditions = {supports_csr},
      .obstacle = RETENSOR_DEVICE_PART(missing_library),
      .precision = csr_precision,
      .prepare = RETENSOR_DEVICE_PART(prepare_csr),
      .params = {tca_spmm::types_param(), tca_spmm::dense_param(),
                 param("algorithm", "csr3",
                       "cuSPARSE's name: CUSPARSE_SPMM_ALG_DEFAULT or CUSPARSE_SPMM_CSR_ALG1 to 3")
                     .words({"default", "csr1", "csr2", "csr3"})},
      .converts_least = true,
  });
}

MethodSpec make_cusparse_cuda_ell() {
  return tca_spmm::competitor_method({
      .id = "cusparse.cuda.ell",
      .summary = "SpMM on Blocked-ELL by cuSPARSE",
      .conditions = {supports_csr, supports_ell},
      .obstacle = RETENSOR_DEVICE_PART(missing_library),
      .precision = ell_precision,
      .prepare = RETENSOR_DEVICE_PART(prepare_ell),
      .params = {tca_spmm::types_param(),
                 param("edge", 16, "edge of a block, a power of two").range(8, 64)},
  });
}

}  // namespace
}  // namespace cusparse

void register_cusparse(Registry& registry) {
  registry.add_all({cusparse::make_cusparse_cuda, cusparse::make_cusparse_cuda_ell});
}

}  // namespace retensor
