// Faults on the device, for the methods of retensor-gpu-faulty.
#pragma once

namespace retensor::test {

/// Asks for more device memory than any device has; throws OutOfMemory.
void take_all_memory();
/// Launches a kernel that writes where nothing is mapped; a later call meets the error.
void touch_illegal_address();
/// Launches a kernel that runs for half a minute.
void spin();

}  // namespace retensor::test
