// The path of bcb_sptc.cuda over blocks; the products stand in blocks_cuda.cuh.
#include "papers/bcb_sptc/kernels/blocks_cuda.cuh"
#include "papers/bcb_sptc/kernels/cells_cuda.cuh"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "papers/bcb_sptc/format/options.hpp"
#include "papers/bcb_sptc/kernels/path_cuda.cuh"

namespace retensor::bcb_sptc {
namespace kernels {

/// Adds what a chunk has of a word of the result's bitmap.
__device__ inline void store_pattern(const BlockProduct& p, Count result, unsigned word,
                                     std::uint64_t pattern) {
  std::uint64_t* const to = p.bitmap + (result << p.result_word_bits) + word;
  if (!p.is_shared(result))
    *to = pattern;
  else if (pattern != 0)
    atomicOr(reinterpret_cast<unsigned long long*>(to), pattern);
}

/// A word of a chunk's part of the result's bitmap. Keeps the result block of the chunk, for the
/// product.
struct PatternUnit {
  __device__ PatternUnit(const BlockProduct& p, Count unit)
      : chunk(unit >> p.result_word_bits),
        result(p.find_result(chunk)),
        word(static_cast<unsigned>(unit - (chunk << p.result_word_bits))),
        first(p.first_task(chunk, result)),
        last(p.last_task(first, result)) {
    if (p.is_split && p.list.sorted && word == 0)
      p.list.chunk_result[chunk] = static_cast<std::uint32_t>(result);
  }
  Count chunk, result;
  unsigned word;
  Count first, last;
};

/// A thread a word of a chunk.
__global__ void find_pattern(const __grid_constant__ BlockProduct p) {
  const bool are_cubes = p.are_cubes();
  for_each_of_grid(p.list.chunks << p.result_word_bits, [&](Count i) {
    const PatternUnit unit(p, i);
    std::uint64_t pattern = 0;
    if (are_cubes)
      pattern = pattern_of_cubes(p, unit.first, unit.last);
    else
      for (Count t = unit.first; t < unit.last; ++t)
        for (unsigned part = 0; part < p.pattern_parts(); ++part)
          pattern |= pattern_part(p, t, unit.word, part);
    store_pattern(p, unit.result, unit.word, pattern);
  });
}

/// A warp a word of a chunk, a lane a part of a task.
__global__ void find_pattern_by_warps(const __grid_constant__ BlockProduct p) {
  const unsigned parts = p.pattern_parts();
  device::for_each_of_warps<kThreads>(p.list.chunks << p.result_word_bits, [&](Count i) {
    const PatternUnit unit(p, i);
    const auto all = static_cast<unsigned>(unit.last - unit.first) * parts;
    std::uint64_t pattern = 0;
    for (unsigned own = threadIdx.x % 32; own < all; own += 32)
      pattern |= pattern_part(p, unit.first + own / parts, unit.word, own % parts);
    pattern =
        device::joined_by_warp(pattern, [](std::uint64_t a, std::uint64_t b) { return a | b; });
    if (threadIdx.x % 32 == 0) store_pattern(p, unit.result, unit.word, pattern);
  });
}

/// The coordinates of the entries, mode by mode; a lane has a word and the first index of its
/// result block, the warp writes the entries of one word at a time.
__global__ void write_coordinates(const __grid_constant__ BlockProduct p,
                                  const __grid_constant__ ResultModes modes) {
  const unsigned lane = threadIdx.x % 32;
  const Count words = p.list.results << p.result_word_bits;
  const Count step = Count{gridDim.x} * kThreads;
  for (Count first = Count{blockIdx.x} * kThreads + threadIdx.x / 32 * 32; first < words;
       first += step) {
    const Count own = min(first + lane, words - 1), result = own >> p.result_word_bits;
    const std::uint64_t own_bits = first + lane < words ? p.bitmap[own] : 0;
    const Count own_start = p.word_start[own];
    const std::uint64_t key = p.list.keys[p.list.result_first[result]];
    const Count row = key >> p.list.column_bits;
    const Count column = key & ((std::uint64_t{1} << p.list.column_bits) - 1);
    const auto own_cell = static_cast<unsigned>(own - (result << p.result_word_bits)) * 64;
    const unsigned filled = __ballot_sync(kWholeWarp, own_bits != 0);
    for (int k = 0; k < modes.order; ++k) {
      const ResultMode& m = modes.mode[k];
      const Index own_origin = m.origin[m.from_x ? row : column];
      for (unsigned left = filled; left != 0; left &= left - 1) {
        const int from = __ffs(static_cast<int>(left)) - 1;
        const Strip<Count> line{__shfl_sync(kWholeWarp, own_bits, from),
                                __shfl_sync(kWholeWarp, own_start, from)};
        const unsigned cell0 = __shfl_sync(kWholeWarp, own_cell, from);
        const Index origin = __shfl_sync(kWholeWarp, own_origin, from);
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
          const unsigned bit = lane + 32 * half, cell = cell0 + bit;
          const unsigned free = m.from_x ? cell >> p.column_bits : cell & (p.columns - 1);
          if (line.has(bit)) m.out[line.place(bit)] = origin | (free >> m.shift & m.mask);
        }
      }
    }
  }
}

}  // namespace kernels

