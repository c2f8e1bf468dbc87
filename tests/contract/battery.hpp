// The contract that every method of the registry keeps, as one battery of small problems: empty
// tensor, one nonzero, last index, dense fibers, heavy skew, unsorted input, duplicate coordinates,
// for tew operands of different pattern and shape; orders 1 to 5 (up to 8 on demand), every mode,
// every variant, ranks 1, 16 and 33 (and more for ttm and mttkrp of one tensor), both value types.
// Each is solved twice by the timing loop, so that the second run must overwrite what the first one
// left.
//
// Duplicate coordinates are part of the contract where the result is a sum over nonzeros (ttv, ttm,
// mttkrp, ttm_chain, contraction, spmm): a method sums them or declines. tew and ts map nonzeros
// one to one and cpd's fit needs the norm of the tensor, so these get deduplicated input.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/method/method.hpp"

namespace retensor::contract {

/// One broken clause: which method with which parameters, on what problem, and what was wrong.
struct Finding {
  std::string method, parameters, problem, what;
};

struct Report {
  std::vector<Finding> findings;
  std::map<std::string, int, std::less<>> solved;    ///< right answers by method id
  std::map<std::string, int, std::less<>> declined;  ///< by method id; counted by run_passes alone
  int problems = 0;
};

/// What to leave out, for tests of the battery itself.
struct Scope {
  int lowest_order = 1, highest_order = 5;
  std::vector<Operation> operations = {};  ///< empty: all
  std::vector<std::uint64_t> ranks = {};   ///< empty: all
  std::vector<std::string> tensors = {};   ///< names of scenarios; empty: all
};

/// Runs every method with its default parameters on every problem, and where the rank is 16 (on
/// devices 16 or 32) also with each other word, flag and small integer that its declaration allows,
/// one at a time.
Report run_battery(const std::vector<const Method*>& methods, const Scope& scope = {});

/// The default parameters, then each other word, flag and small integer that the method's
/// declaration allows, one at a time.
std::vector<Params> settings(const Method& method);

/// "name=value name=value".
std::string describe(const Params& params);

/// "method {parameters} on problem: what".
std::string text(const Finding& finding);

}  // namespace retensor::contract
