#include "papers/tca_spmm/baselines/flashsparse/format.hpp"

#include <algorithm>

#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/format/csr_sums.hpp"

namespace retensor::flashsparse {
namespace {

struct Cell {
  Index column;
  unsigned row;
  std::uint16_t value;
};

/// By column.
std::vector<Cell> cells_of(const Csr& matrix, Count window) {
  std::vector<Cell> cells;
  for (unsigned row = 0; row < kWindowRows && window * kWindowRows + row < matrix.rows; ++row)
    tca_spmm::for_each_sum(matrix, window * kWindowRows + row, [&](Index column, float sum) {
      cells.push_back({column, row, to_fp16_bits(sum)});
    });
  std::stable_sort(cells.begin(), cells.end(),
                   [](const Cell& a, const Cell& b) { return a.column < b.column; });
  return cells;
}

void add_window(const std::vector<Cell>& cells, Windows& to) {
  unsigned vectors = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    if (i == 0 || cell.column != cells[i - 1].column) {
      if (vectors % kBlockVectors == 0) to.columns.emplace_back(), to.values.emplace_back();
      for (unsigned v = vectors % kBlockVectors; v < kBlockVectors; ++v)
        to.columns.back()[v] = cell.column;
      ++vectors;
    }
    const unsigned vector = (vectors - 1) % kBlockVectors;
    to.values.back()[cell.row * 4 + vector / 2] |= std::uint32_t{cell.value} << 16 * (vector % 2);
  }
  to.vectors += vectors;
  to.block_start.push_back(to.columns.size());
}

}  // namespace

Windows to_windows(const Csr& matrix) {
  matrix.check();
  Windows windows{{0}, {}, {}, 0};
  for (Count w = 0; w * kWindowRows < matrix.rows; ++w) add_window(cells_of(matrix, w), windows);
  return windows;
}

}  // namespace retensor::flashsparse
