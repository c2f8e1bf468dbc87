// gzip (RFC 1952) and zstd (RFC 8878) archives, recognised by their magic bytes; tar archives
// (POSIX ustar, with the names of pax and GNU tar) that hold one tensor: FROSTT ships three of its
// tensors so, each beside a file `._NAME` of macOS, and the SuiteSparse collection ships every
// matrix so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace retensor {

/// Unpacked bytes in a buffer that grows by realloc: large blocks move by remapping, not by copy.
class Unpacked {
 public:
  std::string_view view() const { return {data_.get(), size_}; }
  std::size_t size() const { return size_; }

  /// At least one byte of free space behind the content; throws std::bad_alloc.
  char* room();
  std::size_t room_bytes() const { return capacity_ - size_; }
  void added(std::size_t bytes) { size_ += bytes; }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::unique_ptr<char, Free> data_;
  std::size_t size_ = 0, capacity_ = 0;
};

bool is_archive(std::string_view bytes);

/// Content of all members or frames. Sizes that the archive states are not trusted. Throws
/// ParseError when it is truncated, corrupt, followed by other bytes or unpacks to more than
/// `limit` bytes.
Unpacked unpack(std::string_view archive, const std::string& name, std::uint64_t limit);

bool is_tar(std::string_view bytes);

struct TarMember {
  std::string name;
  std::string_view content;  ///< lies in the archive
};

/// The tensor of the archive: the one regular file that is no sidecar (`._NAME`), or, among
/// several, the one that is called as its folder (`A/A.mtx` beside `A/A_b.mtx`). Throws ParseError
/// when there is no such file or the archive is damaged; `name` stands for it.
TarMember tensor_of_tar(std::string_view bytes, const std::string& name);

}  // namespace retensor
