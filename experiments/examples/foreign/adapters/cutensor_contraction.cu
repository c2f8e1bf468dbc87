/* The block-sparse contraction of cuTENSOR 2 for ReTensor:
 *
 *       nvcc -O2 -std=c++17 -shared -Xcompiler -fPIC -I INCLUDE -I CUTENSOR/include \
 *         cutensor_contraction.cu -o libcutensor_contraction.so -L CUTENSOR/lib -lcutensor
 *
 *       methods: [{id: cutensor_blocks.cuda, library: ./libcutensor_contraction.so,
 *                  params: {edge: 16}}]
 *
 * A block that holds a nonzero is stored densely; `edge` is its length in every mode. The result
 * has the blocks that a pair of blocks adds to. cuTENSOR takes the addresses of blocks from host
 * memory, in each run anew. */
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cutensor_plan.cuh"

namespace {

constexpr std::size_t kMostModes = 8;
using Coordinates = std::array<std::uint64_t, kMostModes>;

/// The grid that cuts a tensor into blocks, by the letters of its modes.
struct Grid {
  Grid(std::string_view letters, const std::uint64_t* lengths, std::uint64_t block_edge)
      : modes(letters), edge(block_edge) {
    std::copy_n(lengths, modes.size(), dims.begin());
  }
  std::uint64_t sections(std::size_t m) const { return (dims[m] + edge - 1) / edge; }
  std::uint64_t length(std::size_t m, std::uint64_t section) const {
    return std::min(edge, dims[m] - section * edge);
  }
  std::uint64_t cells(const Coordinates& block) const {
    std::uint64_t cells = 1;
    for (std::size_t m = 0; m < modes.size(); ++m) cells *= length(m, block[m]);
    return cells;
  }
  Coordinates block_of(const std::uint32_t* const* indices, std::uint64_t x) const {
    Coordinates block{};
    for (std::size_t m = 0; m < modes.size(); ++m) block[m] = indices[m][x] / edge;
    return block;
  }

  std::string_view modes;
  Coordinates dims{};
  std::uint64_t edge;
};

/// The blocks that are stored, ascending, one behind the other and each column-major.
class Blocks {
 public:
  Blocks(const Grid& grid, std::vector<Coordinates> stored) : grid_(grid), at_(std::move(stored)) {
    std::sort(at_.begin(), at_.end());
    at_.erase(std::unique(at_.begin(), at_.end()), at_.end());
    for (const auto& block : at_) first_.push_back(first_.back() + grid_.cells(block));
  }
  Blocks(const Grid& grid, const std::uint32_t* const* indices, std::uint64_t nnz)
      : Blocks(grid, blocks_of(grid, indices, nnz)) {}

  /// Where the value of each nonzero lies.
  std::vector<std::uint64_t> places(const std::uint32_t* const* indices, std::uint64_t nnz) const {
    std::vector<std::uint64_t> places(nnz);
    std::size_t found = 0;
    for (std::uint64_t x = 0; x < nnz; ++x) {
      const auto block = grid_.block_of(indices, x);
      if (at_[found] != block)
        found =
            static_cast<std::size_t>(std::lower_bound(at_.begin(), at_.end(), block) - at_.begin());
      std::uint64_t place = first_[found], stride = 1;
      for (std::size_t m = 0; m < grid_.modes.size(); ++m) {
        place += indices[m][x] % grid_.edge * stride;
        stride *= grid_.length(m, block[m]);
      }
      places[x] = place;
    }
    return places;
  }

  /// The coordinates of all cells that are stored.
  void write_indices(std::uint32_t* const* indices) const {
    std::uint64_t place = 0;
    for (const auto& block : at_)
      for (std::uint64_t c = 0, n = grid_.cells(block); c < n; ++c, ++place) {
        std::uint64_t rest = c;
        for (std::size_t m = 0; m < grid_.modes.size(); ++m) {
          const auto length = grid_.length(m, block[m]);
          indices[m][place] = static_cast<std::uint32_t>(block[m] * grid_.edge + rest % length);
          rest /= length;
        }
      }
  }

  std::vector<void*> addresses(float* values) const {
    std::vector<void*> all(at_.size());
    for (std::size_t b = 0; b < all.size(); ++b) all[b] = values + first_[b];
    return all;
  }

