// What a decomposition and a measured run of an MPI job share.
#pragma once

#include <memory>
#include <string>

#include "common/communicate/communicator.hpp"
#include "common/method/method.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::mpi {

/// This process's part of the nonzeros of a binary cache in their order, as the measuring loop
/// writes it. It reads no more, so that the processes together may read what no machine could hold.
Coo read_part(const std::string& path, DType type, const communicate::Communicator& processes);
/// The same of any file: those that are no cache it reads whole, their values in the type. Throws
/// InputError for a value that the type can't hold.
Coo read_share(const std::string& path, DType type, const communicate::Communicator& processes);

/// The processes over NCCL where the method runs on devices and the build has NCCL; else null.
std::unique_ptr<communicate::Communicator> devices_for(const Method& method,
                                                       communicate::Communicator& processes);

/// What all processes sent since the last call, by operation.
communicate::Traffic sent_by_all(communicate::Communicator& processes,
                                 communicate::Communicator& counted);

}  // namespace retensor::mpi
