#include "common/io/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "common/io/fields.hpp"

namespace retensor::text {
namespace {

/// A field that is not as expected; field `order` is the value, `order + 1` the end of the line.
struct Flaw {
  const char* at;
  int field;
};

struct ChunkResult {
  std::optional<Flaw> flaw;
  std::array<std::uint64_t, kMaxOrder> largest{};
};

/// Where the records of one chunk go.
template <class T>
struct Target {
  std::array<Index*, kMaxOrder> indices{};
  T* values = nullptr;
};

/// An optional sign and digits: all that an integer file may hold.
bool is_integer_field(const char* p, const char* end) {
  if (p != end && (*p == '-' || *p == '+')) ++p;
  return std::all_of(p, field_end(p, end), is_digit);
}

/// Reads the value field at p; nullptr when it is flawed.
template <class T>
const char* read_value_field(const char* p, const char* end, ValueKind kind, T& value) {
  if (kind == ValueKind::pattern) {
    value = T{1};
    return p;
  }
  if (kind == ValueKind::integer && !is_integer_field(p, end)) return nullptr;
  const char* const stop = read_value(p, end, value);
  return stop != nullptr && at_separator(stop, end) ? stop : nullptr;
}

template <class T>
ChunkResult parse_chunk(const char* p, const char* end, char comment, const RecordFormat& format,
                        Target<T> to) {
  const int order = format.order();
  const std::uint64_t first = format.first;
  std::array<std::uint64_t, kMaxOrder> limit{}, largest{};
  std::copy(format.limits.begin(), format.limits.end(), limit.begin());
  p = next_record(p, end, comment);
  for (Count x = 0; p != end; ++x) {
    for (int m = 0; m < order; ++m) {
      std::uint64_t index = 0;
      const char* const stop = read_digits(p, end, index);
      if (stop == p || index - first >= limit[m] || !at_separator(stop, end))
        return {Flaw{p, m}, {}};
      to.indices[m][x] = static_cast<Index>(index - first);
      largest[m] = std::max(largest[m], index - first + 1);
      p = skip_blanks(stop, end);
    }
    const char* const stop = read_value_field(p, end, format.values, to.values[x]);
    if (stop == nullptr) return {Flaw{p, order}, {}};
    p = skip_blanks(stop, end);
    if (p != end && *p != '\n') return {Flaw{p, order + 1}, {}};
    p = next_record(p, end, comment);
  }
  return {std::nullopt, largest};
}

std::string expectation(const RecordFormat& format, int field, DType type) {
  const int order = format.order();
  if (field < order)
    return fmt::format("an index of mode {} of {}, from {} to {}", field + 1, order, format.first,
                       format.limits[field] + format.first - 1);
  const char* const number =
      format.values == ValueKind::integer ? "an integer that fits" : "a finite number that fits";
  if (field == order) return fmt::format("{} {}", number, name(type));
  if (format.values == ValueKind::pattern)
    return fmt::format("the end of the line after {} indices", order);
  return fmt::format("the end of the line after {} {} and a value", order,
                     order == 1 ? "index" : "indices");
}

/// Beginnings of the chunks, each at the beginning of a line, and the end of the text.
std::vector<const char*> cut(const char* begin, const char* end, std::size_t chunk_bytes) {
  std::vector<const char*> bounds{begin};
  while (static_cast<std::size_t>(end - bounds.back()) > chunk_bytes) {
    const char* const line = line_end(bounds.back() + chunk_bytes, end);
    if (line == end) break;
    bounds.push_back(line + 1);
  }
  bounds.push_back(end);
  return bounds;
}

/// Number of records before each chunk, and of all.
std::vector<Count> count_records(const std::vector<const char*>& bounds, char comment) {
  std::vector<Count> before(bounds.size(), 0);
  const std::size_t chunks = bounds.size() - 1;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t c = 0; c < chunks; ++c) {
    const char* const end = bounds[c + 1];
    Count n = 0;
    for (const char* p = next_record(bounds[c], end, comment); p != end; ++n)
      p = next_record(line_end(p, end), end, comment);
    before[c + 1] = n;
  }
  for (std::size_t c = 0; c < chunks; ++c) before[c + 1] += before[c];
  return before;
}

/// Zero nonzeros, mode lengths 0. The arrays are touched first in parallel; memory that is lacking
/// is noticed before, where an exception may be thrown.
template <class T>
Coo allocate(int order, Count nnz) {
  Array<T> values;
  std::vector<std::vector<Index>> indices(order);
  values.reserve(nnz);
  for (auto& mode : indices) mode.reserve(nnz);
#pragma omp parallel for schedule(dynamic)
  for (int m = -1; m < order; ++m) {
    if (m < 0)
      values.resize(nnz);
    else
      indices[m].resize(nnz);
  }
  Coo tensor;
  tensor.dims.assign(order, 0);
  tensor.indices = std::move(indices);
  tensor.values = std::move(values);
  return tensor;
}

template <class T>
Coo parse_all(const Source& source, const char* body, const RecordFormat& format,
              const ReadOptions& options) {
  const auto bounds = cut(body, source.end(), std::max<std::size_t>(options.chunk_bytes, 1));
  const auto before = count_records(bounds, source.comment);
  const std::size_t chunks = bounds.size() - 1;
  Coo tensor = allocate<T>(format.order(), before.back());
  Target<T> all;
  for (int m = 0; m < format.order(); ++m) all.indices[m] = tensor.indices[m].data();
  all.values = tensor.values.as<T>().data();

  std::vector<ChunkResult> results(chunks);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t c = 0; c < chunks; ++c) {
    Target<T> own = all;
    for (int m = 0; m < format.order(); ++m) own.indices[m] += before[c];
    own.values += before[c];
    results[c] = parse_chunk(bounds[c], bounds[c + 1], source.comment, format, own);
  }
  for (const auto& r : results) {
    if (r.flaw) source.refuse(r.flaw->at, expectation(format, r.flaw->field, options.dtype));
    for (int m = 0; m < format.order(); ++m)
      tensor.dims[m] = std::max(tensor.dims[m], r.largest[m]);
  }
  return tensor;
}

