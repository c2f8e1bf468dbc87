// The numbers by which the planner compares problems.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/advise/facts.hpp"
#include "common/method/problem.hpp"
#include "common/method/work.hpp"

namespace retensor::advise {

/// A processor or GPU with the ceilings that were measured on it.
struct Device {
  std::string name;
  Backend backend = Backend::cpu;
  int cores = 0;          ///< of a processor
  double gbytes = 0;      ///< bandwidth of its DRAM, GB/s
  double gflops = 0;      ///< fp32 peak, GFLOP/s
  Count cache_bytes = 0;  ///< last-level cache, of a GPU its L2
};

/// What a row or a tensor tells of a problem.
struct Subject {
  ProblemSpec spec;
  bool has_mode = true;  ///< false: all modes at once
  Dims dims;
  Count nnz = 0;
  std::vector<ModeFacts> modes;
  double per_tile = 0;  ///< nonzeros per non-empty tile of 8 in every mode
  Work work;
};

/// Of a problem whose tensor is at hand; `facts` as tensor_facts() gives them. Throws InputError
/// where they are not of the tensor's order.
Subject subject_of(const Problem& problem, const nlohmann::json& facts);
/// The modes and the tiles of `facts` put into the subject; throws InputError as above.
void take_facts(Subject& subject, const nlohmann::json& facts);

struct Aspect {
  const char* name;
  double scale;  ///< a difference of this much matters as much as one of another's scale
  bool is_logarithm = true;
};

/// Modes of the product are those whose rows are combined or summed: the mode of the operation, the
/// contracted modes, mode 0 of spmm, else all.
inline constexpr std::array kAspects = {
    Aspect{"seconds of the bytes", 2},             // work.bytes at the ceiling, and a launch
    Aspect{"seconds of the compulsory bytes", 2},  // the same of work.compulsory_bytes
    Aspect{"bytes over compulsory bytes", 1},
    Aspect{"order", 1, false},
    Aspect{"rank", 1},
    Aspect{"nonzeros", 2},
    Aspect{"nonzeros a fiber, mean of the modes", 2},
    Aspect{"nonzeros a fiber, most of the modes", 2},
    Aspect{"nonzeros a fiber, most of the other modes", 2},
    Aspect{"nonzeros a fiber, least of the other modes", 2},
    Aspect{"share of the fullest slice", 2},
    Aspect{"gini of the slices", 0.3, false},
    Aspect{"shortest mode", 2},
    Aspect{"nonzeros a slice", 2},
    Aspect{"nonzeros a tile of 8", 2},
    Aspect{"factors over the cache", 1},
    Aspect{"density", 4},
    Aspect{"seconds of the dense product", 2},  // of spmm: all M x K x N at the fp32 peak
    Aspect{"flops a nonzero", 2},
    Aspect{"pairs over cells of the result", 4},  // of a contraction
};
using Aspects = std::array<double, kAspects.size()>;

/// Seconds no run passes below: the compulsory bytes at the device's bandwidth, and a launch.
double floor_seconds(const Work& work, const Device& device);

/// Throws InputError for a contraction whose einsum does not fit the mode lengths.
Aspects aspects_of(const Subject& subject, const Device& device);

}  // namespace retensor::advise
