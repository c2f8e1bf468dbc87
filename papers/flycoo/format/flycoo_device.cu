// COO -> FLYCOO on the device, with the steps of flycoo.cpp.
#include "papers/flycoo/format/flycoo_device.cuh"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/device/cub.cuh"
#include "common/tensor/linear_index.hpp"
#include "papers/flycoo/format/loops_device.cuh"
#include "papers/flycoo/format/records_device.cuh"

namespace retensor::flycoo {
namespace {

using device::Buffer;
using device::DeviceSort;
using Numbers = Buffer<std::uint32_t>;

// A struct, since device code cannot be defined in private functions.
struct Builder {
  Builder(const DeviceCoo& tensor, DeviceFlycoo& flycoo)
      : out(flycoo),
        n(static_cast<std::uint32_t>(tensor.nnz)),
        view(tensor),
        entries(n),
        order(n),
        first(n),
        position(n) {}

  void build() {
    const bool streams = out.options.ids == Ids::stream;
    std::uint32_t* const to = order.data();
    for_each(n, [=] __device__(Count p) { to[p] = static_cast<std::uint32_t>(p); });
    for (int m = 0; m < out.order(); ++m) {
      sort(m);
      invert(m == 0 ? first : position);
      if (streams && m > 0) add_stream(position);
      std::swap(order, entries.values);
      if (m == 0) encode();
      if (!streams) write_ids(m);
    }
    if (streams) add_stream(first);
  }

  static std::size_t at(int mode) { return static_cast<std::size_t>(mode); }

  // The partition of each index of a mode.
  Numbers partition(int mode) {
    Buffer<unsigned> counts(out.dims[at(mode)]);
    counts.zero(nullptr);
    unsigned* const count = counts.data();
    const Index* const rows = view.index[mode];
    for_each(n, [=] __device__(Count p) { atomicAdd(count + rows[p], 1u); });
    const std::vector<unsigned> counted = counts.to_host();
    const Options& o = out.options;
    out.modes.push_back(partition_counts({counted.begin(), counted.end()}, o.kappa, o.assignment,
                                         o.seed + at(mode)));
    out.start.emplace_back(out.modes.back().start);
    return Numbers(out.modes.back().part);
  }

  // The values of the entries become the nonzeros in the order of `mode`; `order` still has the
  // order of the mode before.
  void sort(int mode) {
    const Numbers parts = partition(mode);
    const std::uint32_t* const part = parts.data();
    const std::uint32_t* const before = order.data();
    const Index* const rows = view.index[mode];
    std::uint32_t *keys = entries.keys.data(), *const values = entries.values.data();
    for_each(n, [=] __device__(Count p) {
      values[p] = before[p];
      keys[p] = rows[before[p]];
    });
    if (out.options.arrangement == Arrangement::row) entries.sort(bits_for(out.dims[at(mode)]));
    keys = entries.keys.data();
    for_each(n, [=] __device__(Count p) { keys[p] = part[keys[p]]; });
    entries.sort(bits_for(out.options.kappa));
  }

  void invert(Numbers& inverse) {
    const std::uint32_t* const nonzero = entries.values.data();
    std::uint32_t* const place = inverse.data();
    for_each(n, [=] __device__(Count p) { place[nonzero[p]] = static_cast<std::uint32_t>(p); });
  }

  // From the positions of `order` to those of the next mode.
  void add_stream(const Numbers& next) {
    const RecordLayout layout = out.layout;
    const auto width = static_cast<Count>(layout.id_words);
    std::uint32_t* const stream = out.streams.emplace_back(n * width).data();
    const std::uint32_t *const nonzero = order.data(), *const place = next.data();
    for_each(n,
             [=] __device__(Count p) { write_id(layout, stream + p * width, place[nonzero[p]]); });
  }

  // The records in mode 0's order, without ids.
  void encode() {
    out.records = zero_records(out.nnz * out.record_words());
    std::uint32_t* const records = out.records.data();
    const std::uint32_t* const nonzero = order.data();
    const RecordLayout layout = out.layout;
    const CooView all = view;
    for_each(n, [=] __device__(Count p) {
      all.encode(layout, nonzero[p], records + p * static_cast<Count>(layout.words));
    });
  }

  void write_ids(int mode) {
    const RecordLayout layout = out.layout;
    std::uint32_t* const records = out.records.data();
    const std::uint32_t *const nonzero = order.data(), *const place = first.data();
    for_each(n, [=] __device__(Count p) {
      set_remap_id(layout, records + place[nonzero[p]] * static_cast<Count>(layout.words), mode, p);
    });
  }

  DeviceFlycoo& out;
  const std::uint32_t n;
  const CooView view;
  DeviceSort entries;
  Numbers order;            // nonzeros in the order of the current mode
  Numbers first, position;  // of each nonzero in the order of mode 0, in that of the current mode
};

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

Count DeviceFlycoo::bytes() const {
  Count total = records.bytes();
  for (const auto& stream : streams) total += stream.bytes();
  for (const auto& s : start) total += s.bytes();
  return total;
}

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
  constexpr Count kWorking = 7 * sizeof(std::uint32_t);  // a nonzero's, in the arrays of Builder
  require_memory(f.nnz, bytes_of_arrays(f) + f.nnz * kWorking + bytes_of_indices(f.dims));
  Builder(tensor, f).build();
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
