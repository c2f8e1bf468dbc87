// cusparse.cuda, cusparse.cuda.ell: sparse times dense matrix by cuSPARSE.
#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "common/measure/registry.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/baselines/competitor_method.hpp"
#include "papers/tca_spmm/baselines/cusparse/cusparse_cuda.hpp"

namespace retensor {
namespace cusparse {

#ifndef RETENSOR_CUDA
std::unique_ptr<Prepared> prepare_csr(const Problem&, const Params&) {
  no_cuda();
}
std::unique_ptr<Prepared> prepare_ell(const Problem&, const Params&) {
  no_cuda();
}
std::string missing_library() {
  no_cuda();
}
#endif

Count ell_elements(const Coo& s, Count edge) {
  std::set<std::pair<Count, Count>> blocks;
  for (Count x = 0; x < s.nnz(); ++x)
    blocks.emplace(s.indices[0][x] / edge, s.indices[1][x] / edge);
  const Count rows = (s.dims[0] + edge - 1) / edge;
  std::vector<Count> of_row(rows, 0);
  for (const auto& block : blocks) ++of_row[block.first];
  return rows * edge * edge * *std::max_element(of_row.begin(), of_row.end());
}

namespace {

using tca_spmm::Element;

constexpr Count kMostIndices = std::numeric_limits<std::int32_t>::max();
/// Of the stored blocks: 1 GiB in half precision, an own choice.
constexpr Count kMostElements = Count{1} << 29;

class Cusparse : public tca_spmm::Competitor {
 protected:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (const auto own = Competitor::supports_problem(problem, params); !own.ok) return own;
    const Coo& s = problem.x();
    if (std::max({s.dims[0], s.dims[1], s.nnz()}) > kMostIndices)
      return Support::no("indices and positions have 31 bits");
    return supports_library(missing_library);
  }
};

class CsrMethod : public Cusparse {
 public:
  std::string_view id() const override { return "cusparse.cuda"; }
  std::string_view summary() const override { return "SpMM on CSR by cuSPARSE"; }
  ParamSchema params() const override {
    return {tca_spmm::types_param(),
            tca_spmm::dense_param(),
            {"algorithm",
             std::string("csr3"),
             "cuSPARSE's name: CUSPARSE_SPMM_ALG_DEFAULT or CUSPARSE_SPMM_CSR_ALG1 to 3",
             0,
             0,
             {"default", "csr1", "csr2", "csr3"}}};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_csr(problem, params);
  }
  /// On an H200 CSR_ALG2 passed the bound of sums in single precision by up to 8%: it seems to add
  /// parts of a row in the type of the result.
  reference::Precision precision(const Problem& problem, const Params& params) const override {
    auto p = Cusparse::precision(problem, params);
    const auto& algorithm = params.word("algorithm");
    if (p.roundings > 0 && (algorithm == "csr2" || algorithm == "default")) ++p.roundings;
    return p;
  }
};

class EllMethod : public Cusparse {
 public:
  std::string_view id() const override { return "cusparse.cuda.ell"; }
  std::string_view summary() const override { return "SpMM on Blocked-ELL by cuSPARSE"; }
  ParamSchema params() const override {
    return {tca_spmm::types_param(),
            {"edge", std::int64_t{16}, "edge of a block, a power of two", 8, 64, {}}};
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    return prepare_ell(problem, params);
  }
  /// Blocks go to tensor cores, in single precision as TF32, whose lower bits are cut off.
  reference::Precision precision(const Problem& problem, const Params& params) const override {
    auto p = Cusparse::precision(problem, params);
    if (tca_spmm::types_of(params).operands == Element::single)
      p.operand_eps = 2 * kUnitRoundoffTf32, p.roundings = 2, p.accumulate_eps *= 2;
    return p;
  }

 private:
  Support supports_problem(const Problem& problem, const Params& params) const override {
    if (const auto own = Cusparse::supports_problem(problem, params); !own.ok) return own;
    const auto edge = static_cast<Count>(params.integer("edge"));
    if ((edge & (edge - 1)) != 0) return Support::no("edges of blocks are powers of two");
    if (problem.x().nnz() > 0 && ell_elements(problem.x(), edge) > kMostElements)
      return Support::no(
          "blocks of all rows as many as of the fullest have more than 2^29 elements");
    return Support::yes();
  }
};

}  // namespace
}  // namespace cusparse

void register_cusparse(Registry& registry);

void register_cusparse(Registry& registry) {
  registry.add(std::make_unique<cusparse::CsrMethod>());
  registry.add(std::make_unique<cusparse::EllMethod>());
}

}  // namespace retensor
