// One run of a method, and its check.
#pragma once

#include <map>
#include <string>

#include "common/measure/timing.hpp"
#include "common/method/method_spec.hpp"

namespace retensor::test {

using Given = std::map<std::string, ParamValue>;

struct Ran {
  Result result;
  Executed executed;
};

/// With the parameters that are given and defaults for the others.
inline Ran run_once(const MethodSpec& spec, const Problem& problem, const Given& given = {}) {
  const DescribedMethod method(spec);
  const auto prepared = method.prepare(problem, method.params().resolve(given));
  const auto timer = make_host_timer();
  timer->start();
  prepared->run(*timer);
  timer->stop();
  return {prepared->result(), prepared->executed()};
}

/// Whether a result is within the bound of the method's arithmetic.
inline bool is_right(const MethodSpec& spec, const Problem& problem, const Result& result) {
  const DescribedMethod method(spec);
  return problem.oracle().check(result, method.precision(problem, method.params().resolve({}))).ok;
}

}  // namespace retensor::test
