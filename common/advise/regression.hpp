// Gaussian process regression over problems, methods and parameter sets (C. E. Rasmussen, C. K. I.
// Williams: Gaussian Processes for Machine Learning, 2006, Algorithm 2.1).
//
// Two times are alike for three reasons that add up: the problems are alike, whoever solves them;
// the method is the same; its parameters are the same too. Each part has an offset, a slope in the
// aspects and a smooth part, so that the model is a product of powers where no neighbour is near,
// and follows the neighbours where they are.
#pragma once

#include <memory>
#include <vector>

#include "common/advise/aspects.hpp"

namespace retensor::advise {

/// Standard deviations of a part of the model, in logarithms.
struct Part {
  double offset = 0, slope = 0, smooth = 0;
};

struct Kernel {
  double length = 1;                ///< over which the smooth parts change, in scales of aspects
  Part problem, method, candidate;  ///< what all share, a method, a method with its parameters
  double noise = 0.1;               ///< between two measurements of the same
};

/// Where a value was measured or is asked for.
struct Place {
  Aspects at;
  std::size_t method = 0, candidate = 0;  ///< numbers of ids and of parameter sets
};

/// Covariances of estimates that were made together, row by row.
struct Joint {
  std::size_t count = 0;
  std::vector<double> covariance;
};

/// Of a logarithm: noise of a measurement included.
struct Estimate {
  double mean = 0, deviation = 0;
  std::shared_ptr<const Joint> joint = nullptr;  ///< of those made together with it
  std::size_t number = 0;                        ///< of it among them
};

/// Of two estimates on one problem: as they were made together, else the share that is usual.
double covariance(const Estimate& a, const Estimate& b);

class Regression {
 public:
  /// One value a place; throws LogicError unless there is at least one.
  Regression(std::vector<Place> places, const std::vector<double>& values, const Kernel& kernel);
  ~Regression();
  Regression(Regression&&) noexcept;
  Estimate at(const Place& place) const;
  /// Of all these together.
  std::vector<Estimate> at(const std::vector<Place>& places) const;
  /// What the values of all other groups say of each place; a group a place, whose estimates are
  /// made together. As if each group had been left out in turn, from one factorisation (equation
  /// 5.12 for blocks).
  std::vector<Estimate> left_out(const std::vector<int>& groups) const;

 private:
  struct Solved;
  std::unique_ptr<const Solved> solved_;
};

}  // namespace retensor::advise
