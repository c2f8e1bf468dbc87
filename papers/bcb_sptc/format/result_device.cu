// Results on the device.
#include "papers/bcb_sptc/format/result_device.cuh"

#include <limits>
#include <string>

#include "common/core/error.hpp"
#include "common/device/device.hpp"

namespace retensor::bcb_sptc {
namespace {

struct IsNotZero {
  const float* values;
  __host__ __device__ bool operator()(std::uint32_t p) const { return values[p] != 0.0f; }
};

template <class T>
__global__ void gather_kept(const Count* found, const std::uint32_t* kept, const T* from, T* to) {
  for_each_of_grid(*found, [&](Count p) { to[p] = from[kept[p]]; });
}

}  // namespace

Room device_room(double gib) {
  return {gib, [] { return device::memory().free_bytes; }};
}

void DeviceResult::make_room(Count n, const Room& room) {
  if (n > std::numeric_limits<std::uint32_t>::max())
    throw InputError("found " + std::to_string(n) +
                     " entries in the result, expected fewer than 2^32");
  room.require("entries of the result", n, sizeof(Index) * dims.size() + sizeof(float));
  entries = n;
  indices.resize(dims.size());
  for (auto& index : indices) ensure_size(index, n);
  ensure_size(values, n);
}

Count DeviceResult::bytes() const {
  Count bytes = values.bytes();
  for (const auto& index : indices) bytes += index.bytes();
  return bytes;
}

Coo DeviceResult::to_coo() const {
  Coo coo(dims, DType::f32, entries);
  values.download(coo.values.as<float>());
  for (std::size_t m = 0; m < indices.size(); ++m) indices[m].download(coo.indices[m]);
  return coo;
}

void ZeroFilter::run(const DeviceResult& from, const Room& room, cudaStream_t stream) {
  filtered_.dims = from.dims;
  if (filtered_.indices.empty()) filtered_.make_room(from.entries, room);
  ensure_size(kept_, from.entries);
  ensure_size(found_, 1);
  if (from.entries == 0) {
    found_.zero(stream);
    return;
  }
  cub_.select(from.entries, IsNotZero{from.values.data()}, kept_, found_, stream);
  for (std::size_t m = 0; m < from.indices.size(); ++m)
    RETENSOR_CUDA_LAUNCH(gather_kept<Index>, grid_for(from.entries), kThreads, 0, stream,
                         found_.data(), kept_.data(), from.indices[m].data(),
                         filtered_.indices[m].data());
  RETENSOR_CUDA_LAUNCH(gather_kept<float>, grid_for(from.entries), kThreads, 0, stream,
                       found_.data(), kept_.data(), from.values.data(), filtered_.values.data());
}

const DeviceResult& ZeroFilter::filtered() {
  filtered_.entries = element_at(found_, 0);
  return filtered_;
}

}  // namespace retensor::bcb_sptc
