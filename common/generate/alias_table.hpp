// Constant-time draws from a finite distribution (Walker 1977, in the construction of Vose 1991).
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/types.hpp"

namespace retensor {

class AliasTable {
 public:
  /// Weights need not sum to 1; throws InputError unless all are finite, >= 0 and one is positive.
  explicit AliasTable(const std::vector<double>& weights);

  /// The cell that 64 random bits choose.
  std::uint32_t pick(std::uint64_t bits) const {
    const Uint128 product = static_cast<Uint128>(bits) * cells_.size();
    const Cell& cell = cells_[static_cast<std::size_t>(product >> 64)];
    return static_cast<std::uint64_t>(product) < cell.threshold ? cell.own : cell.alias;
  }

 private:
  struct Cell {
    std::uint64_t threshold;  ///< 2^64 times the probability of keeping the own cell
    std::uint32_t own, alias;
  };
  std::vector<Cell> cells_;
};

}  // namespace retensor