/// The field at p for a message: quoted, clipped, control bytes escaped.
std::string describe(const char* p, const char* end) {
  if (p == end) return "the end of the file";
  if (*p == '\n') return "the end of the line";
  constexpr std::ptrdiff_t longest = 40;
  const char* const stop = field_end(p, end);
  std::string text;
  for (const unsigned char c : std::string_view(p, std::min(stop - p, longest)))
    text += c < 0x20 || c >= 0x7f ? fmt::format("\\x{:02x}", c) : std::string(1, c);
  return fmt::format("'{}{}'", text, stop - p > longest ? "..." : "");
}

}  // namespace

const char* find_record(const Source& source, const char* body, Count k) {
  const char* p = next_record(body, source.end(), source.comment);
  for (; k > 0; --k) p = next_record(line_end(p, source.end()), source.end(), source.comment);
  return p;
}

FilePosition Source::position(const char* at) const {
  const auto lines = static_cast<std::uint64_t>(std::count(begin(), at, '\n'));
  const char* line = at;
  while (line != begin() && line[-1] != '\n') --line;
  return {name, lines + 1, static_cast<std::uint64_t>(at - line) + 1};
}

void Source::refuse(const char* at, const std::string& expected) const {
  throw ParseError(position(at), describe(at, end()), expected);
}

Coo parse_records(const Source& source, const char* body, const RecordFormat& format,
                  const ReadOptions& options) {
  return dispatch(options.dtype,
                  [&]<class T>() { return parse_all<T>(source, body, format, options); });
}

std::uint64_t read_whole(const Source& source, const char*& p, std::uint64_t least,
                         std::uint64_t most, const std::string& what) {
  std::uint64_t value = 0;
  const char* const stop = read_digits(p, source.end(), value);
  if (stop == p || !at_separator(stop, source.end()) || value < least || value > most)
    source.refuse(p, fmt::format("{} from {} to {}", what, least, most));
  p = skip_blanks(stop, source.end());
  return value;
}

Dims read_mode_lengths(const Source& source, const char*& p, std::uint64_t order,
                       const Dims& given) {
  Dims dims;
  for (std::uint64_t m = 0; m < order; ++m) {
    const char* const field = p;
    dims.push_back(read_whole(source, p, 1, kMaxDim,
                              fmt::format("the length of mode {} of {}", m + 1, order)));
    if (!given.empty() && dims[m] != given[m])
      source.refuse(field, fmt::format("{}, the length of mode {} as requested", given[m], m + 1));
  }
  finish_line(source, p, fmt::format("the end of the line after {} mode lengths", order));
  return dims;
}

void finish_line(const Source& source, const char*& p, const std::string& expected) {
  if (p != source.end() && *p != '\n') source.refuse(p, expected);
  p = next_record(p, source.end(), source.comment);
}

}  // namespace retensor::text
