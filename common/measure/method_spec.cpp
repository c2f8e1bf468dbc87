// The methods that descriptions are of.
#include "common/measure/method_spec.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/device/device.hpp"

namespace retensor {
namespace {

/// The second part of the id.
Backend backend_of(const std::string& id) {
  const auto first = std::min(id.find('.'), id.size());
  for (const auto backend : {Backend::cpu, Backend::cuda})
    if ((id.substr(first) + ".").starts_with(fmt::format(".{}.", name(backend)))) return backend;
  throw LogicError(fmt::format("method id '{}' names no backend", id));
}

class Described final : public Method {
 public:
  explicit Described(MethodSpec spec) : spec_(std::move(spec)), backend_(backend_of(spec_.id)) {}

  std::string_view id() const override { return spec_.id; }
  std::string_view summary() const override { return spec_.summary; }
  Backend backend() const override { return backend_; }
  ParamSchema params() const override { return spec_.params; }
  std::vector<Operation> operations() const override { return spec_.operations; }
  bool converts_least() const override { return spec_.converts_least; }
  bool takes_all_modes() const override { return takes(Operation::mttkrp_all); }

  Support supports(const Problem& problem, const Params& params) const override {
    if (!takes(problem.operation())) return wrong_operation(problem.operation());
    if (spec_.supports)
      if (auto own = spec_.supports(problem, params); !own.ok) return own;
    return backend_ == Backend::cuda ? supported_by_device() : Support::yes();
  }
  std::unique_ptr<Prepared> prepare(const Problem& problem, const Params& params) const override {
    if (!spec_.prepare)
      throw LogicError(fmt::format("{} was prepared in a build without CUDA", spec_.id));
    return spec_.prepare(problem, params);
  }
  reference::Precision precision(const Problem& problem, const Params& params) const override {
    return spec_.precision ? spec_.precision(problem, params) : Method::precision(problem, params);
  }

 private:
  bool takes(Operation op) const {
    return std::find(spec_.operations.begin(), spec_.operations.end(), op) !=
           spec_.operations.end();
  }
  Support wrong_operation(Operation found) const {
    std::string expected;
    for (const auto op : spec_.operations)
      expected += fmt::format("{}{}", expected.empty() ? "" : " or ", name(op));
    return Support::no(fmt::format("found {}, expected {}", name(found), expected));
  }
  Support supported_by_device() const {
    if (const auto device = device::available(); !device.ok) return Support::no(device.reason);
    auto reason = spec_.obstacle ? spec_.obstacle() : std::string();
    return reason.empty() ? Support::yes() : Support::no(std::move(reason));
  }

  const MethodSpec spec_;
  const Backend backend_;
};

}  // namespace

std::unique_ptr<Method> make_method(MethodSpec spec) {
  return std::make_unique<Described>(std::move(spec));
}

}  // namespace retensor
