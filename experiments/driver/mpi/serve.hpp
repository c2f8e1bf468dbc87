// MTTKRP over all modes by the processes of an MPI job as external code that the measuring loop
// asks step by step (plots/docs/how-to/foreign-code.md): how the distributed methods of a spec run.
#pragma once

#include <string>

#include "common/communicate/communicator.hpp"

namespace retensor::mpi {

/// In the folder of a problem: becomes `mpirun` with as many processes of this program as the
/// problem's parameter `ranks` says. Returns an exit code where that fails.
int launch_ranks();

/// The standard output, for answers alone: from here on what libraries print goes to the standard
/// error, since one such line among the answers would end the case. NCCL prints its version.
class Answers {
 public:
  /// Before MPI and NCCL begin; open until the process ends. Throws SystemError without
  /// descriptors.
  Answers();
  /// Writes the line whole; throws SystemError where nobody reads it.
  void write(const std::string& line) const;

 private:
  int descriptor_;
};

/// Reads the steps on the first process's standard input and answers each, until the input ends.
/// Parameters of the problem besides `ranks`, `dist` and `mttkrp` are the method's.
int serve(communicate::Communicator& processes, const Answers& answers);

}  // namespace retensor::mpi
