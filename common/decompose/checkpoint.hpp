// Models on disk, so that a long run that was cut goes on where it was.
//
// A file is the SHA-256 of all that follows, as 64 hexadecimal digits, then CBOR (RFC 8949):
// version, identity, weights, fit after each sweep, factors as little-endian values row by row.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/decompose/starts.hpp"
#include "common/decompose/sweeps.hpp"
#include "common/method/problem.hpp"

namespace retensor::cpd {

/// What a checkpoint belongs to: digest of the tensor (lengths, coordinates, values), type, rank,
/// seed and law of the initial factors, constraint. Neither the method of MTTKRP nor the stopping
/// rule, so that either may change from one part of a run to the next.
using Identity = std::map<std::string, std::string>;
Identity identity_of(const Problem& problem, Constraint constraint = Constraint::none);

/// Replaces the file in one step; throws SystemError.
void save_checkpoint(const std::string& path, const Identity& identity, const KruskalModel& model);
/// Nothing where there is no file. Throws InputError when it is damaged, belongs to another
/// identity, naming the first difference, or holds other shapes than the model of the problem has,
/// and SystemError when it can't be read.
std::optional<KruskalModel> load_checkpoint(const std::string& path, const Identity& identity,
                                            const Problem& problem);

/// The file of a run from the first factors of a law and a seed. Without a path there is none, and
/// nothing happens.
class Checkpoint {
 public:
  Checkpoint(std::string path, const Problem& problem, Start law, std::uint64_t seed,
             Constraint constraint);

  explicit operator bool() const { return !path_.empty(); }
  std::optional<KruskalModel> load() const;
  void save(const KruskalModel& model) const;
  void remove() const;

 private:
  const std::string path_;
  const Problem& problem_;
  Identity identity_;
};

}  // namespace retensor::cpd