  const Grid& grid() const { return grid_; }
  const std::vector<Coordinates>& all() const { return at_; }
  std::uint64_t size() const { return first_.back(); }

 private:
  /// Once where neighbours have the same.
  static std::vector<Coordinates> blocks_of(const Grid& grid, const std::uint32_t* const* indices,
                                            std::uint64_t nnz) {
    std::vector<Coordinates> blocks;
    for (std::uint64_t x = 0; x < nnz; ++x)
      if (const auto block = grid.block_of(indices, x); blocks.empty() || blocks.back() != block)
        blocks.push_back(block);
    return blocks;
  }

  Grid grid_;
  std::vector<Coordinates> at_;
  std::vector<std::uint64_t> first_{0};
};

/// The blocks of the result: for each pair of blocks that agree in the contracted modes one.
Blocks product(const Grid& result, const Blocks& x, const Blocks& y) {
  const auto of = [](const Blocks& tensor, const Coordinates& block, std::string_view modes) {
    Coordinates part{};
    for (std::size_t k = 0; k < modes.size(); ++k)
      if (const auto m = tensor.grid().modes.find(modes[k]); m != std::string_view::npos)
        part[k] = block[m];
    return part;
  };
  std::string contracted;
  for (const char mode : x.grid().modes)
    if (result.modes.find(mode) == std::string_view::npos) contracted += mode;
  std::map<Coordinates, std::vector<Coordinates>> partners;
  for (const auto& b : y.all()) partners[of(y, b, contracted)].push_back(of(y, b, result.modes));
  std::vector<Coordinates> found;
  for (const auto& a : x.all()) {
    const auto mine = of(x, a, result.modes);
    for (const auto& theirs : partners[of(x, a, contracted)]) {
      auto& block = found.emplace_back(mine);
      for (std::size_t k = 0; k < kMostModes; ++k) block[k] += theirs[k];
    }
  }
  return {result, std::move(found)};
}

__global__ void scatter(std::uint64_t n, const std::uint64_t* places, const float* from,
                        float* to) {
  const std::uint64_t x = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (x < n) to[places[x]] = from[x];
}

}  // namespace

class CuTensorBlocks {
 public:
  explicit CuTensorBlocks(const retensor_method_problem& problem) : p_(problem) {
    adapter::expect(p_, "contraction", sizeof(float));
    const std::string_view einsum = p_.variant;
    const auto comma = einsum.find(','), arrow = einsum.find("->");
    x_modes_ = einsum.substr(0, comma), y_modes_ = einsum.substr(comma + 1, arrow - comma - 1);
    result_modes_ = einsum.substr(arrow + 2);
    if (std::max({x_modes_.size(), y_modes_.size(), result_modes_.size()}) > kMostModes)
      throw adapter::Unsupported("takes at most 8 modes");
    if (const char* const given = std::strstr(p_.params, "\"edge\":"))
      edge_ = std::strtoull(given + std::strlen("\"edge\":"), nullptr, 10);
    if (edge_ == 0) throw adapter::Unsupported("expects an edge of 1 or more");
  }

  std::uint64_t prepare() {
    const auto& second = *p_.second;
    const Blocks x({x_modes_, p_.dims, edge_}, p_.indices, p_.nnz);
    const Blocks y({y_modes_, second.dims, edge_}, second.indices, second.nnz);
    result_blocks_.emplace(product({result_modes_, p_.result_dims, edge_}, x, y));
    y_values_ = zeros(y), values_ = zeros(*result_blocks_);
    std::vector<float> stored(x.size());
    const auto places = x.places(p_.indices, p_.nnz);
    for (std::uint64_t n = 0; n < p_.nnz; ++n)
      stored[places[n]] = static_cast<const float*>(p_.values)[n];
    x_values_ = adapter::DeviceArray<float>(stored);
    y_places_ = adapter::DeviceArray<std::uint64_t>(y.places(second.indices, second.nnz));
    x_at_ = x.addresses(x_values_.data()), y_at_ = y.addresses(y_values_.data());
    result_at_ = result_blocks_->addresses(values_.data());
    plan(x, y);
    return x_values_.bytes() + y_values_.bytes();
  }

