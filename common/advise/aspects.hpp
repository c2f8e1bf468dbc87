// The numbers by which the planner compares problems.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/advise/contraction_facts.hpp"
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

/// Its name, with the cores of a processor: two machines may share a name.
std::string described(const Device& device);

/// What a row or a tensor tells of a problem.
struct Subject {
  ProblemSpec spec;
  bool has_mode = true;  ///< false: all modes at once
  Dims dims;
  Dims other_dims;  ///< of the second tensor of a contraction; empty where it is x itself
  Count nnz = 0;
  std::vector<ModeFacts> modes;
  double per_tile = 0;    ///< nonzeros per non-empty tile of 8 in every mode
  double entries = 0;     ///< nonzeros of a contraction's result
  TilePairs tiles;        ///< of a contraction; 0 where they are not known
  bool is_sorted = true;  ///< nonzeros stand in the order of their modes, as in most files
  Work work;
};

/// Of a problem whose tensor is at hand; `facts` as tensor_facts() gives them. Throws InputError
/// where they are not of the tensor's order.
Subject subject_of(const Problem& problem, const nlohmann::json& facts);
/// The modes and the tiles of `facts` put into the subject; throws InputError as above.
void take_facts(Subject& subject, const nlohmann::json& facts);

/// What an aspect tells, each a logarithm but for kPlainAspects. Modes of the product are those
/// whose rows are combined or summed: the mode of the operation, the contracted modes, mode 0 of
/// spmm, else all. Seconds are those at the device's ceilings, with a launch; the dense product is
/// that of spmm, the result that of a contraction, whose compulsory bytes count it too. The last
/// three are 1 or 0: a sort by the mode is no work where the nonzeros stand by it first, and none
/// by its fibers where they stand by it last; a usual rank is a power of two from 8 on.
inline constexpr std::array kAspectNames = {
    "seconds of the bytes",
    "seconds of the compulsory bytes",
    "bytes over compulsory bytes",
    "order",
    "rank",
    "nonzeros",
    "nonzeros a fiber, mean of the modes",
    "nonzeros a fiber, most of the modes",
    "nonzeros a fiber, most of the other modes",
    "nonzeros a fiber, least of the other modes",
    "share of the fullest slice",
    "gini of the slices",
    "shortest mode",
    "nonzeros a slice",
    "nonzeros a tile of 8",
    "factors over the cache",
    "density",
    "seconds of the dense product or the result",
    "flops a nonzero",
    "products an entry of the result",
    "products a pair of tiles",
    "products a pair of tiles of the matrices",
    "nonzeros stand by the mode first",
    "nonzeros stand by the mode last",
    "usual rank",
};
/// A difference of this much in one matters as much as one of another's scale.
inline constexpr std::array<double, kAspectNames.size()> kAspectScales = {
    2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0.3, 2, 2, 2, 1, 4, 2, 2, 4, 1, 1, 0.5, 0.5, 0.5};
inline constexpr std::size_t kFloorAspect = 1;
/// Those that are no logarithms.
inline constexpr std::array<std::size_t, 5> kPlainAspects = {3, 11, 22, 23, 24};
using Aspects = std::array<double, kAspectNames.size()>;

/// Seconds no run passes below: the compulsory bytes at the device's bandwidth, and a launch.
double floor_seconds(const Subject& subject, const Device& device);

/// Throws InputError for a contraction whose einsum does not fit the mode lengths.
Aspects aspects_of(const Subject& subject, const Device& device);

}  // namespace retensor::advise
