// sparta.cpu: element-wise contraction with hash tables (Sparta).
#include <memory>
#include <string_view>

#include "common/measure/registry.hpp"
#include "papers/bcb_sptc/baselines/sparta/sparta_cpu.hpp"

namespace retensor {
namespace sparta {
namespace {

class Sparta : public Method {
 public:
  std::string_view id() const override { return "sparta.cpu"; }
  std::string_view summary() const override {
    return "element-wise contraction with hash tables on the CPU (Sparta)";
  }
  Backend backend() const override { return Backend::cpu; }
  ParamSchema params() const override {
    return {{"threads",
             std::int64_t{0},
             "OpenMP threads, 0: as many as the machine gives",
             0,
             4096,
             {}}};
  }
  Support supports(const Problem& problem, const Params&) const override {
    if (problem.operation() != Operation::contraction) return Support::no("contraction alone");
    if (problem.spec().beta != 0)
      return Support::no("expected beta 0: the operation has no tensor Z to add");
    const Contraction modes(problem.spec().variant, problem.x().dims, problem.y().dims);
    for (const auto* list : {&modes.free_x, &modes.contracted_x})
      if (bits(problem.x(), *list) > 128) return too_long();
    return bits(problem.y(), modes.free_y) > 128 ? too_long() : Support::yes();
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    const auto given = static_cast<int>(params.integer("threads"));
    const int threads = given > 0 ? given : omp_get_max_threads();
    if (problem.dtype() == DType::f32) return std::make_unique<Run<float>>(problem, threads);
    return std::make_unique<Run<double>>(problem, threads);
  }

 private:
  static int bits(const Coo& tensor, const std::vector<int>& modes) {
    int sum = 0;
    for (const int m : modes) sum += bits_for(tensor.dims[at(m)]);
    return sum;
  }
  static Support too_long() {
    return Support::no("a linear index of free or contracted modes needs more than 128 bits");
  }
};

}  // namespace
}  // namespace sparta

void register_sparta(Registry& registry);

void register_sparta(Registry& registry) {
  registry.add(std::make_unique<sparta::Sparta>());
}

}  // namespace retensor
