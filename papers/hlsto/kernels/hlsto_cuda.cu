// The runs of hlsto.cuda and hlsto.cuda.half; the kernels stand in hlsto_cuda.cuh.
#include "papers/hlsto/kernels/hlsto_cuda.hpp"

#include <string>
#include <utility>
#include <vector>

#include "common/device/shared.cuh"
#include "common/numeric/rounding.hpp"
#include "papers/hlsto/kernels/hlsto_cuda.cuh"
#include "papers/hlsto/kernels/run_cuda.cuh"

namespace retensor::hlsto {
namespace {

using device::Buffer;

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
  for (int p = 0; p < parts_of(arithmetic); ++p) {
    const auto bits = [&](float x) { return operand_bits(x, arithmetic, p); };
    parts.push_back(arithmetic == Arithmetic::tf32 ? operand_of<float>(factor, edge, round_tf32)
                                                   : operand_of<std::uint16_t>(factor, edge, bits));
  }
  return parts;
}

struct Launch {
  unsigned warps;
  bool fused;
};

class PaperRun : public HlsRun {
 public:
  PaperRun(const Problem& problem, PreparedHls hls, Arithmetic arithmetic, Launch launch)
      : HlsRun(problem, std::move(hls), arithmetic, "HLSTO Algorithms 1 and 2"),
        launch_(launch),
        edge_(tensor_.grid.edge()),
        operands_(tensor_.dims.size()) {
    for (int m = 0; m < x_.order; ++m) set_operands(m);
    choose_kernel();
    for (const auto& parts : operands_)
      for (const auto& part : parts) count_bytes(part);
    executed_["mma"] = std::to_string(mma_count(tensor_, chain_, arithmetic));
    executed_["warps"] = std::to_string(launch.warps);
    executed_["load"] = launch.fused ? "fused" : "sequential";
  }

  void refresh(int m) override {
    HlsRun::refresh(m);
    set_operands(m);
  }

 private:
  void set_operands(int m) {
    if (m == chain_.mode) return;
    operands_[at(m)] = operands_of(chain_.factor[at(m)], edge_, arithmetic_);
    for (std::size_t p = 0; p < operands_[at(m)].size(); ++p)
      x_.factor[m].operand[p] = operands_[at(m)][p].data();
    x_.factor[m].operand_columns =
        static_cast<unsigned>(rounded_up(chain_.factor[at(m)].cols, kFragmentEdge));
  }

  void launch(cudaStream_t stream) override {
    const auto tiles = static_cast<unsigned>(x_.tiles), threads = 32 * launch_.warps;
    const unsigned others = x_.nonzeros == 0 ? 0 : device::blocks_for(x_.nonzeros, threads);
    const auto add = [&](unsigned tile_blocks, unsigned nonzero_blocks) {
      if (tile_blocks + nonzero_blocks > 0)
        RETENSOR_CUDA_LAUNCH(kernel_, tile_blocks + nonzero_blocks, threads, shared_, stream, x_,
                             tile_blocks);
    };
    add(tiles, launch_.fused ? others : 0);
    if (!launch_.fused) add(0, others);
  }

  void choose_kernel() {
    with_arithmetic(arithmetic_, [&]<Arithmetic kArithmetic>() {
      shared_ = TileMemory<Core<kArithmetic>>::bytes(x_.edge_bits, launch_.warps);
      if (edge_ <= kFragmentEdge)
        kernel_ = x_.kronecker ? multiply<kArithmetic, 1, true> : multiply<kArithmetic, 1, false>;
      else
        kernel_ = x_.kronecker ? multiply<kArithmetic, 2, true> : multiply<kArithmetic, 2, false>;
    });
    device::allow_shared(kernel_, shared_);
  }

  const Launch launch_;

 protected:
  const Count edge_;
  void (*kernel_)(DeviceChain, unsigned) = nullptr;
  unsigned shared_ = 0;  // bytes of a thread block

 private:
  std::vector<std::vector<Buffer<std::byte>>> operands_;  // by mode and part
};

/// With sums in half precision. Where the elements of the result are halves, they take the first
/// half of the memory that the result would have otherwise.
class HalfRun : public PaperRun {
 public:
  HalfRun(const Problem& problem, const Params& params, PreparedHls hls, Launch launch)
      : PaperRun(problem, std::move(hls), Arithmetic::fp16, launch),
        half_result_(half_result(params)) {
    if (half_result_)
      choose_kernel_with<__half>();
    else
      choose_kernel_with<float>();
    device::allow_shared(kernel_, shared_);
    executed_.merge(half_facts(params));
  }

  Result result() override {
    if (!half_result_) return PaperRun::result();
    Matrix matrix(rows(), chain_.width, problem_.dtype());
    const auto words = out_.to_host();
    const auto* const halves = reinterpret_cast<const std::uint16_t*>(words.data());
    const auto values = matrix.values().as<float>();
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = from_fp16_bits(halves[k]);
    return matrix;
  }

 private:
  template <class Element>
  void choose_kernel_with() {
    if (edge_ <= kFragmentEdge)
      kernel_ = x_.kronecker ? multiply_in_halves<Element, 1, true>
                             : multiply_in_halves<Element, 1, false>;
    else
      kernel_ = x_.kronecker ? multiply_in_halves<Element, 2, true>
                             : multiply_in_halves<Element, 2, false>;
  }

  const bool half_result_;
};

/// What the parameters ask of a launch.
Launch launch_of(const Params& params) {
  return {static_cast<unsigned>(params.integer("warps")), params.word("load") == "fused"};
}

}  // namespace

std::unique_ptr<Prepared> prepare_paper_cuda(const Problem& problem, const Params& params) {
  const Launch launch{static_cast<unsigned>(params.integer("warps")),
                      params.word("load") == "fused"};
  return std::make_unique<PaperRun>(
      problem, prepare_hls(problem.x(), format_options(problem, params), params, [](DeviceHls&) {}),
      arithmetic_of(params), launch);
}

std::unique_ptr<Prepared> prepare_half_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<HalfRun>(
      problem, params,
      prepare_hls(problem.x(), format_options(problem, params), params, [](DeviceHls&) {}),
      launch_of(params));
}

}  // namespace retensor::hlsto
