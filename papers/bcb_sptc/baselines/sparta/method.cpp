// sparta.cpu: element-wise contraction with hash tables (Sparta).
#include <memory>
#include <string_view>

#include "common/measure/registry.hpp"
#include "papers/bcb_sptc/baselines/sparta/sparta_cpu.hpp"

namespace retensor {
namespace sparta {
namespace {

int bits(const Coo& tensor, const std::vector<int>& modes) {
  int sum = 0;
  for (const int m : modes) sum += bits_for(tensor.dims[at(m)]);
  return sum;
}

std::unique_ptr<Prepared> prepare_cpu(const Problem& problem, const Params& params) {
  const auto given = static_cast<int>(params.integer("threads"));
  const int threads = given > 0 ? given : omp_get_max_threads();
  if (problem.dtype() == DType::f32) return std::make_unique<Run<float>>(problem, threads);
  return std::make_unique<Run<double>>(problem, threads);
}

}  // namespace
}  // namespace sparta

void register_sparta(Registry& registry) {
  registry.add({.id = "sparta.cpu",
                .summary = "element-wise contraction with hash tables on the CPU (Sparta)",
                .operations = {Operation::contraction},
                .converts_least = true,
                .supports =
                    [](const Problem& problem, const Params&) {
                      if (problem.spec().beta != 0)
                        return Support::no("expected beta 0: the operation has no tensor Z to add");
                      const Coo &x = problem.x(), &y = problem.y();
                      const Contraction modes(problem.spec().variant, x.dims, y.dims);
                      using sparta::bits;
                      if (std::max({bits(x, modes.free_x), bits(x, modes.contracted_x),
                                    bits(y, modes.free_y)}) <= 128)
                        return Support::yes();
                      return Support::no(
                          "a linear index of free or contracted modes needs more than 128 bits");
                    },
                .prepare = sparta::prepare_cpu,
                .params = {threads_param()}});
}

}  // namespace retensor
