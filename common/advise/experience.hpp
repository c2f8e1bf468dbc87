// What was measured: the table that the planner predicts from, common/advise/model.json.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/advise/aspects.hpp"

namespace retensor::advise {

/// A method with those of its parameters that are not the defaults: "edge=4 path=auto".
struct Candidate {
  std::string method, params;
  bool rounds = false;  ///< its operands, to fewer bits than the values have
  auto operator<=>(const Candidate&) const = default;
};

struct SeenProblem {
  std::size_t device = 0;
  Operation operation = Operation::mttkrp;
  std::string data;      ///< name of the data set, and what else tells its problems apart
  std::string family;    ///< tensors of one origin, which are left out together
  bool is_real = false;  ///< neither generated nor a stand-in
  double tensor_bytes = 0;
  Aspects at{};
};

/// Medians over the rows of a candidate on a problem.
struct SeenTimes {
  std::size_t problem = 0, candidate = 0;
  double run = 0, prepare = 0;  ///< seconds
  double format_bytes = 0, device_bytes = 0;
  double error = 0;  ///< relative, in the Frobenius norm
};

struct Experience {
  std::vector<Device> devices;
  std::vector<Candidate> candidates;
  std::vector<SeenProblem> problems;
  std::vector<SeenTimes> times;

  /// Throws InputError with what is wrong in a text that text() did not write.
  static Experience parse(std::string_view text);
  /// JSON, a line a problem and a line for the times of each.
  std::string text() const;
  /// The table that this library was built with.
  static const Experience& built_in();
};

/// The origin of a tensor by its name: of a stand-in what it stands in for; without the paper in
/// front, its size and its variant: wordnet-like@skew, tca-8192-50, irr2S4d -> wordnet, 8192, irr.
std::string family_of(std::string_view data);

}  // namespace retensor::advise
