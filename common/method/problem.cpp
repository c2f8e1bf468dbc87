// Operands of a problem: every random draw has its own stream of the problem's seed, so that two
// processes with the same spec and tensor solve the same problem.
#include "common/method/problem.hpp"

#include <array>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/tensor/einsum.hpp"

namespace retensor {
namespace {

constexpr std::array<std::string_view, 10> kOperations = {
    "tew", "ts", "ttv", "ttm", "mttkrp", "mttkrp_all", "ttm_chain", "contraction", "spmm", "cpd"};
const std::vector<std::string> kElementwise = {"add", "sub", "mul", "div"};

/// Streams of the seed: x, y, and one per dense operand.
constexpr std::uint64_t kStreamX = 1, kStreamY = 2, kStreamDense = 16;

bool elementwise(Operation op) {
  return op == Operation::tew || op == Operation::ts;
}
bool has_second_tensor(Operation op) {
  return op == Operation::tew || op == Operation::contraction;
}

void check_mode_and_rank(const ProblemSpec& spec, int order) {
  const auto op = name(spec.operation);
  if (has_mode(spec.operation) && (spec.mode < 0 || spec.mode >= order))
    throw input_error("{}: found mode {}, expected 0 to {}", op, spec.mode, order - 1);
  if (has_rank(spec.operation) && spec.rank == 0)
    throw input_error("{}: found rank 0, expected at least 1", op);
  if (spec.operation == Operation::ttv && order < 2)
    throw input_error("ttv: found a tensor of order 1, expected 2 or more");
  if (spec.operation == Operation::spmm && order != 2)
    throw input_error("spmm: found a tensor of order {}, expected 2", order);
  if (spec.operation == Operation::cpd && spec.max_sweeps < 1)
    throw input_error("cpd: found max_sweeps {}, expected at least 1", spec.max_sweeps);
}

void check_variant(const ProblemSpec& spec) {
  if (elementwise(spec.operation))
    place_among(kElementwise, spec.variant, fmt::format("{}: found variant", name(spec.operation)));
}

std::shared_ptr<const Coo> with_values(std::shared_ptr<const Coo> tensor, Values values) {
  auto copy = std::make_shared<Coo>(*tensor);
  copy->values = std::move(values);
  return copy;
}

std::shared_ptr<const Coo> cast(std::shared_ptr<const Coo> tensor, DType type) {
  if (tensor->dtype() == type) return tensor;
  return with_values(tensor, tensor->values.cast(type));
}

std::shared_ptr<const Coo> first_operand(const ProblemSpec& spec, std::shared_ptr<const Coo> x) {
  if (spec.values == ValueModel::stored) return cast(std::move(x), spec.dtype);
  return with_values(x, draw_values(spec.values, spec.dtype, x->nnz(), spec.seed, kStreamX));
}

std::shared_ptr<const Coo> second_operand(const ProblemSpec& spec,
                                          const std::shared_ptr<const Coo>& x,
                                          std::shared_ptr<const Coo> y) {
  if (!has_second_tensor(spec.operation)) {
    if (y != nullptr) throw input_error("{} takes one tensor, found two", name(spec.operation));
    return nullptr;
  }
  if (y == nullptr && spec.operation == Operation::contraction) return x;
  if (y == nullptr)
    return with_values(x, draw_values(spec.operands, spec.dtype, x->nnz(), spec.seed, kStreamY));
  if (spec.operation == Operation::tew && y->order() != x->order())
    throw input_error("tew: found tensors of order {} and {}, expected equal orders", x->order(),
                      y->order());
  return cast(std::move(y), spec.dtype);
}

Matrix draw_matrix(const ProblemSpec& spec, std::uint64_t rows, std::uint64_t cols, int which) {
  Matrix m(rows, cols, spec.dtype);
  m.values() = draw_values(spec.operands, spec.dtype, rows * cols, spec.seed, kStreamDense + which);
  return m;
}

/// Columns of dense[m]: R everywhere but in a chain, where all multiplied modes after the lowest
/// have R2 (HLSTO eq. 5: Y(i, r1, r2)).
std::uint64_t columns(const ProblemSpec& spec, int m) {
  if (spec.operation != Operation::ttm_chain || m == spec.mode) return spec.rank;
  const int lowest = spec.mode == 0 ? 1 : 0;
  return m == lowest ? spec.rank : spec.rank2;
}

std::vector<Matrix> dense_operands(const ProblemSpec& spec, const Dims& dims) {
  const auto op = spec.operation;
  std::vector<Matrix> dense;
  if (op == Operation::ttv || op == Operation::ttm)
    dense.push_back(draw_matrix(spec, dims[spec.mode], op == Operation::ttv ? 1 : spec.rank, 0));
  else if (op == Operation::spmm)
    dense.push_back(draw_matrix(spec, dims[1], spec.rank, 0));
  else if (has_rank(op))  // a factor of each mode
    for (int m = 0; m < static_cast<int>(dims.size()); ++m)
      dense.push_back(draw_matrix(spec, dims[m], columns(spec, m), m));
  return dense;
}

void check_factors(const ProblemSpec& spec, const Coo& x, const std::vector<Matrix>& factors) {
  if (factors.size() != x.dims.size())
    throw input_error("{}: found {} factors, expected one for each of {} modes",
                      name(spec.operation), factors.size(), x.order());
  for (std::size_t m = 0; m < factors.size(); ++m) {
    const Matrix& f = factors[m];
    const bool outlined = f.rows() == 0;
    if ((f.rows() != x.dims[m] && !outlined) || f.cols() != spec.rank || f.dtype() != x.dtype())
      throw input_error("{}: found a factor of mode {} of {} x {} {}, expected {} x {} {}",
                        name(spec.operation), m, f.rows(), f.cols(), name(f.dtype()), x.dims[m],
                        spec.rank, name(x.dtype()));
  }
}

ProblemSpec completed(ProblemSpec spec) {
  if (spec.variant.empty() && spec.operation == Operation::tew) spec.variant = "add";
  if (spec.variant.empty() && spec.operation == Operation::ts) spec.variant = "mul";
  if (spec.rank2 == 0) spec.rank2 = spec.rank;
  return spec;
}

/// In the order of Operation.
constexpr std::array<reference::Expected (*)(const Problem&), 10> kOracles = {
    [](const Problem& p) { return reference::tew(p.x(), p.y(), p.spec().variant); },
    [](const Problem& p) { return reference::ts(p.x(), p.spec().scalar, p.spec().variant); },
    [](const Problem& p) { return reference::ttv(p.x(), p.dense().front(), p.mode()); },
    [](const Problem& p) { return reference::ttm(p.x(), p.dense().front(), p.mode()); },
    [](const Problem& p) { return reference::mttkrp(p.x(), p.dense(), p.mode()); },
    [](const Problem& p) { return reference::mttkrp_all(p.x(), p.dense()); },
    [](const Problem& p) { return reference::ttm_chain(p.x(), p.dense(), p.mode()); },
    [](const Problem& p) {
      return reference::contraction(p.x(), p.y(), p.spec().variant, p.spec().alpha);
    },
    [](const Problem& p) { return reference::spmm(p.x(), p.dense().front()); },
    [](const Problem& p) {
      return reference::cpd(p.x(), p.dense(), p.spec().max_sweeps, p.spec().tolerance);
    }};

}  // namespace

bool has_mode(Operation op) {
  return op == Operation::ttv || op == Operation::ttm || op == Operation::mttkrp ||
         op == Operation::ttm_chain;
}

bool has_rank(Operation op) {
  return op != Operation::contraction && op != Operation::ttv && !elementwise(op);
}

const std::vector<std::string>& elementwise_variants() {
  return kElementwise;
}

void check_problem(const ProblemSpec& spec, const Dims& x, const Dims& y) {
  const auto whole = completed(spec);
  check_mode_and_rank(whole, static_cast<int>(x.size()));
  check_variant(whole);
  if (whole.operation == Operation::contraction) Contraction(whole.variant, x, y);
}

struct Problem::OracleSlot {
  std::mutex guard;
  std::optional<reference::Expected> answer;
};

std::string_view name(Operation op) {
  return kOperations.at(static_cast<std::size_t>(op));
}

const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names(kOperations.begin(), kOperations.end());
  return names;
}

