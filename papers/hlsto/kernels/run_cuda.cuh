// What the runs of HLSTO's CUDA methods share: the format and the factors on the device, the
// result. Included by .cu files alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/run/cuda_run.cuh"
#include "papers/hlsto/format/chain.hpp"
#include "papers/hlsto/format/hls_device.cuh"
#include "papers/hlsto/format/options.hpp"

namespace retensor::hlsto {

using device::Buffer;

inline Count rounded_up(Count n, Count unit) {
  return (n + unit - 1) / unit * unit;
}

/// Elements as bytes on the device.
template <class T>
Buffer<std::byte> bytes_of(const T* from, Count count) {
  const auto* first = reinterpret_cast<const std::byte*>(from);
  return Buffer<std::byte>(std::span(first, count * sizeof(T)));
}

/// HLS on the device, and what a row tells of its making.
struct PreparedHls {
  DeviceHls tensor;
  Executed facts;
};

/// Made where the parameter `prepare` says; finish(tensor) is the last step, on the device. The
/// milliseconds between CUDA events, where it is made there, count allocations, not the upload.
template <class Finish>
PreparedHls prepare_hls(const Coo& x, const Options& options, const Params& params,
                        Finish&& finish) {
  const auto finished = [&](DeviceHls tensor) {
    finish(tensor);
    return tensor;
  };
  if (params.word("prepare") == "host")
    return {finished(upload(to_hls(x, options))), {{"prepared", "on the host"}}};
  Executed facts;
  DeviceHls made =
      made_on_device(x, facts, [&](const DeviceCoo& on) { return finished(to_hls(on, options)); });
  return {std::move(made), std::move(facts)};
}

/// The tensor as kernels get it for an output along `mode`, without factors and result.
inline DeviceChain chain_on(const DeviceHls& tensor, int mode) {
  const Grid& grid = tensor.grid;
  DeviceChain x;
  x.tile_index = tensor.tile_index.data();
  x.bitmap = tensor.bitmap.data();
  x.value_start = tensor.value_start.data();
  x.dense_values = tensor.dense_values.data();
  x.nonzero_index = tensor.nonzero_index.data();
  x.sparse_values = tensor.sparse_values.data();
  x.values = tensor.options.values;
  x.tiles = tensor.dense_tiles, x.nonzeros = tensor.sparse_nonzeros;
  x.tile_words = words_for(grid.tile_index().bits());
  x.nonzero_words = words_for(grid.nonzero_index().bits());
  x.edge_bits = grid.edge_bits();
  x.order = static_cast<int>(tensor.dims.size());
  for (int k = 0; k < x.order; ++k) {
    x.place[k] = {grid.tile_index().shift(k), grid.tile_index().width(k)};
    x.index[k] = {grid.nonzero_index().shift(k), grid.nonzero_index().width(k)};
  }
  int place = 0;
  for (const int m : grid.tiled()) x.mode_at[place++] = m;
  for (const int m : grid.kept()) x.mode_at[place++] = m;
  const Roles roles = roles_of(grid, mode);
  x.slice = roles.slice, x.row = roles.row, x.column = roles.column;
  x.output_place = roles.kept_output < 0 ? roles.slice : kTiledModes + roles.kept_output;
  x.slice_length = tensor.dims[at(x.mode_at[roles.slice])];
  x.mode = mode;
  return x;
}

/// The chain on the device, factors in single precision; a method adds operands and the launch.
class HlsRun : public CudaSumRun<float> {
 public:
  /// Rows of the factors are padded by zeros to a multiple of `row_unit` elements.
  HlsRun(const Problem& problem, PreparedHls hls, Arithmetic arithmetic, std::string kernel,
         Count row_unit = 1)
      : CudaSumRun(problem, std::move(kernel), Chain(problem).width),
        chain_(problem),
        arithmetic_(arithmetic),
        tensor_(std::move(hls.tensor)),
        x_(chain_on(tensor_, chain_.mode)),
        row_unit_(row_unit),
        rows_(problem.x().dims.size()) {
    x_.kronecker = chain_.kronecker;
    x_.width = chain_.width, x_.out = out_.data();
    for (int m = 0; m < x_.order; ++m) set_rows(m);
    count_bytes(tensor_.tile_index, tensor_.bitmap, tensor_.value_start, tensor_.dense_values,
                tensor_.nonzero_index, tensor_.sparse_values);
    for (const auto& rows : rows_) count_bytes(rows);
    executed_.merge(format_facts(tensor_));
    executed_.merge(hls.facts);
    executed_["precision"] = std::string(name(arithmetic));
  }

  Result result() override {
    Matrix matrix(rows(), chain_.width, problem_.dtype());
    out_.download(matrix.values().as<float>());
    return matrix;
  }

  void refresh(int m) override { set_rows(m); }

 protected:
  const Chain chain_;
  const Arithmetic arithmetic_;
  const DeviceHls tensor_;
  DeviceChain x_;

 private:
  void set_rows(int m) {
    if (m == chain_.mode) return;
    const auto factor = chain_.factor[at(m)];
    rows_[at(m)] = upload_padded(factor, static_cast<unsigned>(rounded_up(factor.cols, row_unit_)));
    x_.factor[m].rows = rows_[at(m)].data();
    x_.factor[m].columns = static_cast<unsigned>(factor.cols);
    x_.factor[m].stride = chain_.stride[at(m)];
  }

  const Count row_unit_;
  std::vector<Buffer<float>> rows_;  // by mode
};

}  // namespace retensor::hlsto
