// The choice of a method and its parameters for a problem.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/advise/forecast.hpp"
#include "common/method/registry.hpp"

namespace retensor::advise {

/// What the caller asks for.
struct Wish {
  double calls = 100;  ///< runs that follow one preparation
  Count memory = 0;    ///< bytes of the device, of a processor those of the format; 0: no limit
  /// Relative error allowed, in the Frobenius norm; none: no operand is rounded to fewer bits.
  std::optional<double> error = std::nullopt;
};

struct Choice {
  const Method* method = nullptr;
  std::string params;  ///< those that are not the defaults, as cpd::params_in reads them
  Forecast forecast;
  double format_bytes = 0, device_bytes = 0, error = 0;
  int families = 0;          ///< on whose tensors it was measured
  bool measured = false;     ///< its times are those of a trial and no forecast
  std::string machine = {};  ///< whose times are forecast
};

/// "flycoo.cuda block=64".
std::string in_words(const Choice& choice);

struct Declined {
  std::string method, params, reason;
};

struct Advice {
  std::vector<Choice>
      ranked;  ///< least total time first; after a trial the measured ones stand before the others
  std::vector<Declined> declined;
  std::vector<std::string> outside;  ///< why the problem is unlike all that was measured
  double caution = kCaution;
  std::string why;  ///< two lines
};

/// Whether the ranked choices are of more than one machine.
bool has_several_machines(const Advice& advice);

/// The devices of the experience that `name` stands for: `cpu`, `device`, or what one is called
/// ("H200"). Throws InputError naming them where there is none.
std::vector<Device> devices_named(const Experience& seen, const std::string& name);
/// Processor and GPU of this machine, the latter where methods can run on it. One that was never
/// measured has no ceilings (0).
std::vector<Device> devices_here(const Experience& seen);

/// Every candidate that was measured enough and solves the problem, on any of these devices. Of
/// several that are not this machine's those count that have rows of the operation, if any has. A
/// device that was never measured is judged by the one of its backend with most families of tensors
/// of the operation, whose ceilings are taken as proportional to the cores; `why` says so. With
/// `here` only methods that this machine can run.
Advice advise(const Experience& seen, const Registry& registry, const Problem& problem,
              const nlohmann::json& facts, const std::vector<Device>& devices, const Wish& wish,
              bool here);

/// Whether a method may be chosen; empty: any.
using Allowed = std::function<bool(const Method&)>;

/// advise() on this machine with those candidates alone that are allowed; throws InputError where
/// none of them solves the problem.
Advice advise_here(const Registry& registry, const Problem& problem, const nlohmann::json& facts,
                   const Wish& wish, const Allowed& allowed = {});

/// The first of advise_here().
Choice choose(const Registry& registry, const Problem& problem, const nlohmann::json& facts,
              const Wish& wish, const Allowed& allowed = {});

}  // namespace retensor::advise