  /// Lays out the values of Y, which the program's own methods do when they prepare.
  void operands(const void* const* data) {
    constexpr unsigned kThreads = 256;
    const auto n = p_.second->nnz;
    if (n == 0) return;
    scatter<<<static_cast<unsigned>((n + kThreads - 1) / kThreads), kThreads>>>(
        n, y_places_.data(), static_cast<const float*>(data[0]), y_values_.data());
    adapter::expect_cuda(cudaDeviceSynchronize(), "scatter");
  }

  void run(void* stream) {
    const auto alpha = static_cast<float>(p_.alpha), zero = 0.F;
    expect(cutensorBlockSparseContract(handle_, plan_, &alpha, x_at_.data(), y_at_.data(), &zero,
                                       result_at_.data(), result_at_.data(), work_.data(),
                                       work_.bytes(), static_cast<cudaStream_t>(stream)),
           "cutensorBlockSparseContract");
  }

  std::uint64_t entries(std::uint32_t* const* indices, void* values) const {
    if (indices != nullptr) {
      result_blocks_->write_indices(indices);
      values_.copy_to(values);
    }
    return result_blocks_->size();
  }

 private:
  static void expect(cutensorStatus_t status, const char* call) {
    adapter::expect_done(status, call, CUTENSOR_STATUS_SUCCESS);
  }
  static adapter::DeviceArray<float> zeros(const Blocks& blocks) {
    return adapter::DeviceArray<float>(std::vector<float>(blocks.size()));
  }

  cutensorBlockSparseTensorDescriptor_t descriptor(const Blocks& blocks) const {
    const Grid& grid = blocks.grid();
    std::vector<std::uint32_t> sections;
    std::vector<std::int64_t> lengths;
    std::vector<std::int32_t> coordinates;
    for (std::size_t m = 0; m < grid.modes.size(); ++m) {
      sections.push_back(static_cast<std::uint32_t>(grid.sections(m)));
      for (std::uint64_t s = 0; s < grid.sections(m); ++s)
        lengths.push_back(static_cast<std::int64_t>(grid.length(m, s)));
    }
    for (const auto& block : blocks.all())
      for (std::size_t m = 0; m < grid.modes.size(); ++m)
        coordinates.push_back(static_cast<std::int32_t>(block[m]));
    cutensorBlockSparseTensorDescriptor_t made{};
    expect(cutensorCreateBlockSparseTensorDescriptor(
               handle_, &made, static_cast<std::uint32_t>(grid.modes.size()), blocks.all().size(),
               sections.data(), lengths.data(), coordinates.data(), nullptr, CUDA_R_32F),
           "cutensorCreateBlockSparseTensorDescriptor");
    return made;
  }

  void plan(const Blocks& x, const Blocks& y) {
    expect(cutensorCreate(&handle_), "cutensorCreate");
    const auto a = descriptor(x), b = descriptor(y), c = descriptor(*result_blocks_);
    const auto letters = [](std::string_view modes) {
      return std::vector<std::int32_t>(modes.begin(), modes.end());
    };
    const auto of_a = letters(x_modes_), of_b = letters(y_modes_), of_c = letters(result_modes_);
    cutensorOperationDescriptor_t operation{};
    expect(cutensorCreateBlockSparseContraction(
               handle_, &operation, a, of_a.data(), CUTENSOR_OP_IDENTITY, b, of_b.data(),
               CUTENSOR_OP_IDENTITY, c, of_c.data(), CUTENSOR_OP_IDENTITY, c, of_c.data(),
               CUTENSOR_COMPUTE_DESC_32F),
           "cutensorCreateBlockSparseContraction");
    work_ = adapter::make_plan(handle_, operation, plan_);
  }

  const retensor_method_problem& p_;
  std::string_view x_modes_, y_modes_, result_modes_;
  std::uint64_t edge_ = 16;
  cutensorHandle_t handle_{};
  cutensorPlan_t plan_{};
  std::optional<Blocks> result_blocks_;
  adapter::DeviceArray<float> x_values_, y_values_, values_;
  adapter::DeviceArray<std::uint64_t> y_places_;
  adapter::DeviceArray<char> work_;
  std::vector<void*> x_at_, y_at_, result_at_;
};

RETENSOR_SPARSE_ADAPTER(CuTensorBlocks)
