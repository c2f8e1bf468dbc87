#include "common/io/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/predicate.hpp>

#include "common/core/error.hpp"
#include "common/io/duplicates.hpp"
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
    throw InputError(fmt::format("{}: {} modes requested of a matrix", name, options.dims.size()));
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
  if (!general) add_mirrored(matrix, h.symmetry);
  return matrix;
}

void write_matrix_market(const std::string& path, const Coo& matrix) {
  if (matrix.order() != 2)
    throw InputError(fmt::format("{}: {} modes, a Matrix Market file holds the two of a matrix",
                                 path, matrix.order()));
  const auto head = fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n",
                                matrix.dims[0], matrix.dims[1], matrix.nnz());
  write_nonzeros(path, head, matrix, 1);
}

}  // namespace retensor
