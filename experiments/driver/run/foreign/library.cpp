// A shared library in this process. What it does to the process costs the worker's case.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "common/c_api/retensor_method.h"
#include "common/device/copy.hpp"
#include "common/device/device.hpp"
#include "experiments/driver/run/foreign/foreign_run.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

/// The functions of the library.
class Library {
 public:
  explicit Library(const std::string& path)
      : handle_(dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr)
      throw ForeignFault(Status::failed, fmt::format("the library can't be loaded: {}", dlerror()));
    find("retensor_method_api", api);
    if (const auto version = api(); version != RETENSOR_METHOD_API)
      throw ForeignFault(Status::failed,
                         fmt::format("the library was built for version {} of retensor_method.h, "
                                     "expected {}",
                                     version, RETENSOR_METHOD_API));
    find("retensor_method_create", create);
    find("retensor_method_prepare", prepare);
    find("retensor_method_operands", operands);
    find("retensor_method_run", run);
    find("retensor_method_destroy", destroy);
    // Of these a library needs the one that its operations call for.
    look_for("retensor_method_result", result);
    look_for("retensor_method_entries", entries);
  }
  // Never unloaded: what it registered with the runtime or the device may still refer to it.

  decltype(&retensor_method_api) api = nullptr;
  decltype(&retensor_method_create) create = nullptr;
  decltype(&retensor_method_prepare) prepare = nullptr;
  decltype(&retensor_method_operands) operands = nullptr;
  decltype(&retensor_method_run) run = nullptr;
  decltype(&retensor_method_result) result = nullptr;
  decltype(&retensor_method_entries) entries = nullptr;
  decltype(&retensor_method_destroy) destroy = nullptr;

 private:
  template <class Function>
  void look_for(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
  }
  template <class Function>
  void find(const char* name, Function& function) {
    look_for(name, function);
    if (function == nullptr)
      throw ForeignFault(Status::failed, fmt::format("the library has no function {}", name));
  }

  void* handle_;
};

/// Copies of operands in device memory.
class DeviceOperands {
 public:
  ~DeviceOperands() {
    for (auto* at : blocks_) device::release_bytes(at);
  }
  void* copy(std::size_t which, const void* host, std::size_t bytes) {
    if (which == blocks_.size()) blocks_.push_back(device::allocate_bytes(bytes));
    device::copy_to_device(blocks_[which], host, bytes);
    return blocks_[which];
  }

 private:
  std::vector<void*> blocks_;
};

const void* data_of(const Matrix& matrix) {
  return matrix.values().visit(
      [](const auto& values) { return static_cast<const void*>(values.data()); });
}

/// What the library does not write is no number. It also touches the memory, so that the first copy
/// of a result takes no longer than the second.
void spoil(Values& values) {
  values.visit([]<class T>(Array<T>& v) {
    std::fill(v.begin(), v.end(), std::numeric_limits<T>::quiet_NaN());
  });
}

class LibraryRun final : public ForeignRun {
 public:
  LibraryRun(const Case& c, const ForeignCode& code, const Problem& problem)
      : on_device_(is_gpu_method(c.method)),
        library_(code.path),
        problem_(problem),
        whole_(driver::to_json(c, nullptr)),
        operation_(whole_["operation"]),
        params_(whole_["params"].dump()) {
    if (on_device_) timer_ = device::make_event_timer();
  }
  ~LibraryRun() override {
    if (state_ != nullptr) library_.destroy(state_);
  }

  Step read() override;
  Step prepare() override {
    retensor_method_footprint made{0, 0};
    auto step =
        timed("prepare", [&](char* reason) { return library_.prepare(state_, &made, reason); });
    step.said = {{"format_bytes", made.format_bytes}, {"device_bytes", made.device_bytes}};
    return step;
  }
  Step ping() override {
    return timed("ping", [](char*) { return RETENSOR_METHOD_OK; });
  }
  Step operands(const std::vector<Matrix>& dense) override;
  Step run() override;
  Step result(Result& into) override {
    if (const auto entries = entries_of(into)) return copied(*entries);
    if (library_.result == nullptr) refuse("retensor_method_result", "dense");
    spoil(std::get<Matrix>(into).values());
    return timed("result", [&](char* reason) {
      return std::get<Matrix>(into).values().visit(
          [&](auto& values) { return library_.result(state_, values.data(), reason); });
    });
  }

 private:
  [[noreturn]] static void refuse(const char* function, const char* kind) {
    throw ForeignFault(
        Status::unsupported,
        fmt::format("the library has no function {}, which a {} result needs", function, kind));
  }
  Step copied(const EntriesView& into) const;
  /// Until the device is idle, where the method runs there.
  template <class Work>
  Step timed(const char* step, Work work) const {
    std::array<char, RETENSOR_METHOD_REASON> reason{};
    const auto start = std::chrono::steady_clock::now();
    const auto status = work(reason.data());
    if (on_device_)
      if (const auto fault = device::fault(); !fault.empty())
        throw ForeignFault(Status::failed, fmt::format("`{}`: {}", step, fault));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    reason.back() = '\0';
    if (status == RETENSOR_METHOD_OK) return {json::object(), spent.count()};
    throw ForeignFault(status == RETENSOR_METHOD_UNSUPPORTED ? Status::unsupported
                       : status == RETENSOR_METHOD_MEMORY    ? Status::oom
                                                             : Status::failed,
                       fmt::format("`{}`: {}", step, reason.data()));
  }

