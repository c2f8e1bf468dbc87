#include "common/method/operands.hpp"

#include <algorithm>

#include "common/core/message.hpp"

namespace retensor {

void set_operand(const Problem& problem, std::size_t m, const Matrix& from) {
  const Matrix& to = problem.dense().at(m);
  if (from.rows() != to.rows() || from.cols() != to.cols() || from.dtype() != to.dtype())
    throw input_error("{}: found dense operand {} of {} x {} {}, expected {} x {} {}",
                      name(problem.operation()), m, from.rows(), from.cols(), name(from.dtype()),
                      to.rows(), to.cols(), name(to.dtype()));
  dispatch(from.dtype(), [&]<class T>() {
    const auto source = from.values().as<T>();
    // A problem hands out its operands as const; their elements are no const objects.
    std::copy(source.begin(), source.end(), const_cast<T*>(to.values().as<T>().data()));
  });
}

}  // namespace retensor