namespace {

/// Parts of a chunk from which a warp finds its pattern: eight lanes of it are busy then.
constexpr Count kPartsOfWarp = 8;

class BlockPath : public Path {
 public:
  BlockPath(const Problem& problem, const Params& params, DeviceBcb x_blocks, DeviceBcb y_blocks,
            const Room& room)
      : room_(room),
        arithmetic_(arithmetic_of(params)),
        on_tensor_cores_(params.word("cores") == "tensor"),
        modes_(contraction_of(problem)),
        x_(std::move(x_blocks)),
        y_(std::move(y_blocks)),
        x_operands_(operands_of(x_, arithmetic_)),
        y_operands_(operands_of(y_, arithmetic_)),
        tasks_(x_, y_, {params.flag("intersect"), params.word("tasks") == "sorted"}, room),
        x_origins_(origins_of(x_, tasks_.rows(), true)),
        y_origins_(origins_of(y_, tasks_.columns(), false)),
        mmas_(1) {
    result_.dims = modes_.result_dims(problem.x().dims, problem.y().dims);
    product_.rows = 1u << x_.grid.leading_bits();
    product_.contracted = 1u << x_.grid.trailing_bits();
    product_.columns = 1u << y_.grid.trailing_bits();
    product_.column_bits = y_.grid.trailing_bits();
    product_.row_tile_bits = log2_of_parts(product_.rows, kTileRows);
    product_.column_tile_bits = log2_of_parts(product_.columns, kTileColumns);
    product_.result_word_bits = log2_of_parts(product_.rows * product_.columns, 64);
    product_.alpha = static_cast<float>(problem.spec().alpha);
    product_.x = bits_of_blocks(x_);
    product_.y = bits_of_blocks(y_);
    product_.x_values = values_of(x_, x_operands_);
    product_.y_values = values_of(y_, y_operands_);
    product_.mmas = mmas_.data();
  }

  void make_tasks(cudaStream_t stream) override {
    tasks_.build(stream);
    tasks_.make_chunks(Count{1} << (product_.row_tile_bits + product_.column_tile_bits), stream);
  }

