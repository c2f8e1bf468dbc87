/* A library behind retensor_method.h whose functions are a class in Python. method_library.py
 * compiles it: it says how, and defines
 *
 *     LIBPYTHON  the file of Python's shared library
 *     FOLDER     the folder of method_library.py
 *     MODULE     the file with the class
 *
 * Python's header is not needed: three functions of its stable interface start it. */
#include <dlfcn.h>
#include <retensor_method.h>
#include <stdio.h>

/* What method_library.expose() fills in, in this order. */
static struct {
  retensor_method_status (*create)(const retensor_method_problem*, void**, char*);
  retensor_method_status (*prepare)(void*, retensor_method_footprint*, char*);
  retensor_method_status (*operands)(void*, const void* const*, char*);
  retensor_method_status (*run)(void*, void*, char*);
  retensor_method_status (*result)(void*, void*, char*);
  retensor_method_status (*entries)(void*, uint64_t*, uint32_t* const*, void*, char*);
  void (*destroy)(void*);
} method;

static const char* start(void) {
  static char code[4096];
  void (*initialize)(int);
  int (*run)(const char*);
  void* (*release)(void);
  void* python = dlopen(LIBPYTHON, RTLD_NOW | RTLD_GLOBAL); /* modules in C look for it there */
  if (python == NULL) return "Python's shared library " LIBPYTHON " can't be loaded";
  *(void**)&initialize = dlsym(python, "Py_InitializeEx");
  *(void**)&run = dlsym(python, "PyRun_SimpleString");
  *(void**)&release = dlsym(python, "PyEval_SaveThread");
  if (!initialize || !run || !release) return LIBPYTHON " lacks a function";
  snprintf(code, sizeof code,
           "import sys\nsys.path[:0] = ['" FOLDER "']\n"
           "import method_library\nmethod_library.expose('" MODULE "', %zu)\n",
           (size_t)&method);
  initialize(0); /* without signal handlers */
  if (run(code) != 0) return MODULE ": Python can't load it";
  release(); /* the functions take the lock by themselves */
  return method.destroy == NULL ? MODULE ": exposes no method" : NULL;
}

int32_t retensor_method_api(void) {
  return RETENSOR_METHOD_API;
}

retensor_method_status retensor_method_create(const retensor_method_problem* problem, void** state,
                                              char* reason) {
  const char* missing = method.create == NULL ? start() : NULL;
  if (missing == NULL) return method.create(problem, state, reason);
  snprintf(reason, RETENSOR_METHOD_REASON, "%s", missing);
  return RETENSOR_METHOD_FAILED;
}

retensor_method_status retensor_method_prepare(void* state, retensor_method_footprint* footprint,
                                               char* reason) {
  return method.prepare(state, footprint, reason);
}

retensor_method_status retensor_method_operands(void* state, const void* const* data,
                                                char* reason) {
  return method.operands(state, data, reason);
}

retensor_method_status retensor_method_run(void* state, void* stream, char* reason) {
  return method.run(state, stream, reason);
}

retensor_method_status retensor_method_result(void* state, void* data, char* reason) {
  return method.result(state, data, reason);
}

retensor_method_status retensor_method_entries(void* state, uint64_t* count,
                                               uint32_t* const* indices, void* values,
                                               char* reason) {
  return method.entries(state, count, indices, values, reason);
}

void retensor_method_destroy(void* state) {
  method.destroy(state);
}
