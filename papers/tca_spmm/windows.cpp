#include "papers/tca_spmm/windows.hpp"

#include <algorithm>
#include <utility>

#include "common/core/error.hpp"
#include "papers/tca_spmm/csr_sums.hpp"

namespace retensor::tca_spmm {
namespace {

constexpr Count kMostVectors = Count{1} << 32;

/// One window: its columns and, by strip, its entries.
struct Window {
  std::vector<Index> columns;
  std::vector<std::vector<std::uint32_t>> strips;
};

Window window_of(const Csr& matrix, Count number) {
  const Count first = number * kStripRows, end = std::min<Count>(first + kStripRows, matrix.rows);
  Window window;
  auto& columns = window.columns;
  const auto from = matrix.columns.begin();
  columns.assign(from + static_cast<std::ptrdiff_t>(matrix.row_start[first]),
                 from + static_cast<std::ptrdiff_t>(matrix.row_start[end]));
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  window.strips.resize((columns.size() + kTileDepth - 1) / kTileDepth);
  for (Count row = first; row < end; ++row) {
    auto at = columns.begin();
    for_each_sum(matrix, row, [&](Index column, float sum) {
      at = std::lower_bound(at, columns.end(), column);
      const auto place = static_cast<Count>(at - columns.begin());
      window.strips[place / kTileDepth].push_back(
          entry_of(static_cast<unsigned>(row - first), place % kTileDepth, sum));
    });
  }
  columns.resize(window.strips.size() * kTileDepth, kNoColumn);
  for (auto& strip : window.strips) strip = dealt_out(std::move(strip));
  return window;
}

}  // namespace

Count Windows::listed() const {
  return columns.size() - static_cast<Count>(std::count(columns.begin(), columns.end(), kNoColumn));
}

Count Windows::bytes() const {
  return (strip_start.size() + columns.size() + entry_start.size()) * sizeof(Index) +
         entries.size() * sizeof(std::uint32_t);
}

Windows to_windows(const Csr& matrix) {
  matrix.check();
  const Count count = (matrix.rows + kStripRows - 1) / kStripRows;
  std::vector<Window> all(count);
#pragma omp parallel for schedule(dynamic, 16)
  for (Count w = 0; w < count; ++w) all[w] = window_of(matrix, w);
  Windows windows{matrix.rows, matrix.cols, {0}, {}, {0}, {}};
  Count vectors = 0;
  for (const auto& window : all) {
    windows.columns.insert(windows.columns.end(), window.columns.begin(), window.columns.end());
    for (const auto& strip : window.strips) {
      vectors += strip.size() / kEntryVector;
      if (vectors >= kMostVectors) throw InputError("S has 2^32 vectors of entries or more");
      windows.entry_start.push_back(static_cast<Index>(vectors));
    }
    windows.strip_start.push_back(static_cast<Index>(windows.strips()));
  }
  windows.entries = Array<std::uint32_t>(vectors * kEntryVector);
  auto to = windows.entries.begin();
  for (const auto& window : all)
    for (const auto& strip : window.strips) to = std::copy(strip.begin(), strip.end(), to);
  return windows;
}

}  // namespace retensor::tca_spmm
