// What adapters of cuTENSOR share: the plan of an operation with the memory that it works in.
#pragma once

#include <cutensor.h>

#include "adapter_cuda.cuh"

namespace adapter {

/// The workspace of `plan`, which is made from `operation` by cuTENSOR's own choice of an
/// algorithm.
inline DeviceArray<char> make_plan(cutensorHandle_t handle, cutensorOperationDescriptor_t operation,
                                   cutensorPlan_t& plan) {
  const auto expect = [](cutensorStatus_t status, const char* call) {
    expect_done(status, call, CUTENSOR_STATUS_SUCCESS);
  };
  cutensorPlanPreference_t preference{};
  expect(cutensorCreatePlanPreference(handle, &preference, CUTENSOR_ALGO_DEFAULT,
                                      CUTENSOR_JIT_MODE_NONE),
         "cutensorCreatePlanPreference");
  std::uint64_t work = 0;
  expect(cutensorEstimateWorkspaceSize(handle, operation, preference, CUTENSOR_WORKSPACE_DEFAULT,
                                       &work),
         "cutensorEstimateWorkspaceSize");
  DeviceArray<char> workspace(work);
  expect(cutensorCreatePlan(handle, &plan, operation, preference, work), "cutensorCreatePlan");
  expect(cutensorDestroyPlanPreference(preference), "cutensorDestroyPlanPreference");
  expect(cutensorDestroyOperationDescriptor(operation), "cutensorDestroyOperationDescriptor");
  return workspace;
}

}  // namespace adapter
