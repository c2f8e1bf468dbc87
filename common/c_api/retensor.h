/* C interface of ReTensor: runs an operation on the caller's tensor by any method of the registry.
 *
 * Everything here is plain C99, so that any language with a foreign function interface can call it.
 * Tensors and matrices are views of the caller's host memory; nothing keeps them after a call.
 * If a function returns a retensor_status other than RETENSOR_OK, retensor_last_error() has a text.
 * They may be called from several threads; a result belongs to one thread at a time.
 *
 * RETENSOR_C_API grows by one when something here changes its meaning or is removed. New members
 * are added at the end of retensor_call. Its `size` tells the library which of them the caller
 * knows. New functions do not change the number.
 */
#ifndef RETENSOR_H
#define RETENSOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RETENSOR_C_API 1

#if defined(__GNUC__)
#define RETENSOR_EXPORT __attribute__((visibility("default")))
#else
#define RETENSOR_EXPORT
#endif

typedef enum retensor_status {
  RETENSOR_OK = 0,
  RETENSOR_INPUT = 1,   /* the input is wrong, or the method does not support the problem */
  RETENSOR_SYSTEM = 2,  /* a file can't be read or written */
  RETENSOR_MEMORY = 3,  /* not enough host or device memory */
  RETENSOR_DEVICE = 4,  /* there is no GPU, or a CUDA call failed */
  RETENSOR_INTERNAL = 5 /* a defect of this library */
} retensor_status;

typedef enum retensor_dtype {
  RETENSOR_F32 = 0,
  RETENSOR_F64 = 1,
  RETENSOR_U32 = 2,
  RETENSOR_U64 = 3,
  RETENSOR_OWN = 4 /* of retensor_read: the file's own */
} retensor_dtype;

/* A dense array in host memory, row-major without gaps; order 0 to 8. */
typedef struct retensor_array {
  const void* data;
  const uint64_t* shape;
  int32_t order;
  int32_t dtype; /* a retensor_dtype */
} retensor_array;

/* A sparse tensor of order 1 to 8 in coordinates that count from 0. Values at equal coordinates
 * are added. dtype: RETENSOR_F32 or RETENSOR_F64. */
typedef struct retensor_tensor {
  const uint64_t* dims;
  const uint32_t* const* indices; /* indices[mode][nonzero] */
  const void* values;
  uint64_t nnz;
  int32_t order;
  int32_t dtype;
} retensor_tensor;

/* One operation on one tensor. Unused members are zero.
 *
 * operation    dense operands, of x's dtype             result
 * tew          -                                        sparse; variant add, sub, mul, div; y
 * ts           -                                        sparse; variant add, sub, mul, div; scalar
 * ttv          [0]: I_mode x 1                          sparse, order N - 1
 * ttm          [0]: I_mode x R                          sparse, mode `mode` of length R
 * mttkrp       [m]: I_m x R for every mode m            "values": I_mode x R
 * mttkrp_all   [m]: I_m x R for every mode m            "values": sum I_m x R, mode 0 first
 * ttm_chain    [m]: I_m x R_m for every mode m; equal   "values": I_mode x prod R_m, the last mode
 *              R_m after the lowest multiplied mode     fastest
 * contraction  -                                        sparse; variant "abk,kcd->abcd"; y
 * spmm         [0]: K x N                               "values": M x N
 * cpd          [m]: first factors, I_m x R, or none     "weights", "factor0", ..., "fit" of
 *                                                       each sweep, "true_fit" of the model
 * tucker       [m]: first factors, I_m x R_m, or none   "core", "factor0", ..., "fit"
 *
 * The fit of a sweep comes from its last MTTKRP and shares its error; "true_fit" takes another pass
 * over the nonzeros in fp64. A sparse result has the arrays "dims", "index0", "index1", ... and "values". */
