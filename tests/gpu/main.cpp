// Main of the gpu suite's programs: without a usable device they say why and exit with 77, which
// Meson counts as skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "common/device/device.hpp"

int main(int argc, char** argv) {
  if (const auto gpu = retensor::device::available(); !gpu.ok) {
    std::fprintf(stderr, "skipped: %s\n", gpu.reason.c_str());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
