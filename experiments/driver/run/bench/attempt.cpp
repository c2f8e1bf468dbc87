#include "experiments/driver/run/bench/attempt.hpp"

#include <chrono>
#include <exception>
#include <new>

#include "common/core/error.hpp"
#include "experiments/driver/run/worker.hpp"

namespace retensor::driver {
using nlohmann::json;

json guarded(const std::function<json()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ended(Status::oom, "host memory does not suffice");
  } catch (const OutOfMemory& e) {
    return ended(Status::oom, e.what());
  } catch (const std::exception& e) {
    return ended(Status::failed, e.what());
  }
}

double timed(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace retensor::driver
