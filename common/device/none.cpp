// The device interface of a build without CUDA: nothing is available, nothing has failed, and
// everything else is an error.
#include "common/core/error.hpp"
#include "common/device/copy.hpp"
#include "common/device/device.hpp"

namespace retensor::device {
namespace {

constexpr const char* kReason = "this build has no CUDA backend";

[[noreturn]] void refuse() {
  throw DeviceError(kReason);
}

}  // namespace

Availability available() {
  return {false, kReason};
}
DeviceFacts facts() {
  refuse();
}
Memory memory() {
  refuse();
}
std::unique_ptr<StageTimer> make_event_timer() {
  refuse();
}
void flush_cache() {
  refuse();
}
double sm_clock_mhz() {
  refuse();
}
std::string fault() {
  return "";
}
ProfiledRange::ProfiledRange() {
  refuse();
}
ProfiledRange::~ProfiledRange() = default;
std::vector<Count> sort_permutation(const std::vector<std::uint64_t>&) {
  refuse();
}
std::vector<Count> sort_permutation(const std::vector<Uint128>&) {
  refuse();
}

void copy_to_host(void*, const void*, std::size_t) {
  refuse();
}
void copy_to_device(void*, const void*, std::size_t) {
  refuse();
}
void* allocate_bytes(std::size_t) {
  refuse();
}
void release_bytes(void*) {}

}  // namespace retensor::device
