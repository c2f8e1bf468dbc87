// CP-ALS of a binary tensor that stays in its file, which may be larger than memory: each pass
// reads it in order. The sweeps run on the host: those of a device are recorded once and repeated,
// and a recorded pass could not read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/decompose/als.hpp"
#include "common/io/cache.hpp"

namespace retensor::driver {

class FileAls {
 public:
  /// `mttkrp` has a parameter `file`, which becomes `path`; `given` overlays the defaults of the
  /// others. The spec's operation is cpd. Throws InputError where the method does not take the
  /// problem or has no such parameter, and ParseError for a damaged file.
  FileAls(const std::string& path, const ProblemSpec& spec, const Method& mttkrp,
          std::map<std::string, ParamValue> given = {});

  /// Begins with the factors of first_factors(); throws InputError for singular vectors, which take
  /// the nonzeros themselves.
  void restart(cpd::Start law, std::uint64_t seed, StageTimer& timer);
  void sweep(StageTimer& timer);
  /// After each sweep.
  const std::vector<double>& fit() const { return fit_; }
  /// The last sweep gained less than the tolerance, or the spec allows no more.
  bool finished() const;
  KruskalModel model() const;
  const Prepared& mttkrp() const { return *mttkrp_; }

 private:
  const ProblemSpec spec_;
  const std::shared_ptr<const Coo> outline_;  // mode lengths without nonzeros
  const Problem passes_;
  const std::unique_ptr<Prepared> mttkrp_;
  const std::unique_ptr<cpd::Sweeps> sweeps_;
  std::vector<double> fit_;
};

/// Whether a method has the parameter `file`.
bool reads_files(const Method& method);

/// The Frobenius norm of a tensor in a file, read in order.
double norm_of(const MappedCache& file);

}  // namespace retensor::driver
