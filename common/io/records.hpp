// Lines of indices and a value: what FROSTT .tns and coordinate Matrix Market files have in common.
//
// The text is cut into chunks on line boundaries. All cores count the records of the chunks, which
// fixes where each chunk writes, and then parse them straight into the tensor: beyond tensor and
// text no memory is needed. A flaw is noted as an address; line and column are counted only then.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/core/error.hpp"
#include "common/io/fields.hpp"
#include "common/io/options.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::text {

/// Bytes of a text file with the name that messages show.
struct Source {
  std::string_view bytes;
  const std::string& name;
  char comment;  ///< lines that begin with it are skipped, and so are blank ones

  const char* begin() const { return bytes.data(); }
  const char* end() const { return bytes.data() + bytes.size(); }
  FilePosition position(const char* at) const;
  /// Throws ParseError: what stands at `at` was found.
  [[noreturn]] void refuse(const char* at, const std::string& expected) const;
};

enum class ValueKind { real, integer, pattern };

struct RecordFormat {
  Dims limits;  ///< how many indices of each mode are legal, from the first on
  ValueKind values = ValueKind::real;
  std::uint64_t first = 1;  ///< the least legal index: becomes 0 in the tensor

  int order() const { return static_cast<int>(limits.size()); }
};

/// The longest legal mode: indices are 32-bit.
inline constexpr std::uint64_t kMaxDim = 0xffffffff;

/// First field of record k (from 0) of the text that begins at `body`.
const char* find_record(const Source& source, const char* body, Count k);

/// Parses all records from `body` on, in the order of the file. Mode lengths are the largest
/// indices seen. Throws ParseError at the first flaw of the file.
Coo parse_records(const Source& source, const char* body, const RecordFormat& format,
                  const ReadOptions& options);

/// Reads one whole number that fills a field, from `least` to `most`; moves p to the next field.
/// Throws ParseError with `what` as the expectation.
std::uint64_t read_whole(const Source& source, const char*& p, std::uint64_t least,
                         std::uint64_t most, const std::string& what);
/// Reads `order` mode lengths, which are `given` where that is not empty, and moves on to the next
/// record. Throws ParseError at one that is not.
Dims read_mode_lengths(const Source& source, const char*& p, std::uint64_t order,
                       const Dims& given);
/// Throws ParseError unless the line ends at p; moves p to the next record.
void finish_line(const Source& source, const char*& p, const std::string& expected);

}  // namespace retensor::text
