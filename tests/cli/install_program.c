/* What a user of the installed library writes: TTV of a tensor of 2 x 3 x 2, in C99. */
#include <retensor.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const uint64_t dims[3] = {2, 3, 2}, vector_shape[2] = {2, 1};
  const uint32_t i[3] = {0, 1, 1}, j[3] = {0, 2, 2}, k[3] = {1, 0, 1};
  const uint32_t *indices[3];
  const float values[3] = {2, 3, 4}, vector[2] = {10, 100};
  retensor_tensor x;
  retensor_array operand;
  retensor_call call;
  retensor_result *result = NULL;
  const float *found;
  int32_t a;

  indices[0] = i, indices[1] = j, indices[2] = k;
  memset(&x, 0, sizeof x);
  x.dims = dims, x.indices = indices, x.values = values, x.nnz = 3, x.order = 3;
  operand.data = vector, operand.shape = vector_shape, operand.order = 2;
  operand.dtype = RETENSOR_F32;
  memset(&call, 0, sizeof call);
  call.size = sizeof call, call.operation = "ttv", call.mode = 2;
  call.x = &x, call.dense = &operand, call.dense_count = 1;
  if (retensor_run(&call, &result) != RETENSOR_OK) {
    fprintf(stderr, "%s\n", retensor_last_error());
    return 1;
  }
  for (a = 0; retensor_result_name(result, a) != NULL; ++a)
    if (strcmp(retensor_result_name(result, a), "values") == 0) {
      found = retensor_result_array(result, a)->data;
      printf("%g %g\n", found[0], found[1]);
    }
  retensor_result_free(result);

  call.mode = 5;
  result = NULL;
  if (retensor_run(&call, &result) != RETENSOR_INPUT || result != NULL) return 2;
  puts(retensor_last_error());
  call.x = NULL;
  if (retensor_run(&call, &result) != RETENSOR_INPUT) return 3;
  return retensor_c_api() == RETENSOR_C_API ? 0 : 4;
}
