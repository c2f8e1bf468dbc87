#include "papers/pasta/format/packed_rows.hpp"

#include <algorithm>
#include <utility>

#include "common/core/message.hpp"
#include "common/tensor/linear_index.hpp"
#include "common/tensor/operations.hpp"
#include "papers/pasta/format/segments.hpp"

namespace retensor::pasta {
namespace {

template <class Word>
Array<Word> packed(const Coo& tensor, const PackedRows& rows) {
  Array<Word> words(tensor.nnz(), 0);
  for (std::size_t k = 0; k < rows.others.size(); ++k) {
    const auto& index = tensor.indices[static_cast<std::size_t>(rows.others[k])];
    for (Count p = 0; p < words.size(); ++p)
      words[p] |= static_cast<Word>(static_cast<Word>(index[p]) << rows.shift[k]);
  }
  return words;
}

Index field(std::uint64_t word, int shift, int width) {
  return static_cast<Index>(word >> shift & ((std::uint64_t{1} << width) - 1));
}

}  // namespace

int packed_bits(const Dims& dims, int mode) {
  int bits = 0;
  for (std::size_t m = 0; m < dims.size(); ++m)
    if (m != static_cast<std::size_t>(mode)) bits += bits_for(dims[m]);
  return bits;
}

PackedRows to_packed_rows(const Coo& tensor, int mode) {
  const int bits = packed_bits(tensor.dims, mode);
  if (bits > kMostPackedBits)
    throw input_error("found coordinates of {} bits beside mode {}, expected at most {}", bits,
                      mode, kMostPackedBits);
  Coo sorted = tensor;
  const int row_mode[] = {mode};
  sort_nonzeros(sorted, row_mode);

  PackedRows rows;
  rows.dims = tensor.dims, rows.mode = mode;
  for (int m = 0; m < rows.order(); ++m)
    if (m != mode) rows.others.push_back(m);
  std::stable_partition(rows.others.begin(), rows.others.end(),
                        [&](int m) { return tensor.dims[static_cast<std::size_t>(m)] > 1; });
  const LinearIndex fields(tensor.dims, rows.others);
  for (std::size_t k = 0; k < rows.others.size(); ++k) {
    rows.shift.push_back(fields.shift(static_cast<int>(k)));
    rows.width.push_back(fields.width(static_cast<int>(k)));
  }
  const auto& row = sorted.indices[static_cast<std::size_t>(mode)];
  rows.run_start = run_starts(row);
  for (std::size_t run = 0; run + 1 < rows.run_start.size(); ++run)
    rows.run_row.push_back(row[rows.run_start[run]]);
  if (bits <= 32)
    rows.words = packed<std::uint32_t>(sorted, rows);
  else
    rows.words = packed<std::uint64_t>(sorted, rows);
  rows.values = std::move(sorted.values);
  return rows;
}

Coo PackedRows::to_coo() const {
  Coo tensor(dims, values.dtype(), nnz());
  for (std::size_t run = 0; run < run_row.size(); ++run)
    for (Count p = run_start[run]; p < run_start[run + 1]; ++p) {
      const std::uint64_t word =
          std::visit([&](const auto& w) -> std::uint64_t { return w[p]; }, words);
      tensor.indices[static_cast<std::size_t>(mode)][p] = run_row[run];
      for (std::size_t k = 0; k < others.size(); ++k)
        tensor.indices[static_cast<std::size_t>(others[k])][p] = field(word, shift[k], width[k]);
      tensor.values.set(p, values.at(p));
    }
  return tensor;
}

void PackedRows::check() const {
  const Count all = std::visit([](const auto& w) -> Count { return w.size(); }, words);
  if (run_start.size() != run_row.size() + 1 || run_start.front() != 0 ||
      run_start.back() != nnz() || all != nnz())
    throw input_error("packed rows: the lengths of runs, words and values disagree");
  for (std::size_t run = 0; run < run_row.size(); ++run)
    if (run_start[run + 1] <= run_start[run] || (run > 0 && run_row[run] <= run_row[run - 1]))
      throw input_error("packed rows: run {} is empty or its row does not ascend", run);
  to_coo().check();
}

}  // namespace retensor::pasta
