// The run of hlsto.cuda; the kernel stands in kernels_cuda.cuh.
#include <array>
#include <string>
#include <vector>

#include "common/measure/cuda_run.cuh"
#include "common/numeric/rounding.hpp"
#include "papers/hlsto/chain.hpp"
#include "papers/hlsto/kernels_cuda.cuh"
#include "papers/hlsto/methods.hpp"
#include "papers/hlsto/methods_cuda.hpp"

namespace retensor::hlsto {
namespace {

using device::Buffer;

std::size_t at(int k) {
  return static_cast<std::size_t>(k);
}

Count rounded_up(Count n, Count unit) {
  return (n + unit - 1) / unit * unit;
}

/// Values or indices as bytes on the device.
template <class T>
Buffer<std::byte> bytes_of(const T* from, Count count) {
  const auto* first = reinterpret_cast<const std::byte*>(from);
  return Buffer<std::byte>(std::span(first, count * sizeof(T)));
}
Buffer<std::byte> bytes_of(const StoredValues& values) {
  return values.type() == ValueType::f32 ? bytes_of(values.wide().data(), values.size())
                                         : bytes_of(values.narrow().data(), values.size());
}

/// HLS on the device.
struct DeviceHls {
  explicit DeviceHls(const Hls& hls)
      : tile_index(bytes_of(hls.tile_index.data().data(), hls.tile_index.data().size())),
        bitmap(bytes_of(hls.bitmap.data(), hls.bitmap.size())),
        value_start(hls.value_start),
        dense_values(bytes_of(hls.dense_values)),
        nonzero_index(bytes_of(hls.nonzero_index.data().data(), hls.nonzero_index.data().size())),
        sparse_values(bytes_of(hls.sparse_values)) {}

