// Processes started by mpirun or srun.
#pragma once

#include <memory>

#include "common/communicate/communicator.hpp"

namespace retensor::communicate {

/// MPI_Init on construction, MPI_Finalize at the end; one in a program. Where an exception leaves
/// it, all processes end (MPI_Abort), since the others would wait for ever.
class MpiSession {
 public:
  MpiSession(int& argc, char**& argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  std::unique_ptr<Communicator> world() const;
  /// Ends all processes of the job, this one too, with this exit code.
  static void end_all(int code);
};

}  // namespace retensor::communicate