  void describe_result();

  const bool on_device_;
  const Library library_;
  const Problem& problem_;
  const json whole_;
  const std::string operation_, params_;
  std::vector<const std::uint32_t*> indices_, second_indices_;
  std::vector<retensor_method_shape> shapes_;
  Dims result_dims_;
  retensor_method_tensor second_{};
  retensor_method_problem view_{};
  DeviceOperands copies_;
  std::vector<Matrix> held_;  ///< operands on the host, which the library may read until the next
  std::unique_ptr<StageTimer> timer_;
  void* state_ = nullptr;
};

Step LibraryRun::read() {
  const auto& x = problem_.x();
  for (const auto& index : x.indices) indices_.push_back(index.data());
  for (const auto& matrix : operands_of(problem_))
    shapes_.push_back({matrix.rows(), matrix.cols()});
  describe_result();
  if (problem_.operation() == Operation::tew || problem_.operation() == Operation::contraction) {
    const auto& y = problem_.y();
    for (const auto& index : y.indices) second_indices_.push_back(index.data());
    second_ = {y.dims.data(), second_indices_.data(), y.nnz(), y.order()};
    view_.second = &second_;
  }
  view_.size = sizeof view_;
  view_.operation = operation_.c_str();
  view_.params = params_.c_str();
  view_.dims = x.dims.data();
  view_.indices = indices_.data();
  view_.values = x.values.visit([](const auto& v) { return static_cast<const void*>(v.data()); });
  view_.nnz = x.nnz();
  view_.rank = problem_.rank();
  view_.operands = shapes_.data();
  view_.variant = problem_.spec().variant.c_str();
  view_.alpha = problem_.spec().alpha;
  view_.order = x.order();
  view_.mode = problem_.mode();
  view_.operand_count = static_cast<std::int32_t>(shapes_.size());
  view_.value_bytes = static_cast<std::int32_t>(size_of(problem_.dtype()));
  return timed("create", [&](char* reason) { return library_.create(&view_, &state_, reason); });
}

void LibraryRun::describe_result() {
  auto result = empty_result(problem_);
  if (const auto entries = entries_of(result)) {
    result_dims_ = entries->dims;
    view_.result = {0, entries->width};
    view_.result_dims = result_dims_.data();
    view_.result_order = static_cast<std::int32_t>(result_dims_.size());
  } else {
    const auto& matrix = std::get<Matrix>(result);
    view_.result = {matrix.rows(), matrix.cols()};
  }
}

/// Asked for the number of entries, then for the entries.
Step LibraryRun::copied(const EntriesView& into) const {
  if (library_.entries == nullptr) refuse("retensor_method_entries", "sparse");
  const auto ask = [&](std::uint64_t& count, std::uint32_t* const* indices, void* values) {
    return timed("entries", [&](char* reason) {
      return library_.entries(state_, &count, indices, values, reason);
    });
  };
  std::uint64_t count = 0, again = 0;
  auto step = ask(count, nullptr, nullptr);
  try {
    into.resize(count);
  } catch (const InputError& e) {
    throw ForeignFault(Status::failed, fmt::format("`entries`: {}", e.what()));
  }
  again = count;
  std::vector<std::uint32_t*> indices;
  for (auto& index : *into.indices) indices.push_back(index.data());
  spoil(*into.values);
  step.seconds += into.values->visit(
      [&](auto& values) { return ask(again, indices.data(), values.data()).seconds; });
  if (again != count)
    throw ForeignFault(Status::failed,
                       fmt::format("`entries`: found {} entries, then {}", count, again));
  return step;
}

Step LibraryRun::operands(const std::vector<Matrix>& dense) {
  held_ = dense;
  std::vector<const void*> data;
  for (std::size_t m = 0; m < held_.size(); ++m)
    data.push_back(on_device_ ? copies_.copy(m, data_of(held_[m]), held_[m].bytes())
                              : data_of(held_[m]));
  return timed("operands",
               [&](char* reason) { return library_.operands(state_, data.data(), reason); });
}

Step LibraryRun::run() {
  if (!on_device_)
    return timed("run", [&](char* reason) { return library_.run(state_, nullptr, reason); });
  double seconds = 0;
  auto step = timed("run", [&](char* reason) {
    timer_->start();
    const auto status = library_.run(state_, timer_->stream(), reason);
    for (const auto& [stage, spent] : timer_->stop()) seconds += spent;
    return status;
  });
  step.said["seconds"] = seconds;
  return step;
}

}  // namespace

std::unique_ptr<ForeignRun> load_library(const Case& c, const ForeignCode& code,
                                         const Problem& problem) {
  if (is_gpu_method(c.method))
    if (const auto device = device::available(); !device.ok)
      throw ForeignFault(Status::unsupported, device.reason);
  return std::make_unique<LibraryRun>(c, code, problem);
}

}  // namespace retensor::driver
