#include "papers/tca_spmm/baselines/voltrix/format.hpp"

#include <algorithm>
#include <numeric>

#include "common/numeric/rounding.hpp"
#include "papers/tca_spmm/format/csr_sums.hpp"

namespace retensor::voltrix {
namespace {

struct Cell {
  Index column;
  unsigned row, block;
  std::uint16_t value;
};

/// By column.
std::vector<Cell> cells_of(const Csr& matrix, Count window) {
  std::vector<Cell> cells;
  for (unsigned row = 0; row < kWindowRows && window * kWindowRows + row < matrix.rows; ++row)
    tca_spmm::for_each_sum(matrix, window * kWindowRows + row, [&](Index column, float sum) {
      cells.push_back({column, row, 0, to_fp16_bits(sum)});
    });
  std::stable_sort(cells.begin(), cells.end(),
                   [](const Cell& a, const Cell& b) { return a.column < b.column; });
  return cells;
}

void add_window(std::vector<Cell> cells, Windows& to) {
  const Count first = to.columns.size();
  unsigned columns = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Cell& cell = cells[i];
    if (i == 0 || cell.column != cells[i - 1].column) {
      if (columns % kBlockColumns == 0) to.columns.emplace_back(), to.bits.emplace_back();
      for (unsigned c = columns % kBlockColumns; c < kBlockColumns; ++c)
        to.columns.back()[c] = cell.column;
      ++columns;
    }
    cell.block = (columns - 1) / kBlockColumns;
    to.bits.back()[cell.row / 4] |=
        1u << (cell.row % 4 * kBlockColumns + (columns - 1) % kBlockColumns);
  }
  std::stable_sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    return a.block != b.block ? a.block < b.block : a.row < b.row;
  });
  for (const Cell& cell : cells) {
    if (first + cell.block == to.value_start.size()) to.value_start.push_back(to.values.size());
    to.values.push_back(cell.value);
  }
  to.block_start.push_back(to.columns.size());
}

}  // namespace

Windows to_windows(const Csr& matrix) {
  matrix.check();
  Windows windows{{0}, {}, {}, {}, {}, {}};
  for (Count w = 0; w * kWindowRows < matrix.rows; ++w) add_window(cells_of(matrix, w), windows);
  const auto blocks = [&](Index w) {
    return windows.block_start[w + Count{1}] - windows.block_start[w];
  };
  windows.order.resize(windows.block_start.size() - 1);
  std::iota(windows.order.begin(), windows.order.end(), Index{0});
  std::stable_sort(windows.order.begin(), windows.order.end(),
                   [&](Index a, Index b) { return blocks(a) > blocks(b); });
  return windows;
}

}  // namespace retensor::voltrix
