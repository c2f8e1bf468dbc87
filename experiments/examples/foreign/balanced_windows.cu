/* Sparse times dense matrix in row windows, as FlashSparse (Shi et al., PPoPP 2025) has it, in a
 * form of its own behind retensor_method.h: which of its two ways to share work gives which result.
 *
 *     nvcc -O3 -arch=sm_90 -shared -Xcompiler -fPIC -I INCLUDE balanced_windows.cu -o libwindows.so
 *     retensor run balanced_windows.yaml --allow-foreign
 *
 * Eight rows are a window. Its columns that have a nonzero are packed into blocks of four, 8 x 4
 * values each. A block is the right operand of m16n8k4 in TF32, sixteen columns of the dense
 * matrix are the left one: the product is the transposed tile (section 4.1, swap and transpose).
 *
 * params  part: blocks that a warp does (0: all of a window, the variant 8x1; 32: 8x1_balance)
 *         zero: how often a run zeroes the output before (0: only prepare does)
 *
 * Windows of more blocks than a part are shared by several warps, which add to the output with
 * atomics; others are stored. */
#include <algorithm>
#include <cstdlib>
#include <map>

#include "adapters/adapter_cuda.cuh"

namespace {

constexpr int kRows = 8, kDepth = 4, kLanes = 32, kColumns = 16, kWarps = 4;

struct Part {
  int window, first, last;
  int shared;  ///< with other parts of its window
};

__device__ unsigned tf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

/* A warp for a part and sixteen columns of the dense matrix. Lane 4 g + t holds of a block the
 * value of row g and depth t, of the tile columns g and g + 8, rows 2 t and 2 t + 1. */
__global__ void multiply(const Part* parts, const int* columns, const float* values,
                         const float* dense, float* out, int rows, int width) {
  const int lane = threadIdx.x % kLanes, g = lane / kDepth, t = lane % kDepth;
  const int first_column = (blockIdx.y * kWarps + threadIdx.x / kLanes) * kColumns;
  if (first_column >= width) return;
  const Part part = parts[blockIdx.x];
  float tile[4] = {0, 0, 0, 0};
  for (int block = part.first; block < part.last; ++block) {
    const float* from = dense + std::int64_t{columns[block * kDepth + t]} * width;
    const int low = first_column + g, high = low + 8;
    const unsigned a0 = tf32(low < width ? from[low] : 0);
    const unsigned a1 = tf32(high < width ? from[high] : 0);
    const unsigned b = tf32(values[block * kLanes + lane]);
    asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(tile[0]), "+f"(tile[1]), "+f"(tile[2]), "+f"(tile[3])
        : "r"(a0), "r"(a1), "r"(b));
  }
  for (int k = 0; k < 4; ++k) {
    const int row = part.window * kRows + 2 * t + k % 2, column = first_column + g + 8 * (k / 2);
    if (row >= rows || column >= width) continue;
    float* to = out + std::int64_t{row} * width + column;
    if (part.shared != 0)
      atomicAdd(to, tile[k]);
    else
      *to = tile[k];
  }
}

int number_in(const char* params, const char* name) {
  const char* at = std::strstr(params, name);
  return at == nullptr ? 0 : std::atoi(at + std::strlen(name));
}

class Windows {
 public:
  explicit Windows(const retensor_method_problem& problem) : p_(problem) {
    adapter::expect(p_, "spmm", sizeof(float));
    part_ = number_in(p_.params, "\"part\":");
    zero_ = number_in(p_.params, "\"zero\":");
  }

  std::uint64_t prepare() {
    const auto csr = adapter::csr_of(p_);
    const int rows = static_cast<int>(p_.dims[0]);
    for (int window = 0; window * kRows < rows; ++window) add_window(csr, window, rows);
    parts_ = adapter::DeviceArray<Part>(part_list_);
    columns_ = adapter::DeviceArray<int>(column_list_);
    values_ = adapter::DeviceArray<float>(value_list_);
    result_ = adapter::DeviceArray<float>(p_.result.rows * p_.result.columns);
    adapter::expect_cuda(cudaMemset(result_.data(), 0, result_.bytes()), "cudaMemset");
    return parts_.bytes() + columns_.bytes() + values_.bytes();
  }
  void operands(const void* const* data) { dense_ = static_cast<const float*>(data[0]); }
  void run(void* stream) {
    const auto on = static_cast<cudaStream_t>(stream);
    for (int k = 0; k < zero_; ++k) cudaMemsetAsync(result_.data(), 0, result_.bytes(), on);
    const int width = static_cast<int>(p_.rank);
    const dim3 grid(part_list_.size(), (width + kWarps * kColumns - 1) / (kWarps * kColumns));
    multiply<<<grid, kWarps * kLanes, 0, on>>>(parts_.data(), columns_.data(), values_.data(),
                                               dense_, result_.data(), static_cast<int>(p_.dims[0]),
                                               width);
    adapter::expect_cuda(cudaGetLastError(), "multiply");
  }
  void result(void* data) const { result_.copy_to(data); }

 private:
  /// Appends the blocks of a window and its parts; one without a nonzero has a part without blocks.
  void add_window(const adapter::Csr& csr, int window, int rows) {
    const int begin = window * kRows, end = std::min(begin + kRows, rows);
    std::map<int, int> places;  // of the columns that have a nonzero
    for (int x = csr.starts[begin]; x < csr.starts[end]; ++x) places[csr.columns[x]];
    int count = 0;
    for (auto& [column, place] : places) place = count++;
    const int first = static_cast<int>(column_list_.size()) / kDepth;
    const int blocks = (count + kDepth - 1) / kDepth;
    column_list_.resize(column_list_.size() + blocks * kDepth);
    value_list_.resize(value_list_.size() + blocks * kLanes);
    for (const auto& [column, place] : places) column_list_[first * kDepth + place] = column;
    for (int row = begin; row < end; ++row)
      for (int x = csr.starts[row]; x < csr.starts[row + 1]; ++x) {
        const int place = places[csr.columns[x]];
        value_list_[(first + place / kDepth) * kLanes + (row - begin) * kDepth + place % kDepth] =
            csr.values[x];
      }
    const int each = part_ > 0 ? part_ : std::max(blocks, 1);
    for (int block = 0; block == 0 || block < blocks; block += each)
      part_list_.push_back({window, first + block, first + std::min(block + each, blocks),
                            static_cast<int>(blocks > each)});
  }

  const retensor_method_problem& p_;
  int part_ = 0, zero_ = 0;
  std::vector<Part> part_list_;
  std::vector<int> column_list_;
  std::vector<float> value_list_;
  adapter::DeviceArray<Part> parts_;
  adapter::DeviceArray<int> columns_;
  adapter::DeviceArray<float> values_, result_;
  const float* dense_ = nullptr;
};

}  // namespace

RETENSOR_ADAPTER(Windows)
