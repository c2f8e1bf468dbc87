// What this build was made from; provenance.cpp is generated at build time by provenance.py.
#pragma once

#include <map>
#include <string>

namespace retensor::driver {

struct Provenance {
  std::string commit;  ///< of the source tree, empty where it was no git checkout
  bool dirty = false;  ///< tracked files differed from the commit
  std::string common;  ///< SHA-256 over the sources below common/, baselines and cpd left out
  std::map<std::string, std::string, std::less<>> modules;  ///< SHA-256 by paper or baseline
};

const Provenance& provenance();

}  // namespace retensor::driver
