// sparta.cpu: element-wise contraction with hash tables (Sparta).
#include <memory>

#include "common/method/registry.hpp"
#include "papers/bcb_sptc/baselines/sparta/sparta_cpu.hpp"

namespace retensor {
namespace sparta {
namespace {

std::unique_ptr<Prepared> prepare_cpu(const Problem& problem, const Params& params) {
  const auto given = static_cast<int>(params.integer("threads"));
  const int threads = given > 0 ? given : omp_get_max_threads();
  if (problem.dtype() == DType::f32) return std::make_unique<Run<float>>(problem, threads);
  return std::make_unique<Run<double>>(problem, threads);
}

}  // namespace
}  // namespace sparta

void register_sparta(Registry& registry) {
  registry.add({
      .id = "sparta.cpu",
      .summary = "element-wise contraction with hash tables on the CPU (Sparta)",
      .operations = {Operation::contraction},
      .conditions = {[](const Problem& problem, const Params&) {
        if (problem.spec().beta != 0)
          return Support::no("supports only beta=0: the problem has no tensor Z to add");
        const auto fits = [](const Coo& tensor, const std::vector<int>& modes) {
          int bits = 0;
          for (const int m : modes) bits += bits_for(tensor.dims[sparta::at(m)]);
          return bits <= 128;
        };
        const Coo &x = problem.x(), &y = problem.y();
        const Contraction modes(problem.spec().variant, x.dims, y.dims);
        if (fits(x, modes.free_x) && fits(x, modes.contracted_x) && fits(y, modes.free_y))
          return Support::yes();
        return Support::no(
            "the linear index of the free or of the contracted modes needs more than 128 bits");
      }},
      .prepare = sparta::prepare_cpu,
      .params = {threads_param()},
      .converts_least = true,
  });
}

}  // namespace retensor
