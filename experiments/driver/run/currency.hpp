// Whether a result row still tells what today's code does, and what this build was made from;
// provenance.cpp is generated at build time by provenance/write.py.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

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

enum class Currency {
  sources,    ///< measured on the same declarations
  kernels,    ///< CUDA: on the same machine code of the kernels and the same host code
  confirmed,  ///< a sample measured again agreed (retensor confirm)
  unknown,    ///< CUDA: the same host code; this build has no kernels to compare
  stale       ///< on other code
};
std::string_view name(Currency currency);

/// What ties a row to the code that it measured; empty strings where something is not known.
struct RowCode {
  std::string source, host, kernels;
};

/// The code of a method in this build; `architecture` is that of the GPU, such as 90, empty without
/// one. All empty when the method does not belong to the source tree.
RowCode code_of(std::string_view method, std::string_view architecture);
/// The same of a row's `case`: where a parameter names the method whose MTTKRP it runs, SHA-256 of
/// both methods' hashes in hexadecimal, one after the other.
RowCode code_of_case(const nlohmann::json& row_case, std::string_view architecture);
/// The members source_hash, host_hash and kernel_hash of a row or a confirmation.
RowCode stated_code(const nlohmann::json& line);
void state_code(const RowCode& code, nlohmann::json& line);

/// How code that was measured relates to today's.
Currency compare_code(const RowCode& measured, const RowCode& today);

/// Architecture of a session's GPU, 90 for compute capability 9.0; empty without one.
std::string architecture_of(const nlohmann::json& machine);

/// The confirmations of result files (experiments/schema).
class Confirmations {
 public:
  /// `measured_on`: the devices of the confirmation's session.
  void take(const nlohmann::json& line, const std::set<std::string>& measured_on);
  /// Whether a row of this key was confirmed for this code on its device: what a change does to the
  /// time on one model says nothing of another.
  bool cover(const std::string& key, const RowCode& today, const std::string& device) const;

 private:
  struct Confirmed {
    RowCode code;
    std::set<std::string> devices;
  };
  std::map<std::string, std::vector<Confirmed>, std::less<>> confirmed_;  ///< by key
};

/// Of a row line that was measured on `device`, whose GPU is of `architecture`.
Currency currency_of(const nlohmann::json& line, const std::string& device,
                     std::string_view architecture, const Confirmations& confirmations);

}  // namespace retensor::driver
