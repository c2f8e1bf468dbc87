/* MTTKRP of SPLATT behind retensor_method.h, for an installed SPLATT
 * (github.com/ShadenSmith/splatt):
 *
 *     cc -O2 -shared -fPIC -I INCLUDE -I PREFIX/include splatt_mttkrp.c -o libsplatt_mttkrp.so \
 *        -L PREFIX/lib -lsplatt -fopenmp -lm
 *     retensor bench TENSOR --type f64 --library ./libsplatt_mttkrp.so
 *
 * INCLUDE is the folder of retensor_method.h, PREFIX the one that SPLATT was installed in; its BLAS
 * and LAPACK may have to be named too. SPLATT's values are double unless it was configured
 * otherwise. SPLATT takes the mode lengths from the largest indices: the rows behind them stay
 * zero. */
#include <retensor_method.h>
#include <splatt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODES = 8 };

struct state {
  const retensor_method_problem* problem;
  double* options;
  splatt_csf* tensor;
  splatt_val_t* factors[MODES];
  splatt_val_t* result;
};

static retensor_method_status refuse(char* reason, retensor_method_status status,
                                     const char* text) {
  snprintf(reason, RETENSOR_METHOD_REASON, "%s", text);
  return status;
}

static retensor_method_status status_of(int code, const char* call, char* reason) {
  if (code == SPLATT_SUCCESS) return RETENSOR_METHOD_OK;
  snprintf(reason, RETENSOR_METHOD_REASON, "%s returned %d", call, code);
  return code == SPLATT_ERROR_NOMEMORY ? RETENSOR_METHOD_MEMORY : RETENSOR_METHOD_FAILED;
}

static size_t result_bytes(const struct state* s) {
  return s->problem->result.rows * s->problem->rank * sizeof(splatt_val_t);
}

int32_t retensor_method_api(void) {
  return RETENSOR_METHOD_API;
}

retensor_method_status retensor_method_create(const retensor_method_problem* problem, void** state,
                                              char* reason) {
  struct state* s;
  if (strcmp(problem->operation, "mttkrp") != 0)
    return refuse(reason, RETENSOR_METHOD_UNSUPPORTED, "solves only mttkrp");
  if (problem->value_bytes != sizeof(splatt_val_t))
    return refuse(reason, RETENSOR_METHOD_UNSUPPORTED,
                  "this SPLATT was configured for values of the other type");
  if (problem->order < 3 || problem->nnz == 0)
    return refuse(reason, RETENSOR_METHOD_UNSUPPORTED, "takes order 3 to 8 and a nonzero or more");
  s = calloc(1, sizeof *s);
  if (s == NULL) return refuse(reason, RETENSOR_METHOD_MEMORY, "no memory for the state");
  s->problem = problem;
  s->options = splatt_default_opts();
  s->options[SPLATT_OPTION_VERBOSITY] = SPLATT_VERBOSITY_NONE;
  *state = s;
  return RETENSOR_METHOD_OK;
}

/* Copies of the coordinates in SPLATT's types, which its conversion sorts in place. */
static retensor_method_status convert(struct state* s, char* reason) {
  const retensor_method_problem* p = s->problem;
  splatt_idx_t* indices[MODES] = {NULL};
  splatt_val_t* values = malloc(p->nnz * sizeof *values);
  retensor_method_status status = RETENSOR_METHOD_OK;
  uint64_t x;
  int32_t m;
  for (m = 0; m < p->order; ++m) {
    indices[m] = malloc(p->nnz * sizeof **indices);
    if (indices[m] == NULL) status = RETENSOR_METHOD_MEMORY;
  }
  if (values == NULL || status != RETENSOR_METHOD_OK) {
    status = refuse(reason, RETENSOR_METHOD_MEMORY, "no memory for the coordinates");
  } else {
    memcpy(values, p->values, p->nnz * sizeof *values);
    for (m = 0; m < p->order; ++m)
      for (x = 0; x < p->nnz; ++x) indices[m][x] = p->indices[m][x];
    status = status_of(
        splatt_csf_convert((splatt_idx_t)p->order, p->nnz, indices, values, &s->tensor, s->options),
        "splatt_csf_convert", reason);
  }
  for (m = 0; m < p->order; ++m) free(indices[m]);
  free(values);
  return status;
}

retensor_method_status retensor_method_prepare(void* state, retensor_method_footprint* footprint,
                                               char* reason) {
  struct state* s = state;
  (void)footprint; /* the installed header tells no size of a CSF tensor */
  s->result = calloc(1, result_bytes(s));
  if (s->result == NULL) return refuse(reason, RETENSOR_METHOD_MEMORY, "no memory for the result");
  return convert(s, reason);
}

retensor_method_status retensor_method_operands(void* state, const void* const* data,
                                                char* reason) {
  struct state* s = state;
  int32_t m;
  (void)reason;
  for (m = 0; m < s->problem->order; ++m) s->factors[m] = (splatt_val_t*)data[m];
  return RETENSOR_METHOD_OK;
}

retensor_method_status retensor_method_run(void* state, void* stream, char* reason) {
  struct state* s = state;
  (void)stream;
  return status_of(splatt_mttkrp((splatt_idx_t)s->problem->mode, s->problem->rank, s->tensor,
                                 s->factors, s->result, s->options),
                   "splatt_mttkrp", reason);
}

retensor_method_status retensor_method_result(void* state, void* data, char* reason) {
  const struct state* s = state;
  (void)reason;
  memcpy(data, s->result, result_bytes(s));
  return RETENSOR_METHOD_OK;
}

void retensor_method_destroy(void* state) {
  struct state* s = state;
  if (s->tensor != NULL) splatt_free_csf(s->tensor, s->options);
  splatt_free_opts(s->options);
  free(s->result);
  free(s);
}
