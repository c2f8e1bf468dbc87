// MTTKRP over all modes by the processes of an MPI job as code from outside that the measuring loop
// asks step by step (plots/docs/how-to/foreign-code.md): how the distributed methods of a spec run.
#pragma once

#include "common/communicate/communicator.hpp"

namespace retensor::mpi {

/// In the folder of a problem: becomes `mpirun` with as many processes of this program as the
/// problem's parameter `ranks` says. Returns an exit code where that fails.
int launch_ranks();

/// Reads the steps on the first process's standard input, answers on its standard output, until the
/// input ends. Parameters of the problem besides `ranks`, `dist` and `mttkrp` are the method's.
int serve(communicate::Communicator& processes);

}  // namespace retensor::mpi
