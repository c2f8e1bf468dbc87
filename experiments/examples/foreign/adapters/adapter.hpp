// What adapters of C and C++ libraries share: the functions of retensor_method.h for a class.
//
//     struct Mine {
//       explicit Mine(const retensor_method_problem& problem);  // throws Unsupported
//       std::uint64_t prepare();                                // returns bytes of the format
//       void operands(const void* const* data);
//       void run(void* stream);
//       void result(void* data);
//     };
//     RETENSOR_ADAPTER(Mine)
//
// One with a sparse result has in place of `result`
//     std::uint64_t entries(std::uint32_t* const* indices, void* values);  // without: their number
// and RETENSOR_SPARSE_ADAPTER(Mine).
#pragma once

#include <retensor_method.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace adapter {

struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws Unsupported unless the problem is of this operation and type.
inline void expect(const retensor_method_problem& problem, const char* operation,
                   std::size_t value_bytes) {
  if (std::strcmp(problem.operation, operation) != 0)
    throw Unsupported(std::string("solves only ") + operation);
  if (problem.value_bytes != static_cast<int>(value_bytes))
    throw Unsupported("takes only values of " + std::to_string(value_bytes) + " bytes");
}

/// Throws where a call of the library did not return what means that all is well.
inline void expect_done(long long code, const char* call, long long done = 0) {
  if (code != done)
    throw std::runtime_error(std::string(call) + " returned " + std::to_string(code));
}

template <class Work>
retensor_method_status guarded(char* reason, const Work& work) {
  const auto refuse = [&](retensor_method_status status, const char* text) {
    std::snprintf(reason, RETENSOR_METHOD_REASON, "%s", text);
    return status;
  };
  try {
    work();
    return RETENSOR_METHOD_OK;
  } catch (const Unsupported& e) {
    return refuse(RETENSOR_METHOD_UNSUPPORTED, e.what());
  } catch (const std::bad_alloc&) {
    return refuse(RETENSOR_METHOD_MEMORY, "no memory");
  } catch (const std::exception& e) {
    return refuse(RETENSOR_METHOD_FAILED, e.what());
  }
}

}  // namespace adapter

#define RETENSOR_ADAPTER_STEPS(Class)                                                              \
  extern "C" {                                                                                     \
  int32_t retensor_method_api() {                                                                  \
    return RETENSOR_METHOD_API;                                                                    \
  }                                                                                                \
  retensor_method_status retensor_method_create(const retensor_method_problem* p, void** s,        \
                                                char* r) {                                         \
    return adapter::guarded(r, [&] { *s = new Class(*p); });                                       \
  }                                                                                                \
  retensor_method_status retensor_method_prepare(void* s, retensor_method_footprint* f, char* r) { \
    return adapter::guarded(r, [&] { f->format_bytes = static_cast<Class*>(s)->prepare(); });      \
  }                                                                                                \
  retensor_method_status retensor_method_operands(void* s, const void* const* d, char* r) {        \
    return adapter::guarded(r, [&] { static_cast<Class*>(s)->operands(d); });                      \
  }                                                                                                \
  retensor_method_status retensor_method_run(void* s, void* stream, char* r) {                     \
    return adapter::guarded(r, [&] { static_cast<Class*>(s)->run(stream); });                      \
  }                                                                                                \
  void retensor_method_destroy(void* s) {                                                          \
    delete static_cast<Class*>(s);                                                                 \
  }                                                                                                \
  }

#define RETENSOR_ADAPTER(Class)                                                         \
  RETENSOR_ADAPTER_STEPS(Class)                                                         \
  extern "C" retensor_method_status retensor_method_result(void* s, void* d, char* r) { \
    return adapter::guarded(r, [&] { static_cast<Class*>(s)->result(d); });             \
  }

#define RETENSOR_SPARSE_ADAPTER(Class)                                               \
  RETENSOR_ADAPTER_STEPS(Class)                                                      \
  extern "C" retensor_method_status retensor_method_entries(                         \
      void* s, uint64_t* n, uint32_t* const* i, void* v, char* r) {                  \
    return adapter::guarded(r, [&] { *n = static_cast<Class*>(s)->entries(i, v); }); \
  }
