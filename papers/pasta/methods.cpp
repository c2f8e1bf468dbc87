// Registers the suite's methods; the files named after a format and backend hold them.
#include "papers/pasta/methods.hpp"

#include <bit>
#include <string>

#include "common/measure/registry.hpp"

namespace retensor {
namespace pasta {

ParamSpec block_param() {
  return {"block",
          std::int64_t{128},
          "block edge B, a power of two (the paper: 128; 8-bit element indices)",
          1,
          256,
          {}};
}

Support supports_block(const Params& params) {
  const auto edge = static_cast<std::uint64_t>(params.integer("block"));
  if (std::has_single_bit(edge)) return Support::yes();
  return Support::no("block edge " + std::to_string(edge) + " is not a power of two");
}

int block_bits(const Params& params) {
  return std::countr_zero(static_cast<std::uint64_t>(params.integer("block")));
}

}  // namespace pasta

void register_pasta(Registry& registry);

void register_pasta(Registry& registry) {
  registry.add(pasta::make_coo_cpu());
  registry.add(pasta::make_hicoo_cpu());
  registry.add(pasta::make_coo_cuda());
  registry.add(pasta::make_hicoo_cuda());
  registry.add(pasta::make_coo_cuda_tuned());
}

}  // namespace retensor
