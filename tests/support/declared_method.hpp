// A method for tests that read what it declares and never run it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "common/core/error.hpp"
#include "common/method/method.hpp"

namespace retensor::test {

class DeclaredMethod : public Method {
 public:
  DeclaredMethod(std::string id, ParamSchema params)
      : id_(std::move(id)), params_(std::move(params)) {}
  std::string_view id() const override { return id_; }
  std::string_view summary() const override { return "never run"; }
  Backend backend() const override { return Backend::cpu; }
  ParamSchema params() const override { return params_; }
  Support supports(const Problem&, const Params&) const override {
    return Support::no("never run");
  }
  std::unique_ptr<Prepared> prepare(const Problem&, const Params&) const override {
    throw LogicError("never run");
  }

 private:
  std::string id_;
  ParamSchema params_;
};

}  // namespace retensor::test