  void find_pattern(cudaStream_t stream) override {
    const Count words = result_words();
    product_.is_split = tasks_.chunks() > tasks_.results();
    if (!has_room_)
      room_.require("bitmaps of the result", words, sizeof(std::uint64_t) + sizeof(Count));
    ensure_size(bitmap_, words);
    if (words > 0) {
      if (product_.is_split) bitmap_.zero(stream);
      product_.list = tasks_.view();
      product_.bitmap = bitmap_.data();
      const Count units = tasks_.chunks() << product_.result_word_bits;
      if (!product_.are_cubes() &&
          tasks_.tasks() * product_.pattern_parts() >= kPartsOfWarp * tasks_.chunks())
        RETENSOR_CUDA_LAUNCH(kernels::find_pattern_by_warps, grid_for(32 * units), kThreads, 0,
                             stream, product_);
      else
        RETENSOR_CUDA_LAUNCH(kernels::find_pattern, grid_for(units), kThreads, 0, stream, product_);
      cub_.sums(words, kernels::PopCount{bitmap_.data()}, word_start_, stream);
      product_.word_start = word_start_.data();
    }
    if (has_room_) return;
    result_.make_room(words == 0 ? 0 : element_at(word_start_, words), room_);
    product_.values = result_.values.data();
    set_modes();
    has_room_ = true;
  }

  void multiply(cudaStream_t stream) override {
    if (result_.entries == 0) return;
    if (product_.is_split) result_.values.zero(stream);
    switch (arithmetic_) {
      case Arithmetic::fp16:
        return launch<Arithmetic::fp16>(stream);
      case Arithmetic::bf16:
        return launch<Arithmetic::bf16>(stream);
      case Arithmetic::tf32:
        return launch<Arithmetic::tf32>(stream);
      case Arithmetic::split_fp16:
        return launch<Arithmetic::split_fp16>(stream);
    }
  }

  void write_coordinates(cudaStream_t stream) override {
    if (result_.entries == 0) return;
    RETENSOR_CUDA_LAUNCH(kernels::write_coordinates, grid_for(result_words()), kThreads, 0, stream,
                         product_, modes_out_);
  }

  Executed facts() override {
    const TaskCounts counts{tasks_.pairs(), tasks_.tasks(), tasks_.results()};
    Executed facts = shared_facts(stored(x_), stored(y_), modes_, counts, arithmetic_);
    facts["chunks"] = std::to_string(tasks_.chunks());
    facts["chunk_tasks"] = std::to_string(tasks_.chunk_tasks());
    facts["mma_16x8x8"] =
        std::to_string(static_cast<Count>(products_of(arithmetic_)) * count_mmas());
    return facts;
  }

  Count format_bytes() const override { return x_.bytes() + y_.bytes(); }
  Count work_bytes() const override {
    return tasks_.bytes() + x_operands_.bytes() + y_operands_.bytes() + x_origins_.bytes() +
           y_origins_.bytes() + bitmap_.bytes() + word_start_.bytes() + cub_.bytes();
  }

 private:
  static StoredFormat stored(const DeviceBcb& bcb) {
    return {bcb.grid, bcb.options.values, bcb.blocks, bcb.nnz, bcb.bytes()};
  }
  static BlockBits bits_of_blocks(const DeviceBcb& bcb) {
    return {bcb.bitmap.data(), bcb.word_start.data(),
            static_cast<unsigned>(bcb.grid.bitmap_words())};
  }
  static const void* values_of(const DeviceBcb& bcb, const Buffer<std::byte>& operands) {
    return operands.size() > 0 ? operands.data() : bcb.values.data();
  }

  /// log2 of so many cells, a power of two, over the cells of a part; 0 where a part has more.
  static int log2_of_parts(unsigned cells, unsigned part) {
    return cells <= part ? 0 : std::countr_zero(cells / part);
  }
  Count result_words() const { return tasks_.results() << product_.result_word_bits; }

  bool are_words() const {
    return std::max({product_.rows, product_.contracted, product_.columns}) <= 8;
  }

