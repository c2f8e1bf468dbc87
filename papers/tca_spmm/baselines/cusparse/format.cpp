#include "papers/tca_spmm/baselines/cusparse/format.hpp"

#include <algorithm>

namespace retensor::cusparse {
namespace {

/// Columns of the blocks with a nonzero, ascending, by row of blocks.
using BlockColumns = std::vector<std::vector<Index>>;

BlockColumns block_columns(const Coo& s, Count edge) {
  BlockColumns rows((s.dims[0] + edge - 1) / edge);
  for (Count x = 0; x < s.nnz(); ++x)
    rows[s.indices[0][x] / edge].push_back(static_cast<Index>(s.indices[1][x] / edge));
  for (auto& columns : rows) {
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  }
  return rows;
}

Count most_blocks(const BlockColumns& rows) {
  Count most = 0;
  for (const auto& columns : rows) most = std::max<Count>(most, columns.size());
  return most;
}

}  // namespace

Count ell_elements(const Coo& s, Count edge) {
  const BlockColumns rows = block_columns(s, edge);
  return rows.size() * edge * edge * most_blocks(rows);
}

BlockedEll to_blocked_ell(const Coo& s, Count edge) {
  const BlockColumns rows = block_columns(s, edge);
  BlockedEll ell;
  ell.per_row = most_blocks(rows);
  ell.columns.assign(rows.size() * ell.per_row, -1);
  for (Count row = 0; row < rows.size(); ++row)
    std::copy(rows[row].begin(), rows[row].end(), &ell.columns[row * ell.per_row]);
  ell.values.assign(rows.size() * edge * ell.per_row * edge, 0);
  const auto from = s.values.as<float>();
  for (Count x = 0; x < s.nnz(); ++x) {
    const Count row = s.indices[0][x], column = s.indices[1][x];
    const auto& columns = rows[row / edge];
    const auto place = static_cast<Count>(
        std::lower_bound(columns.begin(), columns.end(), column / edge) - columns.begin());
    ell.values[(row * ell.per_row + place) * edge + column % edge] += from[x];
  }
  return ell;
}

}  // namespace retensor::cusparse
