/* The interface behind which a shared library offers a method to ReTensor, which loads it into a
 * worker process, checks the result of its runs and takes their time:
 *
 *     methods: [{library: ./libmine.so}]          in a spec
 *     retensor bench TENSOR --library ./libmine.so
 *
 * The library defines the functions below and nothing of ReTensor is linked to it. They are
 * called from one thread, in this order: api, create, prepare, then again and again operands, run
 * and result, at last destroy. A method of an operation with a sparse result defines `entries` in
 * place of `result`. Functions that return a status return RETENSOR_METHOD_OK, or another
 * one after they have written why to `reason`, a text of at most RETENSOR_METHOD_REASON bytes with
 * its end. A status other than OK, a crash or a run without end costs the row of its case.
 *
 * RETENSOR_METHOD_API grows by one when something here changes its meaning or goes away. New
 * members are added at the end of retensor_method_problem, whose `size` tells which of them there
 * are.
 */
#ifndef RETENSOR_METHOD_H
#define RETENSOR_METHOD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RETENSOR_METHOD_API 1
#define RETENSOR_METHOD_REASON 256

#if defined(__GNUC__)
#define RETENSOR_METHOD_EXPORT __attribute__((visibility("default")))
#else
#define RETENSOR_METHOD_EXPORT
#endif

typedef enum retensor_method_status {
  RETENSOR_METHOD_OK = 0,
  RETENSOR_METHOD_UNSUPPORTED = 1, /* the method does not take this problem */
  RETENSOR_METHOD_MEMORY = 2,      /* host or device memory does not suffice */
  RETENSOR_METHOD_FAILED = 3
} retensor_method_status;

/* A dense matrix, row-major without gaps, of the problem's type. */
typedef struct retensor_method_shape {
  uint64_t rows, columns;
} retensor_method_shape;

/* A tensor in coordinates that count from 0, in no order and without duplicates. */
typedef struct retensor_method_tensor {
  const uint64_t* dims;           /* order mode lengths */
  const uint32_t* const* indices; /* indices[mode][nonzero] */
  uint64_t nnz;
  int32_t order;
} retensor_method_tensor;

/* One operation on one tensor X in coordinates that count from 0, in no order and without
 * duplicates. All pointers are to host memory and stay valid until destroy.
 *
 * operation    operands                               result
 * mttkrp       [m]: I_m x R for every mode m          I_mode x R
 * mttkrp_all   [m]: I_m x R for every mode m          sum I_m x R, mode 0 first
 * ttm_chain    [m]: I_m x R_m for every mode m        I_mode x prod R_m, the last mode fastest
 * spmm         [0]: K x N                             M x N
 * ttv          [0]: I_mode x 1                        sparse: the other modes
 * ttm          [0]: I_mode x R                        sparse: the other modes, R values each
 * ts           [0]: 1 x 1, a scalar s                 sparse: X + s, X - s, X s or X / s
 * tew          [0]: nonzeros of `second` x 1          sparse: X + Y, X - Y, X Y or X / Y
 * contraction  [0]: nonzeros of `second` x 1          sparse: the modes of the einsum
 *
 * The operand of tew and contraction holds the values of the second tensor Y, whose coordinates do
 * not change. A sparse result has each coordinate at most once, in any order; zeros may be there.
 * ts combines the nonzeros of X alone. */
typedef struct retensor_method_problem {
  size_t size; /* sizeof(retensor_method_problem) of the program */
  const char* operation;
  const char* params;   /* the parameters of the spec as a JSON object, "{}" where there are none */
  const uint64_t* dims; /* order mode lengths */
  const uint32_t* const* indices; /* indices[mode][nonzero] */
  const void* values;             /* nnz values */
  uint64_t nnz;
  uint64_t rank;
  const retensor_method_shape* operands; /* operand_count shapes */
  retensor_method_shape result;
  int32_t order;
  int32_t mode; /* of the result, from 0 */
  int32_t operand_count;
  int32_t value_bytes; /* 4: float, 8: double */
  const char* variant; /* ts, tew: add, sub, mul, div; contraction: an einsum such as abk,kcd->abcd */
  const retensor_method_tensor* second; /* tew, contraction; else NULL */
  double alpha;                         /* contraction: a factor of the result */
  const uint64_t* result_dims;          /* of a sparse result; result.columns values an entry */
  int32_t result_order;                 /* of a sparse result; 0: it is dense */
} retensor_method_problem;

/* What preparing made: bytes of the method's own format, and the most device memory. */
typedef struct retensor_method_footprint {
  uint64_t format_bytes, device_bytes;
} retensor_method_footprint;

/* RETENSOR_METHOD_API as the library was compiled. */
RETENSOR_METHOD_EXPORT int32_t retensor_method_api(void);

/* Whether the method takes the problem; what `state` becomes is handed to the functions below. */
RETENSOR_METHOD_EXPORT retensor_method_status
retensor_method_create(const retensor_method_problem* problem, void** state, char* reason);

/* Makes the method's own format, and all memory that runs need. Timed apart. */
RETENSOR_METHOD_EXPORT retensor_method_status
retensor_method_prepare(void* state, retensor_method_footprint* footprint, char* reason);

/* Takes over the values of the operands for the runs that follow: data[i] is a matrix of shape
 * operands[i], valid until the next call. Not timed, so it computes nothing. Pointers are to host
 * memory, of a method whose id says cuda to memory of the current GPU. */
RETENSOR_METHOD_EXPORT retensor_method_status retensor_method_operands(void* state,
                                                                       const void* const* data,
                                                                       char* reason);

/* One run, which overwrites the method's result; the timed part. A method whose id says cuda puts
 * its work on `stream`, a cudaStream_t, and need not wait for it; else `stream` is NULL. */
RETENSOR_METHOD_EXPORT retensor_method_status retensor_method_run(void* state, void* stream,
                                                                  char* reason);

/* Copies the dense result of the last run to host memory. */
RETENSOR_METHOD_EXPORT retensor_method_status retensor_method_result(void* state, void* data,
                                                                     char* reason);

/* The sparse result of the last run. Called twice: with `indices` and `values` NULL it says how many
 * entries there are; then it copies them to host memory, indices[mode][entry] and result.columns
 * values for each entry. */
RETENSOR_METHOD_EXPORT retensor_method_status retensor_method_entries(void* state, uint64_t* count,
                                                                      uint32_t* const* indices,
                                                                      void* values, char* reason);

/* Frees everything; not called where create failed. */
RETENSOR_METHOD_EXPORT void retensor_method_destroy(void* state);

#ifdef __cplusplus
}
#endif

#endif
