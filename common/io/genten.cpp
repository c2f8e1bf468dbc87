#include "common/io/genten.hpp"

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "common/io/duplicates.hpp"
#include "common/io/records.hpp"
#include "common/io/tns.hpp"

namespace retensor {
namespace {

using text::Source;

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

Dims read_genten_lengths(const Source& source, const char*& p, const Dims& given) {
  const char* const order_field = p;
  const auto order = text::read_whole(source, p, 1, kMaxOrder, "the number of modes");
  if (!given.empty() && order != given.size())
    source.refuse(order_field, fmt::format("{} modes as requested", given.size()));
  text::finish_line(source, p, "the end of the line after the number of modes");
  return text::read_mode_lengths(source, p, order, given);
}

GentenHeader read_genten_header(const Source& source, const Dims& given) {
  constexpr Count kMost = Count{1} << 62;
  GentenHeader h;
  const char* p = text::next_record(source.begin(), source.end(), kComment);
  h.format.first = read_keyword(source, p);
  h.format.limits = read_genten_lengths(source, p, given);
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
