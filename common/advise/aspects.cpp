// Logarithms, so that a model that is linear in them is a product of powers.
#include "common/advise/aspects.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/core/message.hpp"
#include "common/tensor/einsum.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::advise {
namespace {

/// Of a launch, or of waking threads: what the shortest of the committed rows take.
constexpr double kLaunchSeconds = 5e-6;

double log_of(double x) {
  return std::log(std::max(x, 1e-9));
}

std::vector<int> all_modes_of(const Subject& s) {
  std::vector<int> modes(s.dims.size());
  std::iota(modes.begin(), modes.end(), 0);
  return modes;
}

Contraction contraction_of(const Subject& s) {
  return {s.spec.variant, s.dims, s.other_dims.empty() ? s.dims : s.other_dims};
}

std::vector<int> product_modes(const Subject& s) {
  if (s.spec.operation == Operation::spmm) return {0};
  if (s.spec.operation == Operation::contraction) return contraction_of(s).contracted_x;
  return s.has_mode ? std::vector{s.spec.mode} : all_modes_of(s);
}

/// Those not in `modes`; where there are none, `modes`.
std::vector<int> other_modes(const Subject& s, const std::vector<int>& modes) {
  auto others = all_modes_of(s);
  std::erase_if(others, [&](int m) { return std::count(modes.begin(), modes.end(), m) > 0; });
  return others.empty() ? modes : others;
}

template <class Of>
std::vector<double> over(const std::vector<int>& modes, Of of) {
  std::vector<double> values;
  for (const int m : modes) values.push_back(of(m));
  return values;
}

double least(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

double most(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double rank_of(const Subject& s) {
  return has_rank(s.spec.operation) ? static_cast<double>(s.spec.rank) : 1;
}

/// Of a contraction's result, an index a mode and a value each; 0 for others.
double result_bytes(const Subject& s) {
  if (s.spec.operation != Operation::contraction) return 0;
  const auto contraction = contraction_of(s);
  const double entry = 4 * static_cast<double>(contraction.result.size()) +
                       static_cast<double>(size_of(s.spec.dtype));
  return s.entries * entry;
}

/// Of spmm by a dense matrix, or of writing the result of a contraction.
double dense_seconds(const Subject& s, const Device& device) {
  switch (s.spec.operation) {
    case Operation::spmm:
      return log_of(kLaunchSeconds + cells_in(s.dims) * rank_of(s) / (device.gflops * 1e9));
    case Operation::contraction:
      return log_of(kLaunchSeconds + result_bytes(s) / (device.gbytes * 1e9));
    default:
      return 0;
  }
}

/// Logarithm of the products of a contraction that each of `parts` stands for; 0 where it has none.
double products_of(const Subject& s, double parts) {
  return parts > 0 ? log_of(s.work.flops / 2 / parts) : 0;
}

/// Whether nonzeros are in the order of their modes and the operation's is the one at `place`.
double stands_by_mode(const Subject& s, int place) {
  return s.is_sorted && s.has_mode && s.spec.mode == place ? 1 : 0;
}

/// Whether rows are whole vectors of the usual widths, for which kernels have loops of their own;
/// so are rows of no rank.
bool has_usual_rank(const Subject& s) {
  const auto rank = s.spec.rank;
  return !has_rank(s.spec.operation) || (rank >= 8 && std::has_single_bit(rank));
}

}  // namespace

std::string described(const Device& device) {
  return device.cores > 0 ? fmt::format("{} with {} cores", device.name, device.cores)
                          : device.name;
}

void take_facts(Subject& subject, const nlohmann::json& facts) {
  const auto order = subject.dims.size();
  for (const char* member : {"fibers", "per_fiber", "slices", "largest_slice", "slice_gini"})
    if (!facts.contains(member) || facts[member].size() != order)
      throw input_error("facts of a tensor: expected `{}` of {} modes", member, order);
  subject.modes.clear();
  for (std::size_t m = 0; m < order; ++m)
    subject.modes.push_back({facts["fibers"][m], facts["per_fiber"][m], facts["slices"][m],
                             facts["largest_slice"][m], facts["slice_gini"][m]});
  subject.per_tile = facts.value("/tile8/per_tile"_json_pointer, 0.0);
}

Subject subject_of(const Problem& problem, const nlohmann::json& facts) {
  Subject subject;
  subject.spec = problem.spec();
  subject.has_mode = has_mode(problem.operation());
  subject.dims = problem.x().dims;
  subject.nnz = problem.x().nnz();
  subject.work = work_model(problem);
  subject.is_sorted = is_sorted(problem.x(), natural_order(problem.x().order()));
  if (problem.operation() == Operation::contraction) {
    subject.other_dims = problem.y().dims;
    const auto contraction = contraction_of(subject);
    subject.entries = result_entries(problem.x(), problem.y(), contraction);
    subject.tiles = tile_pairs(problem.x(), problem.y(), contraction);
  }
  take_facts(subject, facts);
  return subject;
}

double floor_seconds(const Subject& subject, const Device& device) {
  return kLaunchSeconds +
         (subject.work.compulsory_bytes + result_bytes(subject)) / (device.gbytes * 1e9);
}

Aspects aspects_of(const Subject& s, const Device& device) {
  const auto modes = product_modes(s), others = other_modes(s, modes);
  const auto nnz = static_cast<double>(s.nnz);
  const auto fact = [&](int m) { return s.modes.at(static_cast<std::size_t>(m)); };
  const auto per_fiber = [&](int m) { return log_of(fact(m).per_fiber); };
  const auto fullest = [&](int m) {
    return log_of(static_cast<double>(fact(m).largest_slice) / nnz);
  };
  const auto gini_of = [&](int m) { return fact(m).slice_gini; };
  const auto length = [&](int m) {
    return log_of(static_cast<double>(s.dims[static_cast<std::size_t>(m)]));
  };
  const auto per_slice = [&](int m) {
    return log_of(nnz / std::max(1.0, static_cast<double>(fact(m).slices)));
  };
  const double cells = cells_in(s.dims), bytes = s.work.bytes,
               floor = s.work.compulsory_bytes + result_bytes(s);
  const double cache = std::max(1.0, static_cast<double>(device.cache_bytes));
  const auto factors = static_cast<double>(factor_bytes(s.spec, s.dims));
  return {log_of(kLaunchSeconds + bytes / (device.gbytes * 1e9)),
          log_of(floor_seconds(s, device)),
          log_of(bytes / std::max(1.0, floor)),
          static_cast<double>(s.dims.size()),
          log_of(rank_of(s)),
          log_of(std::max(1.0, nnz)),
          mean(over(modes, per_fiber)),
          most(over(modes, per_fiber)),
          most(over(others, per_fiber)),
          least(over(others, per_fiber)),
          most(over(modes, fullest)),
          most(over(modes, gini_of)),
          least(over(modes, length)),
          most(over(modes, per_slice)),
          log_of(std::max(1.0, s.per_tile)),
          std::log1p(factors / cache),
          log_of(nnz / cells),
          dense_seconds(s, device),
          log_of(s.work.flops / std::max(1.0, nnz)),
          products_of(s, s.entries),
          products_of(s, s.tiles.of_tensors),
          products_of(s, s.tiles.of_matrices),
          stands_by_mode(s, 0),
          stands_by_mode(s, static_cast<int>(s.dims.size()) - 1),
          has_usual_rank(s) ? 1.0 : 0.0};
}

}  // namespace retensor::advise
