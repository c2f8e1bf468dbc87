// Functions that host code and CUDA kernels share.
#pragma once

/// Before an inline function: nvcc compiles it for both sides; elsewhere it says nothing.
#ifdef __CUDACC__
#define RETENSOR_HOST_DEVICE __host__ __device__
#else
#define RETENSOR_HOST_DEVICE
#endif
