// One https request by libcurl that appends to a file.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/driver/data/fetch/download.hpp"

namespace retensor::fetch {

/// How one connection ended.
enum class End {
  complete,  ///< the file has its length
  cut,       ///< before that; worth another attempt
  refused,   ///< by the server or by the rules for redirects and certificates
  wrong,     ///< the server's file has another length
};

struct Transfer {
  End end;
  std::string reason;  ///< empty when complete
};

/// What is known of the server's file; an answer adds to it.
struct Version {
  std::uint64_t length;   ///< 0: not known yet
  std::string validator;  ///< ETag or date of the last answer: keeps parts of two versions apart
  std::function<void(const std::string&)> on_validator;  ///< called before its first bytes are kept
};

/// Asks for what follows the `have` bytes of the file `fd`, written from there on; the file is
/// emptied when the server sends all of its own from the start. `seconds` bounds the request.
/// Throws SystemError when the file can't be written.
Transfer transfer(const Request& request, int fd, std::uint64_t have, double seconds,
                  Version& version, const OnProgress& progress);

}  // namespace retensor::fetch