typedef struct retensor_call {
  size_t size; /* sizeof(retensor_call) */
  const char* operation;
  /* An id. "auto": the one that the planner expects to be fastest, after a trial of close ones.
   * NULL: one on the host that supports the problem, if possible with exact products. cpd, tucker:
   * also one that computes the MTTKRP or the TTM-chain. */
  const char* method;
  const char* params;  /* of the method, "name=value name=value"; NULL: its defaults */
  const char* variant; /* tew, ts, contraction */
  const retensor_tensor* x;
  const retensor_tensor* y;    /* tew, contraction */
  const retensor_array* dense; /* dense_count matrices */
  const uint64_t* ranks;       /* cpd: R; tucker: R_m of every mode; else from the operands */
  uint64_t seed;               /* cpd, tucker: of the first factors where none are given */
  double scalar;               /* ts */
  double tolerance;            /* cpd, tucker: smallest gain of the fit that continues */
  int32_t dense_count;
  int32_t rank_count;
  int32_t mode;       /* counts from 0 */
  int32_t max_sweeps; /* cpd, tucker: at least 1 */
  /* cpd, tucker: first factors, as `retensor cp --start` and `retensor tucker --start` name them;
   * NULL: their default */
  const char* start;
  const char* constraint; /* cpd: "none", "nonnegative"; NULL: none */
  const char* checkpoint; /* cpd: file from which an interrupted run continues; NULL: none */
  /* cpd: called with the fit after each sweep, counted from 1; NULL: none */
  void (*progress)(int32_t sweep, double fit);
} retensor_call;

/* Arrays with names. */
typedef struct retensor_result retensor_result;

/* RETENSOR_C_API of the library that was loaded. */
RETENSOR_EXPORT int32_t retensor_c_api(void);
RETENSOR_EXPORT const char* retensor_version(void);
/* What went wrong in the last call of this thread that returns a retensor_status; empty where
 * nothing did. */
RETENSOR_EXPORT const char* retensor_last_error(void);

/* Id and one-line summary of method i; NULL beyond the last. */
RETENSOR_EXPORT const char* retensor_method_id(int32_t i);
RETENSOR_EXPORT const char* retensor_method_summary(int32_t i);
/* Whether method i solves an operation; 0 beyond the last method. */
RETENSOR_EXPORT int32_t retensor_method_solves(int32_t i, const char* operation);

/* RETENSOR_OK if the call's method supports its problem on this machine; else RETENSOR_INPUT, or
 * RETENSOR_DEVICE where the method named needs a GPU that is not there. */
RETENSOR_EXPORT retensor_status retensor_supports(const retensor_call* call);
/* Prepares and runs the operation once. The caller has to free the result. */
RETENSOR_EXPORT retensor_status retensor_run(const retensor_call* call, retensor_result** result);

/* Reads a tensor file (.tns, .mtx, binary cache, each plain, gzip or zstd) as a sparse result. dtype:
 * RETENSOR_F32, RETENSOR_F64 or RETENSOR_OWN, which is that of a binary cache and else RETENSOR_F32. */
RETENSOR_EXPORT retensor_status retensor_read(const char* path, int32_t dtype,
                                              retensor_result** result);
/* Writes a file that retensor_read reads back: Matrix Market where the path ends with .mtx, a binary
 * cache where it ends with .tnsb, else text (.tns) with a header of order and mode lengths. Endings
 * of other formats (.npz, .gz, ...) are RETENSOR_INPUT. */
RETENSOR_EXPORT retensor_status retensor_write(const char* path, const retensor_tensor* tensor);

/* The arrays of a result, which live as long as it does; NULL beyond the last. */
RETENSOR_EXPORT const char* retensor_result_name(const retensor_result* result, int32_t i);
RETENSOR_EXPORT const retensor_array* retensor_result_array(const retensor_result* result,
                                                            int32_t i);
/* What ran, "method=... kernel=... threads=...", one name=value a line; empty for a file. */
RETENSOR_EXPORT const char* retensor_result_executed(const retensor_result* result);
RETENSOR_EXPORT void retensor_result_free(retensor_result* result);

/* Copies between memory of the current GPU and the host. RETENSOR_DEVICE in a build without CUDA.
 * Returns when the bytes have been copied. */
RETENSOR_EXPORT retensor_status retensor_from_device(void* host, const void* device, size_t bytes);
RETENSOR_EXPORT retensor_status retensor_to_device(void* device, const void* host, size_t bytes);
RETENSOR_EXPORT retensor_status retensor_device_allocate(size_t bytes, void** device);
RETENSOR_EXPORT void retensor_device_free(void* device);

#ifdef __cplusplus
}
#endif

#endif
