#include "papers/bcb_sptc/addend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "common/core/error.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::bcb_sptc {
namespace {

constexpr int kPositionBits = 32;
constexpr Count kMostEntries = std::numeric_limits<std::uint32_t>::max();

/// The timer of a run that nobody times, on the default stream of a device.
class NoTimer : public StageTimer {
 public:
  void start() override {}
  void stage(std::string_view) override {}
  StageTimes stop() override { return {}; }
};

std::string text(const Dims& dims) {
  std::string line;
  for (const auto length : dims) line += (line.empty() ? "" : " x ") + std::to_string(length);
  return line;
}

std::shared_ptr<const Coo> borrowed(const Coo& tensor) {
  return {std::shared_ptr<const Coo>(), &tensor};
}

/// Nonzeros `first` to last - 1.
std::shared_ptr<const Coo> part(const Coo& tensor, Count first, Count last) {
  auto some = std::make_shared<Coo>(tensor.dims, tensor.dtype(), last - first);
  for (std::size_t m = 0; m < tensor.dims.size(); ++m)
    std::copy_n(tensor.indices[m].begin() + static_cast<std::ptrdiff_t>(first), last - first,
                some->indices[m].begin());
  for (Count p = first; p < last; ++p) some->values.set(p - first, tensor.values.at(p));
  return some;
}

/// The contraction of `problem` with other nonzeros of X and another alpha.
Problem with_x(const Problem& problem, std::shared_ptr<const Coo> x, double alpha) {
  ProblemSpec spec = problem.spec();
  spec.values = ValueModel::stored;  // they were drawn before
  spec.alpha = alpha;
  return {spec, std::move(x), borrowed(problem.y())};
}

Coo result_of(const Problem& problem, const Addend& addend, const PrepareSum& prepare) {
  const auto prepared = prepare(problem, addend);
  NoTimer timer;
  prepared->run(timer);
  return std::get<Coo>(prepared->result());
}

/// Owns what the run of an update works on.
class UpdateRun : public Prepared {
 public:
  UpdateRun(const Problem& problem, double beta, const PrepareSum& prepare)
      : half_(problem.x().nnz() / 2),
        first_(with_x(problem, part(problem.x(), 0, half_), problem.spec().alpha)),
        addend_{beta, rest(problem, beta, prepare)},
        run_(prepare(first_, addend_)) {}

  void run(StageTimer& timer) override { run_->run(timer); }
  Result result() override { return run_->result(); }
  Executed executed() const override { return run_->executed(); }
  Footprint footprint() const override { return run_->footprint(); }
  Work work() const override { return run_->work(); }

 private:
  /// Z: what the other nonzeros contribute, over beta.
  Coo rest(const Problem& problem, double beta, const PrepareSum& prepare) const {
    const Problem second =
        with_x(problem, part(problem.x(), half_, problem.x().nnz()), problem.spec().alpha / beta);
    return result_of(second, {}, prepare);
  }

  const Count half_;
  const Problem first_;
  const Addend addend_;
  const std::unique_ptr<Prepared> run_;
};

}  // namespace

LinearIndex sum_index(const Dims& result_dims) {
  LinearIndex index(result_dims, natural_order(static_cast<int>(result_dims.size())));
  if (index.bits() > 128 - kPositionBits)
    throw InputError(
        fmt::format("a sum of tensors: a coordinate takes {} bits, expected at most {}",
                    index.bits(), 128 - kPositionBits));
  return index;
}

void check_addend(const Addend& addend, const Dims& result_dims, Count product_entries) {
  sum_index(result_dims);
  if (addend.z.dims != result_dims)
    throw InputError("Z: found dims " + text(addend.z.dims) + ", expected those of the result, " +
                     text(result_dims));
  if (addend.z.dtype() != DType::f32)
    throw InputError("Z: found values in double precision, expected single");
  addend.z.check();
  if (addend.z.nnz() + product_entries > kMostEntries)
    throw InputError("a sum of tensors: found " + std::to_string(addend.z.nnz() + product_entries) +
                     " entries of both, expected fewer than 2^32");
}

HostSum::HostSum(const Addend& addend, const Dims& result_dims, Count product_entries)
    : addend_(addend), index_(sum_index(result_dims)) {
  check_addend(addend, result_dims, product_entries);
  keys_.resize(product_entries + addend.z.nnz());
  sum_ = Coo(result_dims, DType::f32, keys_.size());
}

void HostSum::run(const Coo& product) {
  const Count first_of_z = product.nnz();
  const auto key = [&](const Coo& tensor, Count p, Count position) {
    std::array<Index, kMaxOrder> at{};
    for (std::size_t m = 0; m < tensor.dims.size(); ++m) at[m] = tensor.indices[m][p];
    return index_.encode<Uint128>(at) << kPositionBits | position;
  };
  for (Count p = 0; p < first_of_z; ++p) keys_[p] = key(product, p, p);
  for (Count p = first_of_z; p < keys_.size(); ++p) keys_[p] = key(addend_.z, p - first_of_z, p);
  std::sort(keys_.begin(), keys_.end());

  const auto values = sum_.values.as<float>();
  const auto beta = static_cast<float>(addend_.beta);
  entries_ = 0;
  for (Count k = 0; k < keys_.size(); ++k) {
    const Uint128 coordinate = keys_[k] >> kPositionBits;
    if (k == 0 || coordinate != keys_[k - 1] >> kPositionBits) {
      for (std::size_t m = 0; m < sum_.indices.size(); ++m)
        sum_.indices[m][entries_] = index_.decode(coordinate, static_cast<int>(m));
      values[entries_++] = 0;
    }
    const auto p = static_cast<Count>(keys_[k] & kMostEntries);
    values[entries_ - 1] += p < first_of_z ? product.values.as<float>()[p]
                                           : beta * addend_.z.values.as<float>()[p - first_of_z];
  }
}

std::unique_ptr<Prepared> prepare_update(const Problem& problem, double beta,
                                         const PrepareSum& prepare) {
  return std::make_unique<UpdateRun>(problem, beta, prepare);
}

Coo contract(const std::string& einsum, double alpha, const Coo& x, const Coo& y,
             const Addend& addend, const PrepareSum& prepare) {
  ProblemSpec spec;
  spec.operation = Operation::contraction;
  spec.variant = einsum;
  spec.alpha = alpha;
  const Problem problem(spec, borrowed(x), borrowed(y));
  return result_of(problem, addend, prepare);
}

}  // namespace retensor::bcb_sptc
