#include "common/io/read.hpp"

#include <fmt/format.h>

#include <new>

#include "common/core/error.hpp"
#include "common/core/text.hpp"
#include "common/io/cache.hpp"
#include "common/io/compressed.hpp"
#include "common/io/duplicates.hpp"
#include "common/io/files.hpp"
#include "common/io/matrix_market.hpp"
#include "common/io/records.hpp"
#include "common/io/tns.hpp"

namespace retensor {
namespace {

Coo conforming_cache(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  Coo tensor = parse_cache(bytes, name);
  if (!options.dims.empty() && options.dims != tensor.dims)
    throw ParseError({name}, "mode lengths " + joined(tensor.dims, " x "),
                     joined(options.dims, " x "));
  if (tensor.dtype() != options.dtype) {
    tensor.values = tensor.values.cast(options.dtype);
    check_named(tensor, name);  // a value beyond the narrower range has become infinite
  }
  resolve_duplicates(tensor, options.duplicates, [&](Count) { return FilePosition{name}; });
  return tensor;
}

/// Lines that end with a carriage return alone would become one.
void refuse_lone_returns(const text::Source& source) {
  const auto& bytes = source.bytes;
  for (auto at = bytes.find('\r'); at != bytes.npos; at = bytes.find('\r', at + 1))
    if (bytes.substr(at + 1, 1) != "\n")
      source.refuse(bytes.data() + at, "a line feed behind the carriage return");
}

bool is_called(const std::string& name, std::string_view ending) {
  std::string_view plain = name;
  for (const std::string_view packed : {".gz", ".zst"})
    if (plain.ends_with(packed)) plain.remove_suffix(packed.size());
  return plain.ends_with(ending);
}

Coo parse_unpacked(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  if (is_cache(bytes)) return conforming_cache(bytes, name, options);
  refuse_lone_returns({bytes, name, '#'});
  // Without its banner the line of sizes would be an entry.
  if (is_matrix_market(bytes) || is_called(name, ".mtx"))
    return parse_matrix_market(bytes, name, options);
  if (is_called(name, ".smtx")) return parse_smtx(bytes, name, options);
  if (is_genten(bytes)) return parse_genten(bytes, name, options);
  return parse_tns(bytes, name, options);
}

/// A tar archive in a tar archive is none of a tensor.
Coo parse_content(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  if (!is_tar(bytes)) return parse_unpacked(bytes, name, options);
  const auto member = tensor_of_tar(bytes, name);
  return parse_unpacked(member.content, fmt::format("{}: {}", name, member.name), options);
}

}  // namespace

Coo parse_tensor(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  try {
    if (!is_archive(bytes)) return parse_content(bytes, name, options);
    const Unpacked content = unpack(bytes, name, options.max_unpacked_bytes);
    return parse_content(content.view(), name, options);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(fmt::format("{}: the tensor does not fit in memory", name));
  }
}

Coo read_tensor(const std::string& path, const ReadOptions& options) {
  const MappedFile file(path);
  return parse_tensor(file.view(), path, options);
}

}  // namespace retensor
