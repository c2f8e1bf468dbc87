// A library of the CUDA toolkit, loaded when it is first used: a program that is carried to another
// machine starts without it. Included by .cu files alone.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>
#include <type_traits>

#include "common/core/error.hpp"

namespace retensor::device {

class CudaLibrary {
 public:
  /// `soname`: such as libcusparse.so.12, looked up where the loader looks and in CUDA's usual
  /// folder.
  explicit CudaLibrary(const std::string& soname) {
    for (const std::string folder : {"", "/usr/local/cuda/lib64/"}) {
      handle_ = dlopen((folder + soname).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
      if (missing_.empty()) missing_ = dlerror();
    }
  }
  /// Why it could not be loaded; empty when it was.
  const std::string& missing() const { return missing_; }

  /// The function of that name; throws DeviceError where there is none.
  template <class F>
  F* find(const char* name) const {
    if (handle_ == nullptr) throw DeviceError(missing_);
    void* const function = dlsym(handle_, name);
    if (function == nullptr) throw DeviceError(std::string(name) + ": " + dlerror());
    return reinterpret_cast<F*>(function);
  }

 private:
  void* handle_ = nullptr;  // for the life of the process: its state is on the device
  std::string missing_;
};

/// An object of a library, such as a handle, which `end` ends with the last copy.
template <class T>
class Owned {
 public:
  Owned() = default;
  template <class End>
  Owned(T object, End* end) : object_(object, end) {}
  operator T() const { return object_.get(); }

 private:
  std::shared_ptr<std::remove_pointer_t<T>> object_;
};

/// A function of the file's library(), found when this place is first reached.
#define RETENSOR_LIBRARY_FUNCTION(name)                                 \
  [] {                                                                  \
    static auto* const found = library().find<decltype(::name)>(#name); \
    return found;                                                       \
  }()
/// Calls it; the file's check(status, name) throws where it fails.
#define RETENSOR_LIBRARY_CALL(name, ...) check(RETENSOR_LIBRARY_FUNCTION(name)(__VA_ARGS__), #name)

}  // namespace retensor::device
