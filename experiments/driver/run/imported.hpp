// Times that others measured with the original codes, as rows beside one's own.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/data/datasets.hpp"

namespace retensor::driver {

/// Who measured what an import brings, and where.
struct ImportSource {
  std::string who;     ///< the code, as its authors call it, and who ran it
  std::string commit;  ///< version of the code, as far as known
  std::string gpu;     ///< name of the device; empty when it was a CPU's
  std::string cpu;
};

/// The session line and the rows of a table of times: comma-separated, with a header that names
/// artifact, method, operation, dataset and milliseconds, and may name mode (0-based, empty where
/// the operation has none), rank and dtype (f32). `method` is the id of the method here
/// that does the same; rows say `code: original`. Milliseconds are those of the run without the
/// zeroing of outputs (stage `kernel`). Throws ParseError with file and line for an unknown column
/// (with the nearest), a missing or malformed cell, an unknown operation or data set, a time that
/// is not positive, or a case that stands twice.
std::vector<nlohmann::json> import_rows(const std::string& path, const ImportSource& source,
                                        const DatasetRegistry& datasets);

}  // namespace retensor::driver
