#include "common/io/read.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

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
  if (!options.keep_type && tensor.dtype() != options.dtype) {
    tensor.values = tensor.values.cast(options.dtype);
    check_named(tensor, name);  // a value beyond the narrower range has become infinite
  }
  resolve_duplicates(tensor, options.duplicates, [&](Count) { return FilePosition{name}; });
  return tensor;
}

/// Where the first bytes are those of a format that is none of a tensor here.
void refuse_other_formats(std::string_view bytes, const std::string& name) {
  constexpr std::pair<std::string_view, const char*> kBegins[] = {
      {{"PK\x03\x04", 4}, "a ZIP archive, as .npz files are"},
      {"\x93NUMPY", "a .npy file"},
      {"\x89HDF", "an HDF5 file"},
      {"\xfd"
       "7zXZ",
       "an xz archive"},
      {"BZh", "a bzip2 archive"}};
  for (const auto& [begin, what] : kBegins)
    if (bytes.starts_with(begin))
      throw ParseError({name}, what,
                       "a .tns, .mtx, .smtx or .tnsb file, plain or packed by gzip or zstd; "
                       "'retensor dataset convert' reads .npz and HDF5 too");
}

/// Editors on Windows put it before UTF-8 text.
void skip_byte_order_mark(std::string_view& bytes) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (bytes.starts_with(kMark)) bytes.remove_prefix(kMark.size());
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
  refuse_other_formats(bytes, name);
  skip_byte_order_mark(bytes);
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
