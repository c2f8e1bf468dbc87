#include "experiments/driver/spec/auto_method.hpp"

#include <fmt/format.h>

#include "common/core/error.hpp"

namespace retensor::driver {
namespace {

class AutoMethod : public Method {
 public:
  std::string_view id() const override { return kAutoMethod; }
  std::string_view summary() const override { return "the method that the planner expects to win"; }
  Backend backend() const override { return Backend::cpu; }
  ParamSchema params() const override {
    return {
        param("calls", std::int64_t{100}, "runs that follow one preparation").range(1, 1e12),
        param("error", 0.0,
              "relative error that is allowed; 0: that of single precision, no rounded operand")
            .range(0, 1),
        param("trial", true,
              "whether a few runs settle what the forecasts leave open, where they are expected "
              "to pay"),
        param("machine", "any", "where it may run").words({"any", "cpu", "device"})};
  }
  /// As the most frugal methods do: which one runs is not known yet.
  double bytes_per_nonzero() const override { return 40; }
  Support supports(const Problem&, const Params&) const override { return Support::yes(); }
  std::unique_ptr<Prepared> prepare(const Problem&, const Params&) const override {
    throw LogicError("`auto` stands for a method and is none");
  }
};

}  // namespace

const Method& method_of_spec(const Registry& methods, std::string_view id) {
  static const AutoMethod automatic;
  return id == kAutoMethod ? automatic : methods.find(id);
}

std::string name_of_auto(const std::map<std::string, ParamValue>& params) {
  std::string name(kAutoMethod);
  const auto schema = AutoMethod().params();
  for (const auto& spec : schema.specs())
    if (const auto& value = params.at(spec.name); spec.name == "calls" || value != spec.standard)
      name += fmt::format(" {}={}", spec.name, text(value));
  return name;
}

}  // namespace retensor::driver
