// Reading result files (experiments/schema): the one place that knows how a line looks and how a
// file ends that a death of its writer has torn.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace retensor::driver {

inline constexpr int kSchema = 1;  ///< of result files; a reader refuses a newer one

/// How the end of a file looks.
struct FileEnd {
  std::size_t whole = 0;       ///< bytes of whole lines
  std::size_t torn = 0;        ///< bytes of a half-written last line
  bool lacks_newline = false;  ///< the last whole line lacks its end
};

/// Calls `take` with every whole line in order. Throws InputError for a newer schema and for damage
/// before the last line, SystemError when the file can't be read.
FileEnd for_each_line(const std::string& path,
                      const std::function<void(const nlohmann::json&)>& take);

/// The member as text, empty when it is missing or something else: files may come from others.
std::string text_of(const nlohmann::json& line, const char* member);

/// The newest row of every case and machine in the files. Added to each are `machine` and `git` of
/// its session (null where the session line lacks them or is missing), `currency` by currency_of,
/// and what follows from the row: `ceilings.<what>`, the values measured in its session on its
/// backend; `roofline.gbytes`, the better of the two DRAM bandwidths, `roofline.gflops`, that times
/// the intensity (PASTA section V.B), `roofline.share`, the rate over it, `roofline.ridge`, the
/// intensity at which the measured peak takes over (each where all its parts are known).
std::vector<nlohmann::json> newest_rows(const std::vector<std::string>& paths);

/// Whether a row is of a CUDA method.
bool on_gpu(const nlohmann::json& row);

/// Name of the processor that ran a row of newest_rows: the GPU's for CUDA methods; "unknown" where
/// the session does not tell.
std::string device_of(const nlohmann::json& row);

/// The member of a row at a dotted path such as work.intensity; null where there is none. A path
/// that the row lacks is looked up in its case.
const nlohmann::json& field(const nlohmann::json& row, std::string_view path);

}  // namespace retensor::driver
