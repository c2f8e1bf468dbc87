#include "common/io/matrix_market.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/predicate.hpp>
#include <numeric>

#include "common/core/message.hpp"
#include "common/io/duplicates.hpp"
#include "common/io/fields.hpp"
#include "common/io/files.hpp"
#include "common/io/records.hpp"
#include "common/io/tns.hpp"

namespace retensor {

namespace {

using text::Source;
using text::ValueKind;

constexpr std::string_view kBanner = "%%matrixmarket";

enum class Symmetry { general, symmetric, skew };

struct MatrixHeader {
  ValueKind values = ValueKind::real;
  Symmetry symmetry = Symmetry::general;
  std::uint64_t rows = 0, cols = 0;
  Count entries = 0;
  const char* entries_field = nullptr;
  const char* body = nullptr;
};

/// Takes one word of the banner that must be among `choices`; returns which.
std::size_t read_word(const Source& source, const char*& p, const std::vector<std::string>& choices,
                      std::string expected = "") {
  const char* const stop = text::field_end(p, source.end());
  const auto found = std::find_if(choices.begin(), choices.end(), [&](const auto& choice) {
    return boost::algorithm::iequals(choice, std::string_view(p, stop));
  });
  if (expected.empty()) expected = boost::algorithm::join(choices, " or ");
  if (found == choices.end()) source.refuse(p, expected);
  p = text::skip_blanks(stop, source.end());
  return static_cast<std::size_t>(found - choices.begin());
}

void read_banner(const Source& source, const char*& p, MatrixHeader& h) {
  read_word(source, p, {std::string(kBanner)}, "the banner %%MatrixMarket");
  read_word(source, p, {"matrix"});
  read_word(source, p, {"coordinate"});
  constexpr ValueKind kinds[] = {ValueKind::real, ValueKind::integer, ValueKind::pattern};
  h.values = kinds[read_word(source, p, {"real", "integer", "pattern"})];
  constexpr Symmetry symmetries[] = {Symmetry::general, Symmetry::symmetric, Symmetry::skew};
  h.symmetry = symmetries[read_word(source, p, {"general", "symmetric", "skew-symmetric"})];
  text::finish_line(source, p, "the end of the line after the banner");
}

std::uint64_t read_length(const Source& source, const char*& p, const Dims& given, int mode) {
  const char* const field = p;
  const char* const what = mode == 0 ? "the number of rows" : "the number of columns";
  const auto length = text::read_whole(source, p, 1, text::kMaxDim, what);
  if (!given.empty() && length != given[mode])
    source.refuse(field, fmt::format("{}, {} as requested", given[mode], what));
  return length;
}

MatrixHeader read_header(const Source& source, const Dims& given) {
  MatrixHeader h;
  const char* p = source.begin();
  read_banner(source, p, h);
  const char* const cols_field = text::skip_blanks(text::field_end(p, source.end()), source.end());
  h.rows = read_length(source, p, given, 0);
  h.cols = read_length(source, p, given, 1);
  if (h.symmetry != Symmetry::general && h.rows != h.cols)
    source.refuse(cols_field, fmt::format("{} columns: the file is symmetric", h.rows));
  h.entries_field = p;
  constexpr Count most = std::uint64_t{1} << 62;
  h.entries = text::read_whole(source, p, 0, most, "the number of entries");
  text::finish_line(source, p, "the end of the line after rows, columns and entries");
  h.body = p;
  return h;
}

/// Entries above the diagonal of a symmetric file, or on or above that of a skew one, are refused.
void check_triangle(const Source& source, const MatrixHeader& h, const Coo& matrix) {
  const bool diagonal = h.symmetry == Symmetry::symmetric;
  for (Count x = 0; x < matrix.nnz(); ++x) {
    const Index row = matrix.indices[0][x], col = matrix.indices[1][x];
    if (row > col || (diagonal && row == col)) continue;
    throw ParseError(source.position(text::find_record(source, h.body, x)),
                     fmt::format("entry {}", coordinate_text(matrix, x)),
                     diagonal ? "the lower triangle of a symmetric file: row >= column"
                              : "the strict lower triangle of a skew-symmetric file: row > column");
  }
}

void add_mirrored(Coo& matrix, Symmetry symmetry) {
  auto& rows = matrix.indices[0];
  auto& cols = matrix.indices[1];
  const Count n = rows.size();
  Count mirrored = 0;
  for (Count x = 0; x < n; ++x) mirrored += rows[x] != cols[x];
  rows.resize(n + mirrored);
  cols.resize(n + mirrored);
  matrix.values.visit([&]<class T>(Array<T>& values) {
    values.resize(n + mirrored);
    const T sign = symmetry == Symmetry::skew ? T{-1} : T{1};
    for (Count x = 0, to = n; x < n; ++x) {
      if (rows[x] == cols[x]) continue;
      rows[to] = cols[x];
      cols[to] = rows[x];
      values[to++] = sign * values[x];
    }
  });
}

}  // namespace

bool is_matrix_market(std::string_view bytes) {
  return boost::algorithm::istarts_with(bytes, kBanner);
}

Coo parse_matrix_market(std::string_view bytes, const std::string& name,
                        const ReadOptions& options) {
  if (!options.dims.empty() && options.dims.size() != 2)
    throw input_error("{}: {} modes requested of a matrix", name, options.dims.size());
  const Source source{bytes, name, '%'};
  const MatrixHeader h = read_header(source, options.dims);
  Coo matrix = text::parse_records(source, h.body, {{h.rows, h.cols}, h.values}, options);
  matrix.dims = {h.rows, h.cols};
  if (matrix.nnz() != h.entries)
    source.refuse(h.entries_field, fmt::format("{}, the entries of the body", matrix.nnz()));
  const bool general = h.symmetry == Symmetry::general;
  if (!general) check_triangle(source, h, matrix);
  resolve_duplicates(matrix, options.duplicates, [&](Count x) {
    return source.position(text::find_record(source, h.body, x));
  });
  if (general) return matrix;
  add_mirrored(matrix, h.symmetry);
  // Both halves are free of duplicates; mirrored entries stand behind all others.
  if (options.duplicates == Duplicates::sum || options.duplicates == Duplicates::last)
    dedupe(matrix, options.duplicates);
  return matrix;
}

void write_matrix_market(const std::string& path, const Coo& matrix) {
  if (matrix.order() != 2)
    throw input_error("{}: {} modes, a Matrix Market file holds the two of a matrix", path,
                      matrix.order());
  const auto head = fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n",
                                matrix.dims[0], matrix.dims[1], matrix.nnz());
  write_nonzeros(path, head, matrix, 1);
}

namespace {

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
    throw input_error("{}: {} modes requested of a matrix", name, options.dims.size());
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
    throw input_error("{}: {} modes, .smtx holds the two of a matrix", path, matrix.order());
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
  write_file(path, text);
}

}  // namespace retensor
