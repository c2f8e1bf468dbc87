// The checked form of a spec file (experiments/schema/README.md).
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/core/types.hpp"
#include "common/measure/params.hpp"
#include "common/measure/timing.hpp"

namespace retensor::driver {

struct MeasureSpec {
  TimingOptions timing;
  std::chrono::milliseconds timeout{60000};  ///< per case, oracle and prepare included
  Count memory = 0;                          ///< address-space limit of a worker, 0: none
  int launches = 1;                          ///< worker processes per case
  bool ceilings = false;
};

/// A scalar of a spec with the line it stands on, for messages that come later than parsing.
struct Located {
  ParamValue value;
  std::uint64_t line = 0;
};

struct MethodEntry {
  std::string id;
  std::uint64_t line = 0;
  std::map<std::string, std::vector<Located>> params;  ///< lists are axes
};

struct Exclusion {
  std::map<std::string, std::vector<Located>> when;
  std::string reason;
  std::uint64_t line = 0;
};

struct Spec {
  std::string path, sha256;
  std::string artifact, title;
  std::vector<Located> operations, variants;
  std::map<std::string, std::vector<Located>> axes;
  std::vector<std::map<std::string, std::vector<Located>>> zips;
  std::vector<Exclusion> exclusions;
  std::vector<MethodEntry> methods;
  MeasureSpec measure;
  nlohmann::json figure;
};

/// Reads, merges includes and the named profile's overlay, and checks every key and type. Throws
/// ParseError with file and line; unknown keys name the nearest valid one. Includes may not leave
/// the directory tree of the working directory or of the spec's experiments folder.
Spec load_spec(const std::string& path, const std::string& profile = "");

}  // namespace retensor::driver
