// The two ways of bcb_sptc.cuda to contract. Included by .cu files alone.
#pragma once

#include <memory>

#include "common/method/method.hpp"
#include "papers/bcb_sptc/format/result_device.cuh"

namespace retensor::bcb_sptc {

struct DeviceBcb;
struct DeviceMatricised;

/// The stages of a contraction. Each allocates when called for the first time only, and throws
/// OutOfMemory then where a list or the result, whose size is known before, has no room.
class Path {
 public:
  virtual ~Path() = default;
  virtual void make_tasks(cudaStream_t stream) = 0;
  /// Finds the places of the entries; the first call makes room in the result.
  virtual void find_pattern(cudaStream_t stream) = 0;
  virtual void multiply(cudaStream_t stream) = 0;
  virtual void write_coordinates(cudaStream_t stream) = 0;
  virtual Executed facts() = 0;
  virtual Count format_bytes() const = 0;
  virtual Count work_bytes() const = 0;  ///< task list, bitmaps, tables

  DeviceResult& result() { return result_; }

 protected:
  DeviceResult result_;
};

/// BCB with tasks on tensor cores, of operands with the parameters' blocks, and rows of single
/// products with hash tables.
std::unique_ptr<Path> make_block_path(const Problem& problem, const Params& params, DeviceBcb x,
                                      DeviceBcb y, const Room& room);
std::unique_ptr<Path> make_element_path(const Problem& problem, DeviceMatricised matrices,
                                        const Room& room);

}  // namespace retensor::bcb_sptc
