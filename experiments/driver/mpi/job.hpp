// What a decomposition and a measured run of an MPI job share.
#pragma once

#include <memory>

#include "common/communicate/communicator.hpp"
#include "common/method/method.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::mpi {

/// This process's part of the nonzeros in their order.
Coo part_of(const Coo& whole, const communicate::Communicator& processes);

/// The processes over NCCL where the method runs on devices and the build has NCCL; else null.
std::unique_ptr<communicate::Communicator> devices_for(const Method& method,
                                                       communicate::Communicator& processes);

/// What all processes sent since the last call, by operation.
communicate::Traffic sent_by_all(communicate::Communicator& processes,
                                 communicate::Communicator& counted);

}  // namespace retensor::mpi
