// MTTKRP on a GPU behind retensor_method.h: a thread for each nonzero and column, with atomics.
//
//     nvcc -O3 -shared -Xcompiler -fPIC -I INCLUDE mttkrp_library.cu -o libmine.so
//
// and in a spec `methods: [{id: mine.cuda, library: ./libmine.so}]`: the id says that the method
// runs on the device. INCLUDE is the folder of retensor_method.h.
#include <cstdio>
#include <cstring>

#include <retensor_method.h>

namespace {

constexpr int kMostModes = 8;

/// What a kernel reads; pointers to device memory.
struct View {
  const uint32_t* indices[kMostModes];
  const float* factors[kMostModes];
  const float* values;
  float* result;
  uint64_t nnz, rank;
  int order, mode;
};

struct State {
  const retensor_method_problem* problem;
  View view;
};

__global__ void mttkrp(View v) {
  const uint64_t items = v.nnz * v.rank;
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < items; i += step) {
    const uint64_t x = i / v.rank, r = i % v.rank;
    float product = v.values[x];
    for (int m = 0; m < v.order; ++m)
      if (m != v.mode) product *= v.factors[m][v.indices[m][x] * v.rank + r];
    atomicAdd(&v.result[v.indices[v.mode][x] * v.rank + r], product);
  }
}

retensor_method_status status_of(cudaError_t error, char* reason) {
  if (error == cudaSuccess) return RETENSOR_METHOD_OK;
  std::snprintf(reason, RETENSOR_METHOD_REASON, "%s", cudaGetErrorString(error));
  return error == cudaErrorMemoryAllocation ? RETENSOR_METHOD_MEMORY : RETENSOR_METHOD_FAILED;
}

template <class T>
cudaError_t copied(const T*& device, const void* host, uint64_t count) {
  void* block = nullptr;
  if (const auto error = cudaMalloc(&block, (count + 1) * sizeof(T)); error != cudaSuccess)
    return error;
  device = static_cast<const T*>(block);
  return cudaMemcpy(block, host, count * sizeof(T), cudaMemcpyHostToDevice);
}

uint64_t result_bytes(const State& s) {
  return s.problem->result.rows * s.problem->result.columns * sizeof(float);
}

}  // namespace

int32_t retensor_method_api(void) {
  return RETENSOR_METHOD_API;
}

retensor_method_status retensor_method_create(const retensor_method_problem* problem, void** state,
                                              char* reason) {
  if (std::strcmp(problem->operation, "mttkrp") != 0 || problem->value_bytes != sizeof(float)) {
    std::snprintf(reason, RETENSOR_METHOD_REASON, "solves only mttkrp of f32");
    return RETENSOR_METHOD_UNSUPPORTED;
  }
  *state = new State{problem, {}};
  return RETENSOR_METHOD_OK;
}

retensor_method_status retensor_method_prepare(void* state, retensor_method_footprint* footprint,
                                               char* reason) {
  auto& s = *static_cast<State*>(state);
  const auto& p = *s.problem;
  auto error = copied(s.view.values, p.values, p.nnz);
  for (int m = 0; m < p.order && error == cudaSuccess; ++m)
    error = copied(s.view.indices[m], p.indices[m], p.nnz);
  if (error == cudaSuccess)
    error = cudaMalloc(reinterpret_cast<void**>(&s.view.result), result_bytes(s));
  s.view.nnz = p.nnz;
  s.view.rank = p.rank;
  s.view.order = p.order;
  s.view.mode = p.mode;
  footprint->format_bytes = p.nnz * (sizeof(float) + p.order * sizeof(uint32_t));
  footprint->device_bytes = footprint->format_bytes + result_bytes(s);
  return status_of(error, reason);
}

retensor_method_status retensor_method_operands(void* state, const void* const* data, char*) {
  auto& s = *static_cast<State*>(state);
  for (int m = 0; m < s.view.order; ++m) s.view.factors[m] = static_cast<const float*>(data[m]);
  return RETENSOR_METHOD_OK;
}

retensor_method_status retensor_method_run(void* state, void* stream, char* reason) {
  auto& s = *static_cast<State*>(state);
  const auto on = static_cast<cudaStream_t>(stream);
  cudaMemsetAsync(s.view.result, 0, result_bytes(s), on);
  constexpr int kThreads = 256, kBlocks = 4096;
  if (s.view.nnz > 0) mttkrp<<<kBlocks, kThreads, 0, on>>>(s.view);
  return status_of(cudaGetLastError(), reason);
}

retensor_method_status retensor_method_result(void* state, void* data, char* reason) {
  auto& s = *static_cast<State*>(state);
  return status_of(cudaMemcpy(data, s.view.result, result_bytes(s), cudaMemcpyDeviceToHost),
                   reason);
}

void retensor_method_destroy(void* state) {
  auto* s = static_cast<State*>(state);
  for (const auto* index : s->view.indices) cudaFree(const_cast<uint32_t*>(index));
  cudaFree(const_cast<float*>(s->view.values));
  cudaFree(s->view.result);
  delete s;
}
