#include "common/communicate/nccl.hpp"

namespace retensor::communicate {

std::unique_ptr<Communicator> over_nccl(Communicator&) {
  return nullptr;
}

}  // namespace retensor::communicate