Operation operation_from_name(std::string_view text) {
  return static_cast<Operation>(place_among(kOperations, text, "unknown operation"));
}

Problem::Problem(ProblemSpec spec, std::shared_ptr<const Coo> x, std::shared_ptr<const Coo> y)
    : spec_(completed(std::move(spec))), oracle_(std::make_shared<OracleSlot>()) {
  if (x == nullptr) throw logic_error("a problem needs a tensor");
  check_problem(spec_, x->dims, y == nullptr ? x->dims : y->dims);
  x_ = first_operand(spec_, std::move(x));
  y_ = second_operand(spec_, x_, std::move(y));
  dense_ = std::make_shared<const std::vector<Matrix>>(dense_operands(spec_, x_->dims));
}

Problem Problem::with_factors(ProblemSpec spec, std::shared_ptr<const Coo> x,
                              std::shared_ptr<const std::vector<Matrix>> factors) {
  if (x == nullptr || factors == nullptr) throw logic_error("a problem needs a tensor and factors");
  if (spec.operation != Operation::mttkrp && spec.operation != Operation::mttkrp_all)
    throw logic_error("{} does not take given factors", name(spec.operation));
  Problem p;
  p.spec_ = completed(std::move(spec));
  p.spec_.dtype = x->dtype();
  check_problem(p.spec_, x->dims, x->dims);
  check_factors(p.spec_, *x, *factors);
  p.x_ = std::move(x);
  p.dense_ = std::move(factors);
  p.oracle_ = std::make_shared<OracleSlot>();
  return p;
}