  Buffer<std::byte> tile_index, bitmap;
  Buffer<Count> value_start;
  Buffer<std::byte> dense_values, nonzero_index, sparse_values;
};

/// One part of a factor as an operand, padded as DeviceFactor says: to whole tiles and the rows
/// that a fragment reads beyond the last.
template <class Element, class PartOf>
Buffer<std::byte> operand_of(MatrixView<const float> factor, Count edge, const PartOf& part_of) {
  const Count rows = rounded_up(factor.rows, edge) + kFragmentEdge;
  const Count columns = rounded_up(factor.cols, kFragmentEdge);
  std::vector<Element> padded(rows * columns, part_of(0.0f));
  for (Count i = 0; i < factor.rows; ++i)
    for (Count r = 0; r < factor.cols; ++r) padded[i * columns + r] = part_of(factor(i, r));
  return bytes_of(padded.data(), padded.size());
}

/// The parts of an operand in the order of Core::part_of, as patterns.
std::vector<Buffer<std::byte>> operands_of(MatrixView<const float> factor, Count edge,
                                           Arithmetic arithmetic) {
  std::vector<Buffer<std::byte>> parts;
  const auto add = [&]<class Element>(auto part_of) {
    parts.push_back(operand_of<Element>(factor, edge, part_of));
  };
  switch (arithmetic) {
    case Arithmetic::fp16:
      add.template operator()<std::uint16_t>(to_fp16_bits);
      break;
    case Arithmetic::bf16:
      add.template operator()<std::uint16_t>(to_bf16_bits);
      break;
    case Arithmetic::tf32:
      add.template operator()<float>(round_tf32);
      break;
    case Arithmetic::split_fp16:
      add.template operator()<std::uint16_t>(to_fp16_bits);
      add.template operator()<std::uint16_t>(
          [](float x) { return to_fp16_bits(x - round_fp16(x)); });
      break;
  }
  return parts;
}

struct Launch {
  unsigned warps;
  bool fused;
};

class PaperRun : public CudaRun {
 public:
  PaperRun(const Problem& problem, const Hls& hls, Arithmetic arithmetic, Launch launch)
      : CudaRun(problem, "HLSTO Algorithms 1 and 2"),
        chain_(problem),
        arithmetic_(arithmetic),
        launch_(launch),
        edge_(hls.grid.edge()),
        tensor_(hls),
        out_(problem.x().dims[at(problem.mode())] * chain_.width) {
    set_tensor(hls);
    set_roles(hls);
    for (int m = 0; m < x_.order; ++m) set_factor(m);
    count_bytes(out_, tensor_.tile_index, tensor_.bitmap, tensor_.value_start, tensor_.dense_values,
                tensor_.nonzero_index, tensor_.sparse_values);
    executed_.merge(format_facts(hls));
    executed_["precision"] = std::string(name(arithmetic));
    executed_["mma"] = std::to_string(mma_count(hls, chain_, arithmetic));
    executed_["warps"] = std::to_string(launch.warps);
    executed_["load"] = launch.fused ? "fused" : "sequential";
    executed_["prepared"] = "on the host";
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

  void refresh(int m) override { set_factor(m); }

 private:
  void set_tensor(const Hls& hls) {
    x_.tile_index = reinterpret_cast<const std::uint32_t*>(tensor_.tile_index.data());
    x_.bitmap = reinterpret_cast<const std::uint32_t*>(tensor_.bitmap.data());
    x_.value_start = tensor_.value_start.data();
    x_.dense_values = tensor_.dense_values.data();
    x_.nonzero_index = reinterpret_cast<const std::uint32_t*>(tensor_.nonzero_index.data());
    x_.sparse_values = tensor_.sparse_values.data();
    x_.values = hls.options.values;
    x_.tiles = hls.dense_tiles(), x_.nonzeros = hls.sparse_nonzeros();
    x_.tile_words = hls.tile_index.words(), x_.nonzero_words = hls.nonzero_index.words();
    x_.edge_bits = hls.grid.edge_bits();
    x_.order = static_cast<int>(hls.dims.size());
    for (int k = 0; k < x_.order; ++k) {
      x_.place[k] = {hls.grid.tile_index().shift(k), hls.grid.tile_index().width(k)};
      x_.index[k] = {hls.grid.nonzero_index().shift(k), hls.grid.nonzero_index().width(k)};
    }
  }

  void set_roles(const Hls& hls) {
    const Roles roles = roles_of(hls.grid, chain_.mode);
    int place = 0;
    for (const int m : hls.grid.tiled()) x_.mode_at[place++] = m;
    for (const int m : hls.grid.kept()) x_.mode_at[place++] = m;
    x_.slice = roles.slice, x_.row = roles.row, x_.column = roles.column;
    x_.output_place = roles.kept_output < 0 ? roles.slice : kTiledModes + roles.kept_output;
    x_.slice_length = hls.dims[at(x_.mode_at[roles.slice])];
    x_.mode = chain_.mode, x_.kronecker = chain_.kronecker;
    x_.width = chain_.width, x_.out = out_.data();
    rows_.resize(at(x_.order)), operands_.resize(at(x_.order));
  }

  void set_factor(int m) {
    if (m == chain_.mode) return;
    const auto factor = chain_.factor[at(m)];
    rows_[at(m)] = upload_rows(factor);
    operands_[at(m)] = operands_of(factor, edge_, arithmetic_);
    DeviceFactor& to = x_.factor[m];
    to.rows = rows_[at(m)].data();
    for (std::size_t p = 0; p < operands_[at(m)].size(); ++p)
      to.operand[p] = operands_[at(m)][p].data();
    to.columns = static_cast<unsigned>(factor.cols);
    to.operand_columns = static_cast<unsigned>(rounded_up(factor.cols, kFragmentEdge));
    to.stride = chain_.stride[at(m)];
  }
  static Buffer<float> upload_rows(MatrixView<const float> factor) {
    return upload_padded(factor, static_cast<unsigned>(factor.cols));
  }

  void launch(cudaStream_t stream) {
    const auto tiles = static_cast<unsigned>(x_.tiles);
    const unsigned others =
        x_.nonzeros == 0 ? 0 : device::blocks_for(x_.nonzeros, 32 * launch_.warps);
    if (launch_.fused) {
      launch(tiles, others, stream);
      return;
    }
    launch(tiles, 0, stream);
    launch(0, others, stream);
  }

  void launch(unsigned tile_blocks, unsigned nonzero_blocks, cudaStream_t stream) {
    if (tile_blocks + nonzero_blocks == 0) return;
    with_arithmetic([&]<Arithmetic kArithmetic>() {
      const unsigned threads = 32 * launch_.warps;
      const unsigned shared = TileMemory<Core<kArithmetic>>::bytes(x_.edge_bits, launch_.warps);
      const auto start = [&]<int kAlong, bool kKronecker>() {
        const auto kernel = multiply<kArithmetic, kAlong, kKronecker>;
        RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
        RETENSOR_CUDA_LAUNCH(kernel, tile_blocks + nonzero_blocks, threads, shared, stream, x_,
                             tile_blocks);
      };
      if (edge_ <= kFragmentEdge && x_.kronecker) start.template operator()<1, true>();
      if (edge_ <= kFragmentEdge && !x_.kronecker) start.template operator()<1, false>();
      if (edge_ > kFragmentEdge && x_.kronecker) start.template operator()<2, true>();
      if (edge_ > kFragmentEdge && !x_.kronecker) start.template operator()<2, false>();
    });
  }

  template <class F>
  void with_arithmetic(F&& f) {
    switch (arithmetic_) {
      case Arithmetic::fp16:
        return f.template operator()<Arithmetic::fp16>();
      case Arithmetic::bf16:
        return f.template operator()<Arithmetic::bf16>();
      case Arithmetic::tf32:
        return f.template operator()<Arithmetic::tf32>();
      case Arithmetic::split_fp16:
        return f.template operator()<Arithmetic::split_fp16>();
    }
  }

  const Chain chain_;
  const Arithmetic arithmetic_;
  const Launch launch_;
  const Count edge_;
  const DeviceHls tensor_;
  Buffer<float> out_;
  std::vector<Buffer<float>> rows_;                       // by mode
  std::vector<std::vector<Buffer<std::byte>>> operands_;  // by mode and part
  DeviceChain x_;
};

}  // namespace

std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params) {
  const Launch launch{static_cast<unsigned>(params.integer("warps")),
                      params.word("load") == "fused"};
  return std::make_unique<PaperRun>(problem, to_hls(problem.x(), format_options(problem, params)),
                                    arithmetic_of(params), launch);
}

}  // namespace retensor::hlsto
