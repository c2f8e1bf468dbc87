/* MTTKRP behind retensor_method.h: one thread, over the nonzeros sorted by the row of the result.
 *
 *     cc -O2 -shared -fPIC -I INCLUDE mttkrp_library.c -o libmine.so
 *     retensor bench TENSOR --library ./libmine.so
 *
 * INCLUDE is the folder of retensor_method.h: common/c_api of the sources, or where it is
 * installed. */
#include <retensor_method.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
  const retensor_method_problem* problem;
  uint64_t* order;          /* nonzeros by their row of the result */
  const float** factors;    /* as given */
  float *result, *products; /* rows x R, and R values */
};

static retensor_method_status refuse(char* reason, retensor_method_status status,
                                     const char* text) {
  snprintf(reason, RETENSOR_METHOD_REASON, "%s", text);
  return status;
}

int32_t retensor_method_api(void) {
  return RETENSOR_METHOD_API;
}

retensor_method_status retensor_method_create(const retensor_method_problem* problem, void** state,
                                              char* reason) {
  struct state* s;
  if (strcmp(problem->operation, "mttkrp") != 0)
    return refuse(reason, RETENSOR_METHOD_UNSUPPORTED, "solves only mttkrp");
  if (problem->value_bytes != sizeof(float))
    return refuse(reason, RETENSOR_METHOD_UNSUPPORTED, "takes only f32");
  s = calloc(1, sizeof *s);
  if (s == NULL) return refuse(reason, RETENSOR_METHOD_MEMORY, "no memory for the state");
  s->problem = problem;
  *state = s;
  return RETENSOR_METHOD_OK;
}

/* A counting sort by the row of the result. */
static void sort_nonzeros(struct state* s, uint64_t* next) {
  const retensor_method_problem* p = s->problem;
  const uint32_t* row = p->indices[p->mode];
  uint64_t x, sum = 0;
  for (x = 0; x < p->nnz; ++x) ++next[row[x]];
  for (x = 0; x < p->result.rows; ++x) {
    const uint64_t count = next[x];
    next[x] = sum;
    sum += count;
  }
  for (x = 0; x < p->nnz; ++x) s->order[next[row[x]]++] = x;
}

retensor_method_status retensor_method_prepare(void* state, retensor_method_footprint* footprint,
                                               char* reason) {
  struct state* s = state;
  const retensor_method_problem* p = s->problem;
  uint64_t* next = calloc(p->result.rows, sizeof *next);
  s->order = malloc((p->nnz + 1) * sizeof *s->order);
  s->factors = malloc((size_t)p->operand_count * sizeof *s->factors);
  s->result = malloc(p->result.rows * p->rank * sizeof(float));
  s->products = malloc(p->rank * sizeof(float));
  if (!next || !s->order || !s->factors || !s->result || !s->products) {
    free(next);
    return refuse(reason, RETENSOR_METHOD_MEMORY, "no memory for the format");
  }
  sort_nonzeros(s, next);
  free(next);
  footprint->format_bytes = p->nnz * sizeof *s->order;
  return RETENSOR_METHOD_OK;
}

retensor_method_status retensor_method_operands(void* state, const void* const* data,
                                                char* reason) {
  struct state* s = state;
  (void)reason;
  memcpy(s->factors, data, (size_t)s->problem->operand_count * sizeof *s->factors);
  return RETENSOR_METHOD_OK;
}

retensor_method_status retensor_method_run(void* state, void* stream, char* reason) {
  struct state* s = state;
  const retensor_method_problem* p = s->problem;
  const float* values = p->values;
  uint64_t k, r;
  int32_t m;
  (void)stream;
  (void)reason;
  memset(s->result, 0, p->result.rows * p->rank * sizeof(float));
  for (k = 0; k < p->nnz; ++k) {
    const uint64_t x = s->order[k];
    float* out = s->result + p->indices[p->mode][x] * p->rank;
    for (r = 0; r < p->rank; ++r) s->products[r] = values[x];
    for (m = 0; m < p->order; ++m) {
      const float* row = s->factors[m] + p->indices[m][x] * p->rank;
      if (m == p->mode) continue;
      for (r = 0; r < p->rank; ++r) s->products[r] *= row[r];
    }
    for (r = 0; r < p->rank; ++r) out[r] += s->products[r];
  }
  return RETENSOR_METHOD_OK;
}

retensor_method_status retensor_method_result(void* state, void* data, char* reason) {
  const struct state* s = state;
  (void)reason;
  memcpy(data, s->result, s->problem->result.rows * s->problem->rank * sizeof(float));
  return RETENSOR_METHOD_OK;
}

void retensor_method_destroy(void* state) {
  struct state* s = state;
  free(s->order);
  free(s->factors);
  free(s->result);
  free(s->products);
  free(s);
}
