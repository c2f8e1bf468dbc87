// f_coo.cuda: MTTKRP on coordinates with flags, a copy of the tensor per output mode.
#include <fmt/format.h>

#include "common/baselines/f_coo/format.hpp"
#include "common/method/registry.hpp"

namespace retensor {

void register_f_coo(Registry& registry) {
  registry.add({
      .id = "f_coo.cuda",
      .summary = "MTTKRP on coordinates sorted by the output mode, with flags and segmented scans "
                 "(F-COO)",
      .operations = {Operation::mttkrp},
      .conditions = {[](const Problem& problem, const Params& params) {
        if (problem.x().order() < 2)
          return Support::no("a tensor of order 1 has no other mode whose factor MTTKRP could use");
        const auto length = params.integer("part_length");
        if (length % f_coo::kQuad == 0) return Support::yes();
        return Support::no(fmt::format("found parts of {} nonzeros, expected a multiple of {}",
                                       length, f_coo::kQuad));
      }},
      .prepare = RETENSOR_DEVICE_PART(f_coo::prepare_cuda),
      .params =
          {param("part_length", 0,
                 "nonzeros per thread, a multiple of 4; 0: 32, or as few as 8 to fill the device")
               .range(0, 1 << 20)},
  });
}

}  // namespace retensor
