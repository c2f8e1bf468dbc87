// What this build was made from; provenance.cpp is generated at build time by provenance/write.py.
#pragma once

#include <map>
#include <string>

namespace retensor::driver {

/// What ties a row to the code that it measured: hashes that no comment, blank, file name or place
/// of a declaration changes.
struct MethodCode {
  std::string source;  ///< SHA-256 over the declarations that the method reaches
  std::string host;    ///< the same over those that run on the host
  /// SHA-256 over the machine code of the kernels that it can launch, by architecture ("90").
  std::map<std::string, std::string, std::less<>> kernels;
};

struct Provenance {
  std::string commit;  ///< of the source tree, empty where it was no git checkout
  bool dirty = false;  ///< tracked files differed from the commit
  std::string common;  ///< SHA-256 over common/: what data and oracles are made by
  /// By method, and by module for methods whose id stands nowhere as text.
  std::map<std::string, MethodCode, std::less<>> methods;
};

const Provenance& provenance();

}  // namespace retensor::driver
