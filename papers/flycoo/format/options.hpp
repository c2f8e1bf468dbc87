// The choices that FLYCOO's format leaves, and those that a method's parameters make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/method/params.hpp"

namespace retensor::flycoo {

/// How the indices of a mode, sorted by nonzeros in descending order, reach the partitions.
enum class Assignment {
  least_loaded,  ///< each to the partition that is least filled (Algorithm 1)
  cyclic,        ///< in turn (the text of section 3.4)
  contiguous,    ///< unsorted: neighbouring indices with nearly equal nonzeros
  random         ///< unsorted: each drawn
};
/// Order of the nonzeros inside a partition, which the paper leaves open.
enum class Arrangement {
  arrival,  ///< as the pass over the mode before meets them; in mode 0 as the input has them
  row       ///< by output index, then arrival
};
enum class Indices {
  plain,  ///< 32 bits each
  packed  ///< ceil(log2 I_m) bits each, side by side
};
enum class Ids {
  record,  ///< all ids in the record (section 3.5)
  stream   ///< an array per mode that its pass reads in sequence: only one id moves at a time
};

/// The words of a choice, in the order of its enumerators.
using Words = std::vector<std::string>;
template <class Choice>
inline const Words kWords;
template <>
inline const Words kWords<Assignment> = {"least_loaded", "cyclic", "contiguous", "random"};
template <>
inline const Words kWords<Arrangement> = {"arrival", "row"};
template <>
inline const Words kWords<Indices> = {"plain", "packed"};
template <>
inline const Words kWords<Ids> = {"record", "stream"};

template <class Choice>
const std::string& word_of(Choice choice) {
  return kWords<Choice>[static_cast<std::size_t>(choice)];
}
/// Throws InputError for anything but the choice's words.
template <class Choice>
Choice choice_of(const std::string& word);

struct Options {
  std::uint32_t kappa = 1;  ///< partitions of each mode: the processors that share the work
  Assignment assignment = Assignment::least_loaded;
  Arrangement arrangement = Arrangement::arrival;
  Indices indices = Indices::plain;
  Ids ids = Ids::record;
  int align = 4;           ///< bytes, a multiple of 4, whose multiple a record takes
  int id_bits = 0;         ///< 32 or 64; 0: 64 from 2^32 nonzeros on
  std::uint64_t seed = 1;  ///< of Assignment::random
};

/// The format that parameters ask for; `processors` is the number that kappa 0 stands for.
Options format_options(const Params& params, int processors, std::uint64_t seed);

}  // namespace retensor::flycoo
