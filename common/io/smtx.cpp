#include "common/io/smtx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/core/error.hpp"
#include "common/io/atomic_file.hpp"
#include "common/io/duplicates.hpp"
#include "common/io/number.hpp"
#include "common/io/records.hpp"

namespace retensor {
namespace {

using text::Source;

struct SmtxSizes {
  std::uint64_t rows, cols;
  Count nnz;
};

const char* past_comma(const char* p, const char* end) {
  return p != end && *p == ',' ? text::skip_blanks(p + 1, end) : p;
}

/// Commas stand between the three numbers; the field reader knows blanks alone.
SmtxSizes read_sizes(const Source& source, const char*& p, const Dims& given) {
  constexpr Count kMost = Count{1} << 62;
  std::uint64_t numbers[3];
  const std::uint64_t least[] = {1, 1, 0}, most[] = {text::kMaxDim, text::kMaxDim, kMost};
  const char* const what[] = {"the number of rows", "the number of columns",
                              "the number of nonzeros"};
  for (int i = 0; i < 3; ++i) {
    const char* const field = p;
    const char* const stop = text::read_digits(p, source.end(), numbers[i]);
    const bool ends =
        i < 2 ? stop != source.end() && *stop == ',' : text::at_separator(stop, source.end());
    if (stop == p || !ends || numbers[i] < least[i] || numbers[i] > most[i])
      source.refuse(p, fmt::format("{} from {} to {}{}", what[i], least[i], most[i],
                                   i < 2 ? " and a comma" : ""));
    if (i < 2 && !given.empty() && numbers[i] != given[i])
      source.refuse(field, fmt::format("{}, {} as requested", given[i], what[i]));
    p = past_comma(stop, source.end());
    p = text::skip_blanks(p, source.end());
  }
  text::finish_line(source, p, "the end of the line after rows, columns and nonzeros");
  return {numbers[0], numbers[1], numbers[2]};
}

/// Where the rows start, from 0 to the nonzeros.
std::vector<Count> read_starts(const Source& source, const char*& p, const SmtxSizes& sizes) {
  std::vector<Count> starts;
  for (std::uint64_t row = 0; row <= sizes.rows; ++row) {
    const bool first = row == 0, last = row == sizes.rows;
    const Count least = last ? sizes.nnz : first ? 0 : starts.back();
    starts.push_back(text::read_whole(source, p, least, first ? 0 : sizes.nnz,
                                      fmt::format("the start of row {}", row)));
  }
  text::finish_line(source, p, fmt::format("the end of the line after {} starts", sizes.rows + 1));
  return starts;
}

std::vector<Index> read_columns(const Source& source, const char*& p, const SmtxSizes& sizes,
                                std::vector<const char*>& places) {
  std::vector<Index> columns;
  for (Count x = 0; x < sizes.nnz; ++x) {
    places.push_back(p);
    columns.push_back(static_cast<Index>(text::read_whole(
        source, p, 0, sizes.cols - 1, fmt::format("column {} of {}", x + 1, sizes.nnz))));
  }
  return columns;
}

}  // namespace

Coo parse_smtx(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  if (!options.dims.empty() && options.dims.size() != 2)
    throw InputError(fmt::format("{}: {} modes requested of a matrix", name, options.dims.size()));
  const Source source{bytes, name, '#'};
  const char* p = text::next_record(source.begin(), source.end(), source.comment);
  const auto sizes = read_sizes(source, p, options.dims);
  const auto starts = read_starts(source, p, sizes);
  std::vector<const char*> places;
  auto columns = read_columns(source, p, sizes, places);
  if (sizes.nnz > 0) text::finish_line(source, p, "the end of the line after the columns");
  if (p != source.end()) source.refuse(p, "the end of the file");

  Coo matrix({sizes.rows, sizes.cols}, options.dtype);
  matrix.indices[0].resize(sizes.nnz);
  for (std::uint64_t row = 0; row < sizes.rows; ++row)
    std::fill(matrix.indices[0].begin() + static_cast<std::ptrdiff_t>(starts[row]),
              matrix.indices[0].begin() + static_cast<std::ptrdiff_t>(starts[row + 1]),
              static_cast<Index>(row));
  matrix.indices[1] = std::move(columns);
  matrix.values.visit([&]<class T>(Array<T>& values) { values.assign(sizes.nnz, T{1}); });
  resolve_duplicates(matrix, options.duplicates,
                     [&](Count x) { return source.position(places[x]); });
  return matrix;
}

void write_smtx(const std::string& path, const Coo& matrix) {
  if (matrix.order() != 2)
    throw InputError(
        fmt::format("{}: {} modes, .smtx holds the two of a matrix", path, matrix.order()));
  std::vector<Count> entries(matrix.nnz()), starts(matrix.dims[0] + 1, 0);
  std::iota(entries.begin(), entries.end(), Count{0});
  const auto& rows = matrix.indices[0];
  const auto& cols = matrix.indices[1];
  std::sort(entries.begin(), entries.end(), [&](Count a, Count b) {
    return rows[a] != rows[b] ? rows[a] < rows[b] : cols[a] < cols[b];
  });
  for (const auto row : rows) ++starts[row + std::size_t{1}];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  auto text = fmt::format("{}, {}, {}\n", matrix.dims[0], matrix.dims[1], matrix.nnz());
  for (const auto start : starts) text += fmt::format("{} ", start);
  text.back() = '\n';
  for (const auto x : entries) text += fmt::format("{} ", cols[x]);
  if (!entries.empty()) text.back() = '\n';
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace retensor
