// The two ways of bcb_sptc.cuda to contract, and the result that they write. Included by .cu files
// alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/measure/method.hpp"
#include "papers/bcb_sptc/device_tools.cuh"
#include "papers/bcb_sptc/methods.hpp"
#include "papers/bcb_sptc/room.hpp"

namespace retensor::bcb_sptc {

struct DeviceBcb;
struct DeviceMatricised;

/// The room of a device.
Room device_room(double gib = 0);

/// The result in coordinates.
struct DeviceResult {
  Dims dims;
  Count entries = 0;
  std::vector<Buffer<Index>> indices;  ///< by mode
  Buffer<float> values;

  /// Throws InputError for 2^32 and more entries, OutOfMemory for more than there is room for.
  void make_room(Count n, const Room& room);
  Count bytes() const;
  Coo to_coo() const;
};

/// Moves the entries whose value is not zero to arrays of their own, in order (Algorithm 1, line
/// 11).
class ZeroFilter {
 public:
  /// Allocates when called for the first time only.
  void run(const DeviceResult& from, const Room& room, cudaStream_t stream);
  Count bytes() const { return kept_.bytes() + filtered_.bytes() + cub_.bytes(); }
  /// What the last run left.
  const DeviceResult& filtered();

 private:
  Cub cub_;
  Buffer<Count> found_;
  Buffer<std::uint32_t> kept_;
  DeviceResult filtered_;
};

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
