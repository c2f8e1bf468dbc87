// Fetching one file over https: resumed after cuts, also those of an earlier call, and there under
// its name only when complete and, where its SHA-256 is known, verified.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace retensor::fetch {

struct Request {
  std::string url;           ///< https
  std::string sha256;        ///< of the file, lower-case hexadecimal; empty where nobody knows it
  std::uint64_t bytes;       ///< length of the file; 0: not known, the server says it
  std::uint64_t most_bytes;  ///< what a file of unknown length may have
  std::string out;           ///< final path; what has arrived waits in `out`.part
  std::string cacert;        ///< authorities to trust instead of the system's, empty for those
  double time_limit;         ///< seconds for everything
  double stall_limit;        ///< seconds below 1 kB/s after which a connection counts as cut
};

/// Called with the bytes that are there and the length, 0 while not known; must not throw.
using OnProgress = std::function<void(std::uint64_t bytes, std::uint64_t length)>;
/// Called with a sentence when a connection is cut or a partial file is given up.
using OnNote = std::function<void(const std::string&)>;

/// Does nothing when `out` is there and right. Throws InputError when the server's file is not the
/// one requested (then no partial file stays) or the server refuses it, SystemError when network,
/// time or disk do not suffice or another process fetches the same file: then a later call resumes.
void download(const Request& request, const OnProgress& progress, const OnNote& note);

}  // namespace retensor::fetch
