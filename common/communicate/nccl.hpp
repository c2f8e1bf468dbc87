// GPUs of one or several machines, over NCCL.
#pragma once

#include <memory>

#include "common/communicate/communicator.hpp"

namespace retensor::communicate {

/// The processes of `host`, which hands the id of NCCL's group round, each with the device of its
/// rank, counted round where there are fewer devices than processes: NCCL from 2.30 on takes that
/// with NCCL_MULTI_RANK_GPU_ENABLE=1. Buffers of the host are copied for each operation, those in
/// device memory are used where they lie. Null in a build without NCCL. Throws DeviceError.
std::unique_ptr<Communicator> over_nccl(Communicator& host);

}  // namespace retensor::communicate
