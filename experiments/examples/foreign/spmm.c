/* Sparse times dense matrix as an executable that ReTensor measures, without any library.
 *
 *     cc -O2 spmm.c -o spmm
 *     retensor bench MATRIX.mtx --operation spmm --command ./spmm --format mtx
 *
 * The protocol stands in plots/docs/how-to/foreign-code.md. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t rows, columns, nonzeros, rank;
static uint64_t *row, *column; /* of each nonzero */
static float *values, *dense, *result;

/* The number after "name": in problem.json, which has every name once. */
static uint64_t number(const char* text, const char* name) {
  const char* at = strstr(text, name);
  return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 10);
}

static void fail(const char* reason) {
  printf("{\"status\": \"failed\", \"reason\": \"%s\"}\n", reason);
}

static void* memory(uint64_t count, size_t size) {
  void* block = calloc(count + 1, size);
  if (block == NULL) exit(1);
  return block;
}

static void read_problem(void) {
  static char text[65536], line[1024];
  FILE* file = fopen("problem.json", "r");
  uint64_t k;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  if (strstr(text, "\"spmm\"") == NULL || strstr(text, "\"f32\"") == NULL) {
    printf("{\"status\": \"unsupported\", \"reason\": \"solves only spmm of f32\"}\n");
    return;
  }
  rank = number(text, "\"rank\":");
  file = fopen("tensor.mtx", "r");
  if (file == NULL) {
    fail("expected the format mtx");
    return;
  }
  do {
    if (fgets(line, sizeof line, file) == NULL) line[0] = '\0';
  } while (line[0] == '%');
  sscanf(line, "%lu %lu %lu", &rows, &columns, &nonzeros);
  row = memory(nonzeros, sizeof *row);
  column = memory(nonzeros, sizeof *column);
  values = memory(nonzeros, sizeof *values);
  for (k = 0; k < nonzeros; ++k)
    if (fscanf(file, "%lu %lu %f", &row[k], &column[k], &values[k]) != 3) break;
  fclose(file);
  if (k < nonzeros)
    fail("tensor.mtx ends too early");
  else
    printf("{}\n");
}

static void prepare(void) {
  dense = memory(columns * rank, sizeof *dense);
  result = memory(rows * rank, sizeof *result);
  printf("{\"format_bytes\": %lu}\n", nonzeros * (2 * sizeof *row + sizeof *values));
}

static void read_operands(const char* folder) {
  char path[256];
  FILE* file;
  snprintf(path, sizeof path, "%s/0.bin", folder);
  file = fopen(path, "rb");
  if (file != NULL && fread(dense, sizeof *dense, columns * rank, file) == columns * rank)
    printf("{}\n");
  else
    fail("the operand is too short");
  if (file != NULL) fclose(file);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run(void) {
  const double start = now();
  uint64_t k, r;
  memset(result, 0, rows * rank * sizeof *result);
  for (k = 0; k < nonzeros; ++k) {
    const float* from = dense + (column[k] - 1) * rank;
    float* to = result + (row[k] - 1) * rank;
    for (r = 0; r < rank; ++r) to[r] += values[k] * from[r];
  }
  printf("{\"seconds\": %.9g}\n", now() - start);
}

static void write_result(const char* name) {
  FILE* file = fopen(name, "wb");
  if (file != NULL && fwrite(result, sizeof *result, rows * rank, file) == rows * rank &&
      fclose(file) == 0)
    printf("{}\n");
  else
    fail("the result can't be written");
}

int main(void) {
  char line[512];
  while (fgets(line, sizeof line, stdin) != NULL) {
    char* word = strchr(line, ' ');
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "read") == 0)
      read_problem();
    else if (strcmp(line, "prepare") == 0)
      prepare();
    else if (strcmp(line, "run") == 0)
      run();
    else if (strncmp(line, "operands ", 9) == 0)
      read_operands(word + 1);
    else if (strncmp(line, "result ", 7) == 0)
      write_result(word + 1);
    else
      printf("{}\n");
    fflush(stdout);
  }
  return 0;
}
