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

// The keys become the indices in `mode` of the values, nonzeros: in mode 0 of the tensor, in others
// of the records.
void set_keys(const CooView& x, int mode, const DeviceFlycoo& f, DeviceSort& entries) {
  for_each(f.nnz, [keys = entries.keys.data(), nonzero = entries.values.data(),
                   rows = x.index[mode], layout = f.layout, records = f.records.data(),
                   mode] __device__(Count p) {
    keys[p] =
        mode == 0
            ? rows[nonzero[p]]
            : record_index(layout, records + nonzero[p] * static_cast<Count>(layout.words), mode);
  });
}

// The values of the entries, the nonzeros in the order of the mode before, are put into that of
// `mode`.
void sort_for_mode(const CooView& x, int mode, DeviceFlycoo& f, DeviceSort& entries) {
  const auto at = static_cast<std::size_t>(mode);
  f.modes.push_back(partition(x, mode, f));
  f.start.emplace_back(f.modes.back().start);
  const Numbers parts(f.modes.back().part);
  set_keys(x, mode, f, entries);
  if (f.options.arrangement == Arrangement::row) entries.sort(bits_for(f.dims[at]));
  for_each(f.nnz, [keys = entries.keys.data(), part = parts.data()] __device__(Count p) {
    keys[p] = part[keys[p]];
  });
  entries.sort(bits_for(f.options.kappa));
}

void number(Numbers& to) {
  for_each(to.size(),
           [to = to.data()] __device__(Count p) { to[p] = static_cast<std::uint32_t>(p); });
}

void copy(const Numbers& from, Numbers& to) {
  RETENSOR_CUDA_CHECK(
      cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, nullptr));
}

void invert(const Numbers& order, Numbers& inverse) {
  for_each(order.size(), [place = inverse.data(), nonzero = order.data()] __device__(Count p) {
    place[nonzero[p]] = static_cast<std::uint32_t>(p);
  });
}

// The stream of a mode in whose order the nonzeros are `order`, towards their places in the next
// one's; nullptr: mode 0's, which are the nonzeros' numbers.
void add_stream(const Numbers& order, const std::uint32_t* place, DeviceFlycoo& f) {
  const auto width = static_cast<Count>(f.layout.id_words);
  Numbers& stream = f.streams.emplace_back(f.nnz * width);
  for_each(f.nnz, [layout = f.layout, stream = stream.data(), width, place,
                   nonzero = order.data()] __device__(Count p) {
    write_id(layout, stream + p * width, place == nullptr ? nonzero[p] : place[nonzero[p]]);
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

// Writes the ids of a mode in whose order the nonzeros are `order`.
void write_ids(int mode, const Numbers& order, DeviceFlycoo& f) {
  for_each(f.nnz, [layout = f.layout, records = f.records.data(), nonzero = order.data(),
                   mode] __device__(Count p) {
    set_remap_id(layout, records + nonzero[p] * static_cast<Count>(layout.words), mode, p);
  });
}

void build(const DeviceCoo& tensor, DeviceFlycoo& f) {
  const auto n = static_cast<std::uint32_t>(f.nnz);
  const bool streams = f.options.ids == Ids::stream;
  const CooView x(tensor);
  // Their values: the nonzeros in the order of the current mode, by the places of their records
  // as soon as these are made.
  DeviceSort entries(n);
  const Numbers& order = entries.values;
  Numbers before(streams ? n : 0);  // in the order of the mode before
  number(entries.values);
  for (int m = 0; m < f.order(); ++m) {
    if (streams) copy(order, before);
    sort_for_mode(x, m, f, entries);
    if (m == 0) {
      f.records = records_of(x, order, f);
      number(entries.values);
    } else if (streams) {
      invert(order, entries.keys);
      add_stream(before, entries.keys.data(), f);
    }
    if (!streams) write_ids(m, order, f);
  }
  if (!streams) return;
  std::swap(entries.values, before);
  entries = DeviceSort(0);  // the last stream may lie where it did
  add_stream(before, nullptr, f);
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
  // A nonzero's, of the arrays of `build`; while there is one more, the last stream is not there.
  constexpr Count kWorking = 4 * sizeof(std::uint32_t);
  require_memory(f.nnz, bytes_of_arrays(f) + f.nnz * kWorking + bytes_of_indices(f.dims));
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