Problem Problem::outline(ProblemSpec spec, std::shared_ptr<const Coo> x, Count nonzeros) {
  if (x == nullptr) throw logic_error("a problem needs a tensor");
  Problem p;
  p.spec_ = completed(std::move(spec));
  check_problem(p.spec_, x->dims, x->dims);
  p.x_ = cast(std::move(x), p.spec_.dtype);
  if (has_second_tensor(p.spec_.operation)) p.y_ = p.x_;
  p.dense_ = std::make_shared<const std::vector<Matrix>>(
      dense_operands(p.spec_, Dims(p.x_->dims.size(), 0)));
  p.oracle_ = std::make_shared<OracleSlot>();
  p.stated_ = nonzeros;
  return p;
}

Problem Problem::of_mode(int mode) const {
  if (spec_.operation != Operation::mttkrp_all)
    throw logic_error("{} has no problem of one mode", name(spec_.operation));
  Problem one(*this);
  one.spec_.operation = Operation::mttkrp;
  one.spec_.mode = mode;
  check_problem(one.spec_, x_->dims, x_->dims);
  one.oracle_ = std::make_shared<OracleSlot>();
  return one;
}

const Coo& Problem::y() const {
  if (y_ == nullptr) throw logic_error("{} has no second tensor", name(spec_.operation));
  return *y_;
}

const reference::Expected& Problem::oracle() const {
  const std::lock_guard lock(oracle_->guard);
  if (!oracle_->answer) oracle_->answer = kOracles.at(static_cast<std::size_t>(operation()))(*this);
  return *oracle_->answer;
}

void Problem::set_oracle(reference::Expected oracle) const {
  const std::lock_guard lock(oracle_->guard);
  if (oracle_->answer) throw logic_error("the problem has its oracle already");
  oracle_->answer = std::move(oracle);
}

}  // namespace retensor
