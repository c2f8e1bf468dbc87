// A sequential MTTKRP on coordinates that is right, or wrong in one chosen way: what shows that the
// checks of the timing loop and of the contract battery can fail.
#pragma once

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/core/error.hpp"
#include "common/method/method.hpp"

namespace retensor::test {

enum class Fault {
  none,
  drops_last,     ///< leaves out the last nonzero
  swaps_modes,    ///< reads the factors of mode m at the index of the next mode where that is legal
  allocates,      ///< run makes a new matrix
  accumulates,    ///< right once: never clears its output
  keeps_factors,  ///< never reads the factors again after prepare
  keeps_one,      ///< of nonzeros with equal coordinates only the last counts
  throws,         ///< run throws a LogicError
  throws_foreign,     ///< run throws what is no std::exception
  out_of_memory,      ///< prepare throws OutOfMemory
  bad_alloc,          ///< prepare throws std::bad_alloc
  wrong_kind,         ///< returns another kind of result
  unsupported,        ///< declines with a reason
  declines_silently,  ///< declines without a reason
  says_nothing        ///< does not tell what ran
};

class PlantedRun final : public Prepared {
 public:
  PlantedRun(const Problem& problem, Fault fault)
      : problem_(problem),
        fault_(fault),
        kept_(fault == Fault::keeps_factors ? problem.dense() : std::vector<Matrix>{}),
        out_(problem.x().dims[mode()], problem.rank(), problem.dtype()) {
    if (fault == Fault::out_of_memory) throw OutOfMemory("planted");
    if (fault == Fault::bad_alloc) throw std::bad_alloc();
  }

  void run(StageTimer& timer) override {
    if (fault_ == Fault::throws) throw LogicError("planted");
    if (fault_ == Fault::throws_foreign) throw 42;
    timer.stage("zero");
    if (fault_ == Fault::allocates) out_ = Matrix(out_.rows(), out_.cols(), out_.dtype());
    if (fault_ != Fault::accumulates)
      for (std::uint64_t i = 0; i < out_.rows(); ++i)
        for (std::uint64_t r = 0; r < out_.cols(); ++r) out_.set(i, r, 0);
    timer.stage("kernel");
    const Count nonzeros = problem_.x().nnz() - (drops() ? 1 : 0);
    for (Count x = 0; x < nonzeros; ++x)
      if (!superseded(x)) add(x);
  }

  Result result() override {
    if (fault_ == Fault::wrong_kind) return problem_.x();
    return out_;
  }
  Executed executed() const override {
    if (fault_ == Fault::says_nothing) return {};
    return {{"kernel", "planted"}};
  }
  Footprint footprint() const override { return {out_.bytes(), 0}; }
  Work work() const override { return work_model(problem_); }

 private:
  std::size_t mode() const { return static_cast<std::size_t>(problem_.mode()); }
  const std::vector<Matrix>& factors() const { return kept_.empty() ? problem_.dense() : kept_; }
  bool drops() const { return fault_ == Fault::drops_last && problem_.x().nnz() > 0; }

  Index index(std::size_t m, Count x) const {
    const auto& indices = problem_.x().indices;
    if (fault_ != Fault::swaps_modes) return indices[m][x];
    const Index other = indices[(m + 1) % indices.size()][x];
    return other < problem_.x().dims[m] ? other : indices[m][x];
  }

  bool superseded(Count x) const {
    if (fault_ != Fault::keeps_one) return false;
    for (Count later = x + 1; later < problem_.x().nnz(); ++later) {
      bool same = true;
      for (const auto& indices : problem_.x().indices) same &= indices[x] == indices[later];
      if (same) return true;
    }
    return false;
  }

  void add(Count x) {
    const std::uint64_t row = problem_.x().indices[mode()][x];
    for (std::uint64_t r = 0; r < out_.cols(); ++r) {
      double product = problem_.x().values.at(x);
      for (std::size_t m = 0; m < factors().size(); ++m)
        if (m != mode()) product *= factors()[m].at(index(m, x), r);
      out_.set(row, r, out_.at(row, r) + product);
    }
  }

  const Problem& problem_;
  Fault fault_;
  std::vector<Matrix> kept_;
  Matrix out_;
};

class PlantedMethod final : public Method {
 public:
  explicit PlantedMethod(Fault fault, std::string id = "planted.cpu.coo")
      : fault_(fault), id_(std::move(id)) {}
  std::string_view id() const override { return id_; }
  std::string_view summary() const override { return "MTTKRP with a planted fault"; }
  Backend backend() const override { return Backend::cpu; }
  Support supports(const Problem& p, const Params&) const override {
    if (fault_ == Fault::unsupported) return Support::no("planted");
    if (fault_ == Fault::declines_silently) return Support::no("");
    if (p.operation() != Operation::mttkrp) return Support::no("only mttkrp");
    return Support::yes();
  }
  std::unique_ptr<Prepared> prepare(const Problem& p, const Params&) const override {
    return std::make_unique<PlantedRun>(p, fault_);
  }

 private:
  Fault fault_;
  std::string id_;
};

}  // namespace retensor::test
