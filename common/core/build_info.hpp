// Facts about this build that every session line of a result file records.
#pragma once

#include <string>

namespace retensor {

struct BuildInfo {
  std::string version;
  std::string compiler;
  std::string flags;
  std::string cuda;        ///< nvcc version, empty in a build without CUDA
  std::string cuda_archs;  ///< comma separated compute capabilities
  std::string
      source_root;  ///< where registry, specs and plots are found when run from the build tree
};

const BuildInfo& build_info();

}  // namespace retensor
