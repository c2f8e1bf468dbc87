#include "common/io/tns.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <iterator>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/io/duplicates.hpp"
#include "common/io/files.hpp"
#include "common/io/records.hpp"

namespace retensor {

namespace {

using text::Source;

/// What is known before the first data line is parsed.
struct Preamble {
  const char* body;
  Dims limits;      ///< largest legal index of each mode
  bool dims_given;  ///< the limits are the mode lengths
};

int count_fields(const char* p, const char* end) {
  int n = 0;
  for (; p != end && *p != '\n'; ++n) p = text::skip_blanks(text::field_end(p, end), end);
  return n;
}

std::uint64_t read_order(const Source& source, const char*& p, const Dims& given) {
  const char* const order_field = p;
  const auto order = text::read_whole(source, p, 1, kMaxOrder, "the number of modes");
  if (!given.empty() && order != given.size())
    source.refuse(order_field, fmt::format("{} modes as requested", given.size()));
  return order;
}

int infer_order(const Source& source, const char* line) {
  const int fields = count_fields(line, source.end());
  if (fields <= kMaxOrder + 1) return fields - 1;
  const char* p = line;
  for (int f = 0; f <= kMaxOrder; ++f)
    p = text::skip_blanks(text::field_end(p, source.end()), source.end());
  source.refuse(p, fmt::format("the end of the line: at most {} indices and a value", kMaxOrder));
}

Preamble read_preamble(const Source& source, const Dims& given) {
  const char* p = text::next_record(source.begin(), source.end(), source.comment);
  if (p == source.end())
    throw ParseError({source.name, 1, 1}, "no data", "lines of indices and a value");
  // A line of data has at least two fields.
  if (count_fields(p, source.end()) == 1) {
    const char* const end = text::field_end(p, source.end());
    if (std::find(p, end, ',') != end)
      source.refuse(p, "indices and a value with blanks, not commas, between them");
    const auto order = read_order(source, p, given);
    p = text::next_record(p, source.end(), source.comment);
    Dims dims = text::read_mode_lengths(source, p, order, given);
    return {p, std::move(dims), true};
  }
  if (!given.empty()) return {p, given, true};
  return {p, Dims(infer_order(source, p), text::kMaxDim), false};
}

bool has_index_zero(const Coo& tensor) {
  return std::any_of(tensor.indices.begin(), tensor.indices.end(), [](const auto& mode) {
    return std::find(mode.begin(), mode.end(), Index{0}) != mode.end();
  });
}

/// Parsed as if from zero, with room for one index more: whether that was so is decided now.
void settle_base(Coo& tensor, const Source& source, const Preamble& start) {
  if (!has_index_zero(tensor)) {
    for (auto& mode : tensor.indices)
      for (auto& index : mode) --index;
    for (auto& length : tensor.dims) length -= length > 0;
    return;
  }
  for (int m = 0; m < tensor.order(); ++m) {
    const auto& mode = tensor.indices[m];
    const auto beyond = std::find_if(mode.begin(), mode.end(),
                                     [&](Index index) { return index >= start.limits[m]; });
    if (beyond == mode.end()) continue;
    const auto x = static_cast<Count>(beyond - mode.begin());
    throw ParseError(
        source.position(text::find_record(source, start.body, x)),
        fmt::format("index {} of mode {} in a file that counts from zero", *beyond, m + 1),
        fmt::format("at most {}", start.limits[m] - 1));
  }
}

Coo parse_body(const Source& source, const Preamble& start, const ReadOptions& options) {
  text::RecordFormat format{start.limits, text::ValueKind::real};
  format.first = options.index_base == IndexBase::one ? 1 : 0;
  const bool open = options.index_base == IndexBase::by_content;
  if (open)
    for (auto& limit : format.limits) ++limit;
  Coo tensor = text::parse_records(source, start.body, format, options);
  if (open) settle_base(tensor, source, start);
  return tensor;
}

/// What text can hold is a little less than what Coo can: 2^32 counts as too large an index.
void check_lengths(const Dims& dims) {
  if (dims.size() > kMaxOrder)
    throw input_error("{} modes, expected at most {}", dims.size(), kMaxOrder);
  for (const auto d : dims)
    if (d < 1 || d > text::kMaxDim)
      throw input_error("mode length {}, expected 1 to {}", d, text::kMaxDim);
}

template <class Number>
void append(std::string& out, Number x) {
  constexpr std::size_t longest = 32;
  char digits[longest];
  const auto [stop, code] = std::to_chars(digits, digits + longest, x);
  out.append(digits, stop);
}

template <class T>
void append_nonzero(std::string& out, const Coo& tensor, Count x, T value, std::uint64_t first) {
  for (const auto& mode : tensor.indices) {
    append(out, std::uint64_t{mode[x]} + first);
    out += ' ';
  }
  append(out, value);
  out += '\n';
}

/// Calls emit(text) for pieces of bounded size: the head, then one nonzero a line.
template <class Emit>
void format_nonzeros(const std::string& head, const Coo& tensor, std::uint64_t first, Emit emit) {
  check_lengths(tensor.dims);
  constexpr std::size_t piece = std::size_t{1} << 20;
  std::string out = head;
  tensor.values.visit([&](const auto& values) {
    for (Count x = 0; x < tensor.nnz(); ++x) {
      append_nonzero(out, tensor, x, values[x], first);
      if (out.size() < piece) continue;
      emit(out);
      out.clear();
    }
  });
  emit(out);
}

std::string head_of(const Coo& tensor, TnsHeader header) {
  if (header == TnsHeader::none) return {};
  return fmt::format("{}\n{}\n", tensor.order(), joined(tensor.dims, " "));
}

}  // namespace

Coo parse_tns(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  check_lengths(options.dims);
  const Source source{bytes, name, '#'};
  Preamble start = read_preamble(source, options.dims);
  Coo tensor = parse_body(source, start, options);
  if (start.dims_given) tensor.dims = std::move(start.limits);
  resolve_duplicates(tensor, options.duplicates, [&](Count x) {
    return source.position(text::find_record(source, start.body, x));
  });
  return tensor;
}

void write_nonzeros(const std::string& path, const std::string& head, const Coo& tensor,
                    std::uint64_t first) {
  AtomicFile file(path);
  format_nonzeros(head, tensor, first,
                  [&](const std::string& s) { file.write(s.data(), s.size()); });
  file.commit();
}

void write_tns(const std::string& path, const Coo& tensor, TnsHeader header) {
  write_nonzeros(path, head_of(tensor, header), tensor, 1);
}

std::string to_tns(const Coo& tensor, TnsHeader header) {
  std::string all;
  format_nonzeros(head_of(tensor, header), tensor, 1, [&](const std::string& s) { all += s; });
  return all;
}

namespace {

constexpr std::string_view kKeyword = "sptensor", kFromOne = "indices-start-at-one";
constexpr char kComment = '#';

struct GentenHeader {
  text::RecordFormat format;
  Count nnz = 0;
  const char* nnz_field = nullptr;
  const char* body = nullptr;
};

std::string_view word_at(const char* p, const char* end) {
  return {p, static_cast<std::size_t>(text::field_end(p, end) - p)};
}

/// Moves p behind the keyword's line; returns what the first index is called.
std::uint64_t read_keyword(const Source& source, const char*& p) {
  if (word_at(p, source.end()) != kKeyword) source.refuse(p, fmt::format("the word {}", kKeyword));
  p = text::skip_blanks(p + kKeyword.size(), source.end());
  const bool from_one = word_at(p, source.end()) == kFromOne;
  if (from_one) p = text::skip_blanks(p + kFromOne.size(), source.end());
  text::finish_line(source, p, fmt::format("{} or the end of the line", kFromOne));
  return from_one ? 1 : 0;
}

GentenHeader read_genten_header(const Source& source, const Dims& given) {
  constexpr Count kMost = Count{1} << 62;
  GentenHeader h;
  const char* p = text::next_record(source.begin(), source.end(), kComment);
  h.format.first = read_keyword(source, p);
  const auto order = read_order(source, p, given);
  text::finish_line(source, p, "the end of the line after the number of modes");
  h.format.limits = text::read_mode_lengths(source, p, order, given);
  h.nnz_field = p;
  h.nnz = text::read_whole(source, p, 0, kMost, "the number of nonzeros");
  text::finish_line(source, p, "the end of the line after the number of nonzeros");
  h.body = p;
  return h;
}

}  // namespace

bool is_genten(std::string_view bytes) {
  const char* const end = bytes.data() + bytes.size();
  return word_at(text::next_record(bytes.data(), end, kComment), end) == kKeyword;
}

Coo parse_genten(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  const Source source{bytes, name, kComment};
  auto h = read_genten_header(source, options.dims);
  Coo tensor = text::parse_records(source, h.body, h.format, options);
  if (tensor.nnz() != h.nnz)
    source.refuse(h.nnz_field, fmt::format("{}, the nonzeros of the body", tensor.nnz()));
  tensor.dims = std::move(h.format.limits);
  resolve_duplicates(tensor, options.duplicates, [&](Count x) {
    return source.position(text::find_record(source, h.body, x));
  });
  return tensor;
}

void write_genten(const std::string& path, const Coo& tensor) {
  const auto head = fmt::format("{}\n{}\n{}\n{}\n", kKeyword, tensor.order(),
                                joined(tensor.dims, " "), tensor.nnz());
  write_nonzeros(path, head, tensor, 0);
}

}  // namespace retensor
