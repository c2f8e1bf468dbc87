// A library of the CUDA toolkit, loaded when it is first used: a program that is carried to another
// machine starts without it.
#pragma once

#include <dlfcn.h>

#include <string>

#include "common/core/error.hpp"

namespace retensor::tca_spmm {

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
  void load(F*& function, const char* name) const {
    if (handle_ == nullptr) throw DeviceError(missing_);
    function = reinterpret_cast<F*>(dlsym(handle_, name));
    if (function == nullptr) throw DeviceError(std::string(name) + ": " + dlerror());
  }

 private:
  void* handle_ = nullptr;  // for the life of the process: its state is on the device
  std::string missing_;
};

}  // namespace retensor::tca_spmm
