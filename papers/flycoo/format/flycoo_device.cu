// COO -> FLYCOO on the device, with the steps of flycoo.cpp.
#include "papers/flycoo/format/flycoo_device.cuh"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/device/device_sort.cuh"
#include "common/tensor/linear_index.hpp"
#include "papers/flycoo/format/records_device.cuh"

namespace retensor::flycoo {
namespace {

using device::Buffer;
using device::DeviceSort;
using Numbers = Buffer<std::uint32_t>;

// Counts the nonzeros of each index of a mode and assigns the indices to partitions on the host.
Partitioning partition(const CooView& x, int mode, const FlycooShape& f) {
  const auto at = static_cast<std::size_t>(mode);
  Buffer<unsigned> counts(f.dims[at]);
  counts.zero(nullptr);
  for_each(f.nnz, [count = counts.data(), rows = x.index[mode]] __device__(Count p) {
    atomicAdd(count + rows[p], 1u);
  });
  const std::vector<unsigned> counted = counts.to_host();
  return partition_counts({counted.begin(), counted.end()}, f.options.kappa, f.options.assignment,
                          f.options.seed + at);
}

// The values of the entries become the nonzeros in the order of `mode`; `order` has that of the
// mode before.
void sort_for_mode(const CooView& x, int mode, const Numbers& order, DeviceFlycoo& f,
                   DeviceSort& entries) {
  const auto at = static_cast<std::size_t>(mode);
  f.modes.push_back(partition(x, mode, f));
  f.start.emplace_back(f.modes.back().start);
  const Numbers parts(f.modes.back().part);
  for_each(f.nnz, [values = entries.values.data(), before = order.data(),
                   keys = entries.keys.data(), rows = x.index[mode]] __device__(Count p) {
    values[p] = before[p];
    keys[p] = rows[before[p]];
  });
  if (f.options.arrangement == Arrangement::row) entries.sort(bits_for(f.dims[at]));
  for_each(f.nnz, [keys = entries.keys.data(), part = parts.data()] __device__(Count p) {
    keys[p] = part[keys[p]];
  });
  entries.sort(bits_for(f.options.kappa));
}

void invert(const Numbers& order, Numbers& inverse) {
  for_each(order.size(), [place = inverse.data(), nonzero = order.data()] __device__(Count p) {
    place[nonzero[p]] = static_cast<std::uint32_t>(p);
  });
}

// The stream of a mode in whose order the nonzeros are `order`, towards positions `next`.
void add_stream(const Numbers& order, const Numbers& next, DeviceFlycoo& f) {
  const auto width = static_cast<Count>(f.layout.id_words);
  Numbers& stream = f.streams.emplace_back(f.nnz * width);
  for_each(f.nnz, [layout = f.layout, stream = stream.data(), width, place = next.data(),
                   nonzero = order.data()] __device__(Count p) {
    write_id(layout, stream + p * width, place[nonzero[p]]);
  });
}

// The records of the nonzeros in `order`, without ids.
RecordBuffer records_of(const CooView& x, const Numbers& order, const FlycooShape& f) {
  RecordBuffer records = zero_records(f.nnz * f.record_words());
  for_each(f.nnz, [x, layout = f.layout, nonzero = order.data(),
                   records = records.data()] __device__(Count p) {
    x.encode(layout, nonzero[p], records + p * static_cast<Count>(layout.words));
  });
  return records;
}

// Writes the ids of a mode in whose order the nonzeros are `order`; `first` has the place of each
// one's record.
void write_ids(int mode, const Numbers& order, const Numbers& first, DeviceFlycoo& f) {
  for_each(f.nnz, [layout = f.layout, records = f.records.data(), place = first.data(),
                   nonzero = order.data(), mode] __device__(Count p) {
    set_remap_id(layout, records + place[nonzero[p]] * static_cast<Count>(layout.words), mode, p);
  });
}

void build(const DeviceCoo& tensor, DeviceFlycoo& f) {
  const auto n = static_cast<std::uint32_t>(f.nnz);
  const bool streams = f.options.ids == Ids::stream;
  const CooView x(tensor);
  DeviceSort entries(n);
  Numbers order(n);  // nonzeros in the order of the current mode
  // Of each nonzero the place in the order of mode 0, and for streams in that of the current mode.
  Numbers first(n), place(streams ? n : 0);
  for_each(n, [to = order.data()] __device__(Count p) { to[p] = static_cast<std::uint32_t>(p); });
  for (int m = 0; m < f.order(); ++m) {
    sort_for_mode(x, m, order, f, entries);
    if (m == 0)
      invert(entries.values, first);
    else if (streams)
      invert(entries.values, place), add_stream(order, place, f);
    std::swap(order, entries.values);
    if (m == 0) f.records = records_of(x, order, f);
    if (!streams) write_ids(m, order, first, f);
  }
  if (streams) add_stream(order, first, f);
}

Count bytes_of_arrays(const FlycooShape& shape) {
  const bool streams = shape.options.ids == Ids::stream;
  const Count ids = streams ? shape.dims.size() * static_cast<Count>(shape.layout.id_words) : 0;
  return shape.nnz * (shape.record_words() + ids) * sizeof(std::uint32_t);
}

// The counts of a mode's indices and their partitions.
Count bytes_of_indices(const Dims& dims) {
  return *std::max_element(dims.begin(), dims.end()) * 2 * sizeof(std::uint32_t);
}

}  // namespace

DeviceFlycoo upload(const Flycoo& tensor) {
  DeviceFlycoo f{tensor, upload_records(tensor.records), {}, {}};
  for (const auto& stream : tensor.streams)
    f.streams.emplace_back(std::span<const std::uint32_t>(stream));
  for (const Partitioning& mode : tensor.modes) f.start.emplace_back(mode.start);
  return f;
}

DeviceFlycoo to_flycoo(const DeviceCoo& tensor, const Options& options) {
  if (tensor.nnz >> 32 != 0)
    throw InputError("FLYCOO: found " + std::to_string(tensor.nnz) +
                     " nonzeros to sort on the device, expected below 2^32");
  DeviceFlycoo f{flycoo_shape(tensor.dims, tensor.dtype, tensor.nnz, options), {}, {}, {}};
  // A nonzero's, in the arrays of `build`.
  const Count working = (f.options.ids == Ids::stream ? 7 : 6) * sizeof(std::uint32_t);
  require_memory(f.nnz, bytes_of_arrays(f) + f.nnz * working + bytes_of_indices(f.dims));
  build(tensor, f);
  return f;
}

void remap(const DeviceFlycoo& tensor, int mode, const std::uint32_t* in, std::uint32_t* out) {
  const RecordLayout layout = tensor.layout;
  const std::uint32_t* const stream = tensor.stream(mode);
  const int next = tensor.next_mode(mode);
  const Count words = tensor.record_words();
  for_each(tensor.nnz, [=] __device__(Count p) {
    const std::uint32_t* const record = in + p * words;
    std::uint32_t* const to = out + next_position(layout, record, stream, p, next) * words;
    for (Count w = 0; w < words; ++w) to[w] = record[w];
  });
}

}  // namespace retensor::flycoo
