// What the runs of HLSTO's CUDA methods share: the format and the factors on the device, the
// result. Included by .cu files alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/measure/cuda_run.cuh"
#include "papers/hlsto/chain.hpp"
#include "papers/hlsto/format_cuda.cuh"
#include "papers/hlsto/kernels_cuda.cuh"
#include "papers/hlsto/methods.hpp"

namespace retensor::hlsto {

using device::Buffer;

inline std::size_t at(int k) {
  return static_cast<std::size_t>(k);
}

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

/// Made where the parameter `prepare` says; finish(tensor) is the last step, on the device.
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
  auto tensor =
      made_on_device(x, facts, [&](const DeviceCoo& c) { return finished(to_hls(c, options)); });
  return {std::move(tensor), std::move(facts)};
}

/// The chain on the device, factors in single precision; a method adds operands and the launch.
class HlsRun : public CudaRun {
 public:
  /// Rows of the factors are padded by zeros to a multiple of `row_unit` elements.
  HlsRun(const Problem& problem, PreparedHls hls, Arithmetic arithmetic, std::string kernel,
         Count row_unit = 1)
      : CudaRun(problem, std::move(kernel)),
        chain_(problem),
        arithmetic_(arithmetic),
        tensor_(std::move(hls.tensor)),
        row_unit_(row_unit),
        out_(problem.x().dims[at(problem.mode())] * chain_.width),
        rows_(problem.x().dims.size()) {
    set_tensor();
    set_roles();
    for (int m = 0; m < x_.order; ++m) set_rows(m);
    count_bytes(out_, tensor_.tile_index, tensor_.bitmap, tensor_.value_start, tensor_.dense_values,
                tensor_.nonzero_index, tensor_.sparse_values);
    for (const auto& rows : rows_) count_bytes(rows);
    executed_.merge(format_facts(tensor_));
    executed_.merge(hls.facts);
    executed_["precision"] = std::string(name(arithmetic));
  }

  void run(StageTimer& timer) override {
    timer.stage("zero");
    out_.zero(stream_of(timer));
    timer.stage("kernel");
    if (problem_.x().nnz() > 0) launch(stream_of(timer));
  }

  Result result() override {
    Matrix matrix(problem_.x().dims[at(problem_.mode())], chain_.width, problem_.dtype());
    out_.download(matrix.values().as<float>());
    return matrix;
  }

  void refresh(int m) override { set_rows(m); }

 protected:
  virtual void launch(cudaStream_t stream) = 0;

  const Chain chain_;
  const Arithmetic arithmetic_;
  const DeviceHls tensor_;
  DeviceChain x_;

 private:
  void set_tensor() {
    x_.tile_index = tensor_.tile_index.data();
    x_.bitmap = tensor_.bitmap.data();
    x_.value_start = tensor_.value_start.data();
    x_.dense_values = tensor_.dense_values.data();
    x_.nonzero_index = tensor_.nonzero_index.data();
    x_.sparse_values = tensor_.sparse_values.data();
    x_.values = tensor_.options.values;
    x_.tiles = tensor_.dense_tiles(), x_.nonzeros = tensor_.sparse_nonzeros();
    x_.tile_words = words_for(tensor_.grid.tile_index().bits()),
    x_.nonzero_words = words_for(tensor_.grid.nonzero_index().bits());
    x_.edge_bits = tensor_.grid.edge_bits();
    x_.order = static_cast<int>(tensor_.dims.size());
    for (int k = 0; k < x_.order; ++k) {
      x_.place[k] = {tensor_.grid.tile_index().shift(k), tensor_.grid.tile_index().width(k)};
      x_.index[k] = {tensor_.grid.nonzero_index().shift(k), tensor_.grid.nonzero_index().width(k)};
    }
  }

  void set_roles() {
    const Roles roles = roles_of(tensor_.grid, chain_.mode);
    int place = 0;
    for (const int m : tensor_.grid.tiled()) x_.mode_at[place++] = m;
    for (const int m : tensor_.grid.kept()) x_.mode_at[place++] = m;
    x_.slice = roles.slice, x_.row = roles.row, x_.column = roles.column;
    x_.output_place = roles.kept_output < 0 ? roles.slice : kTiledModes + roles.kept_output;
    x_.slice_length = tensor_.dims[at(x_.mode_at[roles.slice])];
    x_.mode = chain_.mode, x_.kronecker = chain_.kronecker;
    x_.width = chain_.width, x_.out = out_.data();
  }

  void set_rows(int m) {
    if (m == chain_.mode) return;
    const auto factor = chain_.factor[at(m)];
    rows_[at(m)] = upload_padded(factor, static_cast<unsigned>(rounded_up(factor.cols, row_unit_)));
    x_.factor[m].rows = rows_[at(m)].data();
    x_.factor[m].columns = static_cast<unsigned>(factor.cols);
    x_.factor[m].stride = chain_.stride[at(m)];
  }

  const Count row_unit_;
  Buffer<float> out_;
  std::vector<Buffer<float>> rows_;  // by mode
};

}  // namespace retensor::hlsto
