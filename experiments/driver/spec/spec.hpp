// The checked form of a spec file (experiments/schema/README.md).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/types.hpp"
#include "common/measure/timing.hpp"
#include "experiments/driver/spec/foreign.hpp"
#include "experiments/driver/yaml/shape.hpp"

namespace retensor::driver {

struct MeasureSpec {
  TimingOptions timing;
  std::chrono::milliseconds timeout{60000};  ///< per case, oracle and prepare included
  /// For making or reading a data set, which all of its cases share.
  std::chrono::milliseconds load_timeout() const { return 10 * timeout; }
  Count memory = 0;                          ///< private writable memory of a worker, 0: no limit
  bool interleaved = false;                  ///< methods of a problem take turns in one process
  double precision = 0;                      ///< of the interval of the median as its share, 0: any
  std::chrono::milliseconds at_most{30000};  ///< of samples beyond those asked for
  int batch = 0;                             ///< runs back to back after the samples, 0: none
  int launches = 1;                          ///< worker processes per case
  int preparations = 1;                      ///< timed per case; the first is measure()'s
  bool ceilings = false;
  bool counters = false;  ///< of the GPU's hardware, of one further run of each GPU case
  std::vector<std::string> expected;  ///< statuses besides ok that are results here, no failures
};

/// A scalar of a spec with its place, for messages that come later than parsing.
struct Located {
  ParamValue value;
  FilePosition at;
};

/// Values by axis, parameter or condition.
using Choices = std::map<std::string, std::vector<Located>>;

struct MethodEntry {
  std::string id;
  FilePosition at;
  Choices params;                            ///< lists are axes
  std::optional<ForeignEntry> foreign = {};  ///< where it is external code
};

struct Exclusion {
  Choices when;  ///< all must match; of a list any
  std::string reason;
  FilePosition at;
};

struct Spec {
  std::string path;
  std::string sha256;  ///< of the file and its includes, in the order in which they were read
  std::string artifact, title;
  std::string of;  ///< the artifact whose rows are drawn, where the spec measures none of its own
  std::vector<std::string> profiles;  ///< that the spec belongs to
  std::vector<Located> operations, variants;
  Choices axes;
  std::vector<Choices> zips;
  std::vector<Exclusion> exclusions;
  std::vector<MethodEntry> methods;
  MeasureSpec measure;
  YamlNode figure;  ///< null where there is none
};

/// Reads, merges includes and the named profile's overlay, and checks every key and type, of the
/// other profiles too. Throws ParseError with file and line; unknown keys name the nearest valid
/// one. Includes may not leave the directory tree of the working directory or of the spec's
/// experiments folder.
Spec load_spec(const std::string& path, const std::string& profile = "");
/// The same for text in memory; `name` stands for the file, includes are relative to it.
Spec parse_spec(std::string_view text, const std::string& name, const std::string& profile = "");

/// The spec beside this one that measures the rows which it draws: itself where it measures them,
/// and where none is found.
Spec measuring_spec(const Spec& spec);

/// Whether a file is there to be included: it names no artifact of its own.
bool is_fragment(const std::string& path);

/// Keys of a figure that only some kinds of figures look at, with these kinds.
const std::map<std::string, std::vector<std::string>>& keys_of_kinds();
/// Refuses a key of a figure that figures of this kind do not look at, and would ignore.
void check_key_of_kind(const YamlNode& item, const std::string& kind);

/// The kinds of figures that exist (plots/retensor/figures).
const std::vector<std::string>& figure_kinds();
/// The profiles that exist: quick, device, full.
const std::vector<std::string>& profile_names();

/// A file with a spec or a fragment of one. Where it includes others it need not be complete.
ShapePtr spec_shape();
/// <paper>/<artifact>, the name of an artifact.
ShapePtr artifact_shape();
/// One file by itself: any part of a spec.
ShapePtr spec_part_shape();
/// A spec with its includes merged, all there that it needs.
ShapePtr whole_spec_shape();

}  // namespace retensor::driver
