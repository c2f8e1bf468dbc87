// pasta.cpu.packed.
#include <fmt/format.h>

#include "papers/pasta/format/packed_rows.hpp"
#include "papers/pasta/kernels/packed_cpu.hpp"
#include "papers/pasta/methods/methods.hpp"

namespace retensor::pasta {
namespace {

constexpr int kMostPackedOrder = 5;  // as many factors as the kernel has as constants, and one

}  // namespace

Support supports_packed(const Problem& problem, const Params&) {
  if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
  const int order = problem.x().order();
  if (order < 2 || order > kMostPackedOrder)
    return Support::no(
        fmt::format("found a tensor of order {}, expected 2 to {}", order, kMostPackedOrder));
  const int bits = packed_bits(problem.x().dims, problem.mode());
  if (bits > kMostPackedBits)
    return Support::no(
        fmt::format("found coordinates of {} bits beside mode {}, expected at most {}", bits,
                    problem.mode(), kMostPackedBits));
  return Support::yes();
}

MethodSpec make_packed_cpu() {
  return with_shared({Operation::mttkrp}, supports_packed,
                     {
                         .id = "pasta.cpu.packed",
                         .summary = "MTTKRP on nonzeros by row with packed coordinates, vectors of "
                                    "512 bits where the processor has them",
                         .prepare = prepare_packed_cpu,
                         .params = {threads_param()},
                         .form = own_form(),
                         .bytes_per_nonzero = 32,
                     });
}

}  // namespace retensor::pasta