  template <Arithmetic kArithmetic>
  void launch(cudaStream_t stream) {
    if (!on_tensor_cores_)
      launch(product_.columns <= 8 ? kernels::multiply<CellProduct<kArithmetic, 8>, false>
                                   : kernels::multiply<CellProduct<kArithmetic, 64>, false>,
             stream);
    else if (are_words())
      RETENSOR_CUDA_LAUNCH(kernels::multiply_words<kArithmetic>,
                           device::blocks_for(tasks_.chunks(), kThreads / 32 * kChunksOfWarp),
                           kThreads, 0, stream, product_);
    else if (product_.are_long())
      launch(kernels::multiply_long<kArithmetic, false>, stream);
    else if (product_.columns <= 8)
      launch(kernels::multiply<TileProduct<kArithmetic, 1>, false>, stream);
    else
      launch(kernels::multiply<TileProduct<kArithmetic, 8>, false>, stream);
  }
  void launch(void (*kernel)(BlockProduct), cudaStream_t stream) {
    const Count warps = tasks_.chunks() << (product_.row_tile_bits + product_.column_tile_bits);
    RETENSOR_CUDA_LAUNCH(kernel, device::blocks_for(warps, kThreads / 32), kThreads, 0, stream,
                         product_);
  }

  Count count_mmas() {
    if (result_.entries == 0 || !on_tensor_cores_) return 0;
    if (are_words()) return tasks_.tasks();
    mmas_.zero(nullptr);
    if (product_.are_long())
      launch(kernels::multiply_long<Arithmetic::fp16, true>, nullptr);
    else if (product_.columns <= 8)
      launch(kernels::multiply<TileProduct<Arithmetic::fp16, 1>, true>, nullptr);
    else
      launch(kernels::multiply<TileProduct<Arithmetic::fp16, 8>, true>, nullptr);
    return element_at(mmas_, 0);
  }

  void set_modes() {
    modes_out_.order = static_cast<int>(modes_.result.size());
    for (int k = 0; k < modes_out_.order; ++k)
      modes_out_.mode[k] = result_mode(modes_.result[static_cast<std::size_t>(k)],
                                       result_.indices[static_cast<std::size_t>(k)].data());
  }

  ResultMode result_mode(Contraction::Source source, Index* out) const {
    const Grid& grid = (source.from_x ? x_ : y_).grid;
    const auto& listed = grid.modes();
    const auto place = static_cast<int>(std::ranges::find(listed, source.mode) - listed.begin());
    const int first = source.from_x ? 0 : grid.leading();
    const Count parts = source.from_x ? tasks_.rows().count : tasks_.columns().count;
    const Index* const origins = (source.from_x ? x_origins_ : y_origins_).data();
    const int width = grid.cell_index().width(place);
    // A free cell of x is the leading part of a cell's number.
    const int below = source.from_x ? grid.trailing_bits() : 0;
    return {source.from_x, origins + static_cast<Count>(place - first) * parts,
            width == 0 ? 0 : grid.cell_index().shift(place) - below, (Index{1} << width) - 1, out};
  }

  const Room room_;
  const Arithmetic arithmetic_;
  const bool on_tensor_cores_;
  const Contraction modes_;
  const DeviceBcb x_, y_;
  const Buffer<std::byte> x_operands_, y_operands_;  // where values are not stored so
  DeviceTaskList tasks_;
  const Buffer<Index> x_origins_, y_origins_;
  Cub cub_;
  Buffer<std::uint64_t> bitmap_;  // of the result
  Buffer<Count> word_start_;
  Buffer<unsigned long long> mmas_;
  BlockProduct product_{};
  ResultModes modes_out_{};
  bool has_room_ = false;
};

}  // namespace

std::unique_ptr<Path> make_block_path(const Problem& problem, const Params& params, DeviceBcb x,
                                      DeviceBcb y, const Room& room) {
  if (params.word("index") == "coordinates")
    for (DeviceBcb* operand : {&x, &y}) unpack_index(*operand);
  return std::make_unique<BlockPath>(problem, params, std::move(x), std::move(y), room);
}

}  // namespace retensor::bcb_sptc
