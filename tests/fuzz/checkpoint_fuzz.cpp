// Checkpoints of any content. No mutation finds a checksum, so each is tried under its own too.
#include "common/decompose/checkpoint.hpp"

#include "common/core/hash.hpp"
#include "common/generate/generators.hpp"
#include "tests/fuzz/accepted.hpp"
#include "tests/fuzz/memory_file.hpp"

namespace {

using namespace retensor;

const Problem& problem() {
  static const Problem small = [] {
    ProblemSpec spec;
    spec.operation = Operation::cpd;
    spec.rank = 2;
    return Problem(spec, std::make_shared<const Coo>(uniform({3, 2, 2}, 4, 1, DType::f32)));
  }();
  return small;
}

void try_checkpoint(std::string_view bytes) {
  static const auto identity = cpd::identity_of(problem());
  static fuzz::MemoryFile file;
  file.hold(bytes);
  fuzz::accepted([&] {
    const auto model = cpd::load_checkpoint(file.path(), identity, problem());
    fuzz::require(model.has_value() && model->factors.size() == 3, "a model of the problem");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  // Almost all are refused for their checksum. As with options, the size decides.
  if (size % 16 == 0) try_checkpoint(bytes);
  try_checkpoint(sha256_hex(bytes) + bytes);
  return 0;
}
