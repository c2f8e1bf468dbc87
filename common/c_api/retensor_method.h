/* The interface by which a shared library offers a method to ReTensor. ReTensor loads the library
 * into a worker process, checks the results of its runs and times them:
 *
 *     methods: [{library: ./libmine.so}]          in a spec
 *     retensor bench TENSOR --library ./libmine.so
 *
 * The library defines the functions below; nothing of ReTensor is linked to it. ReTensor calls them
 * from one thread in this order: api, create, prepare, then repeatedly operands, run and result,
 * and finally destroy. If the operation has a sparse result, the library defines `entries` instead
 * of `result`. A function returns RETENSOR_METHOD_OK. Otherwise it writes the reason to `reason`, a
 * text of at most RETENSOR_METHOD_REASON bytes including its end, and returns another status. A
 * status other than OK, a crash or an endless run costs only the row of its case.
 *
 * RETENSOR_METHOD_API grows by one when something here changes its meaning or is removed. New
 * members are added at the end of retensor_method_problem. Its `size` tells which of them exist.
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
  RETENSOR_METHOD_UNSUPPORTED = 1, /* the method does not support this problem */
  RETENSOR_METHOD_MEMORY = 2,      /* not enough host or device memory */
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
 * not change. A sparse result has each coordinate at most once, in any order; it may have zeros.
 * ts combines only the nonzeros of X. */
typedef struct retensor_method_problem {
  size_t size; /* sizeof(retensor_method_problem) of the program */
  const char* operation;
  const char* params;   /* the parameters of the spec as a JSON object, "{}" if there are none */
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

/* What the preparation made: bytes of the method's own format, and the peak of device memory. */
typedef struct retensor_method_footprint {
  uint64_t format_bytes, device_bytes;
} retensor_method_footprint;

/* The RETENSOR_METHOD_API with which the library was compiled. */
RETENSOR_METHOD_EXPORT int32_t retensor_method_api(void);

/* Whether the method supports the problem. `state` is passed to the functions below. */
RETENSOR_METHOD_EXPORT retensor_method_status
retensor_method_create(const retensor_method_problem* problem, void** state, char* reason);

/* Makes the method's own format and allocates all memory that runs need. Timed separately. */
RETENSOR_METHOD_EXPORT retensor_method_status
retensor_method_prepare(void* state, retensor_method_footprint* footprint, char* reason);

/* Receives the values of the operands for the runs that follow: data[i] is a matrix of shape
 * operands[i], valid until the next call. Not timed, so it must compute nothing. Pointers are to
 * host memory, or to memory of the current GPU if the method's id says cuda. */
RETENSOR_METHOD_EXPORT retensor_method_status retensor_method_operands(void* state,
                                                                       const void* const* data,
                                                                       char* reason);

/* One run, which overwrites the method's result; this is the timed part. A method whose id says
 * cuda puts its work on `stream`, a cudaStream_t, and need not wait for it; else it is NULL. */
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

/* Frees everything; not called if create failed. */
RETENSOR_METHOD_EXPORT void retensor_method_destroy(void* state);

#ifdef __cplusplus
}
#endif

#endif
