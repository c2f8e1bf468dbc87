// Tar archives (POSIX ustar, with the names of pax and GNU tar) that hold one tensor: FROSTT ships
// three of its tensors so, each beside a file `._NAME` of macOS, and the SuiteSparse collection
// ships every matrix so.
#pragma once

#include <string>
#include <string_view>

namespace retensor {

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
