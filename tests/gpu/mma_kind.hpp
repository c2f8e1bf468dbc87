// The kinds of fragments that are compared, and a batch of them.
#pragma once

#include <array>
#include <vector>

#include "common/numeric/mma.hpp"

namespace retensor {

struct MmaKind {
  OperandType type;
  int m, n, k;
};

/// N = 16 is WMMA, N = 8 mma.sync.
inline constexpr std::array<MmaKind, 9> kMmaKinds{{{OperandType::fp16, 16, 16, 16},
                                                   {OperandType::fp16, 16, 8, 16},
                                                   {OperandType::fp16, 16, 8, 8},
                                                   {OperandType::bf16, 16, 16, 16},
                                                   {OperandType::bf16, 16, 8, 16},
                                                   {OperandType::bf16, 16, 8, 8},
                                                   {OperandType::tf32, 16, 16, 8},
                                                   {OperandType::tf32, 16, 8, 8},
                                                   {OperandType::tf32, 16, 8, 4}}};

/// `count` fragments behind each other, row-major; a and b hold values of the operand type.
struct Fragments {
  Fragments(const MmaKind& kind, std::size_t fragments)
      : count(fragments),
        a(count * kind.m * kind.k),
        b(count * kind.k * kind.n),
        c(count * kind.m * kind.n) {}
  std::size_t count;
  std::vector<float> a, b, c;
};

}  // namespace retensor
