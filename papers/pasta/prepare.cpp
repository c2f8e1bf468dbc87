// Patterns of element-wise results and fibers of a mode; see prepare.hpp.
#include "papers/pasta/prepare.hpp"

#include <algorithm>

#include "common/core/error.hpp"
#include "common/tensor/operations.hpp"

namespace retensor::pasta {
namespace {

// Two tensors walked in coordinate order.
class Merge {
 public:
  Merge(const Coo& x, const Coo& y, TewPattern& out)
      : x_(x),
        y_(y),
        px_(sort_permutation(x, natural_order(x.order()))),
        py_(sort_permutation(y, natural_order(y.order()))),
        out_(out) {}

  void run(Arithmetic op) {
    Count i = 0, j = 0;
    while (i < px_.size() || j < py_.size()) {
      const int side = compare(i, j);
      if (side < 0) {
        if (op == Arithmetic::div)
          throw InputError("division by the absent entry " + coordinate_text(x_, px_[i]));
        if (op != Arithmetic::mul) append(x_, px_[i], px_[i], kAbsent);
      } else if (side > 0) {
        if (op == Arithmetic::add || op == Arithmetic::sub) append(y_, py_[j], kAbsent, py_[j]);
      } else {
        append(x_, px_[i], px_[i], py_[j]);
      }
      if (side <= 0) ++i;
      if (side >= 0) ++j;
    }
  }

 private:
  // Order of the two coordinates; a tensor at its end counts as larger.
  int compare(Count i, Count j) const {
    if (i == px_.size()) return 1;
    if (j == py_.size()) return -1;
    for (std::size_t m = 0; m < x_.indices.size(); ++m) {
      const Index a = x_.indices[m][px_[i]], b = y_.indices[m][py_[j]];
      if (a != b) return a < b ? -1 : 1;
    }
    return 0;
  }

  void append(const Coo& source, Count nonzero, Count x, Count y) {
    for (std::size_t m = 0; m < out_.z.indices.size(); ++m)
      out_.z.indices[m].push_back(source.indices[m][nonzero]);
    out_.from_x.push_back(x);
    out_.from_y.push_back(y);
  }

  const Coo &x_, &y_;
  const std::vector<Count> px_, py_;
  TewPattern& out_;
};

}  // namespace

Arithmetic arithmetic(const std::string& variant) {
  if (variant == "add") return Arithmetic::add;
  if (variant == "sub") return Arithmetic::sub;
  if (variant == "mul") return Arithmetic::mul;
  if (variant == "div") return Arithmetic::div;
  throw InputError("unknown element-wise operation '" + variant +
                   "', expected add, sub, mul or div");
}

bool same_pattern(const Coo& x, const Coo& y) {
  return x.dims == y.dims && x.indices == y.indices;
}

TewPattern predict_pattern(const Coo& x, const Coo& y, Arithmetic op) {
  TewPattern pattern;
  if (same_pattern(x, y)) {
    pattern.z = x;
    return pattern;
  }
  Dims dims = x.dims;
  for (std::size_t m = 0; m < dims.size(); ++m) dims[m] = std::max(dims[m], y.dims[m]);
  pattern.z = Coo(dims, x.dtype());
  Merge(x, y, pattern).run(op);
  pattern.z.values = Values(x.dtype(), pattern.from_x.size());
  return pattern;
}

Count FiberArrays::bytes() const {
  return start.size() * sizeof(Count) + index.size() * sizeof(Index) + value.bytes() +
         coordinates.size() * fibers() * sizeof(Index);
}

FiberArrays fiber_arrays(const Coo& x, int mode) {
  FiberArrays f;
  Coo sorted = x;
  const auto modes = fiber_order(x.order(), mode);
  f.was_sorted = is_sorted(sorted, modes);
  if (!f.was_sorted) sort_nonzeros(sorted, modes);
  f.start = fiber_starts(sorted, mode);
  f.coordinates = fiber_coordinates(sorted, mode, f.start);
  f.index = std::move(sorted.indices[static_cast<std::size_t>(mode)]);
  f.value = std::move(sorted.values);
  return f;
}

std::vector<Count> hicoo_fiber_starts(const Hicoo& x) {
  std::vector<Count> start;
  for (Count b = 0; b < x.blocks(); ++b)
    for (Count p = x.block_start[b]; p < x.block_start[b + 1]; ++p) {
      bool fresh = p == x.block_start[b];
      for (std::size_t k = 0; k < x.element.size() && !fresh; ++k)
        fresh = x.element[k][p] != x.element[k][p - 1];
      if (fresh) start.push_back(p);
    }
  start.push_back(x.entries());
  return start;
}

FiberArrays hicoo_fiber_arrays(const Hicoo& x) {
  FiberArrays f;
  f.start = hicoo_fiber_starts(x);
  f.coordinates = fiber_coordinates(x.to_coo(), x.plain[0], f.start);
  f.index = x.plain_index[0];
  f.value = x.values;
  return f;
}

FiberCoordinates fiber_coordinates(const Coo& x, int mode, const std::vector<Count>& start) {
  FiberCoordinates coordinates;
  for (int m = 0; m < x.order(); ++m) {
    if (m == mode) continue;
    const auto& from = x.indices[static_cast<std::size_t>(m)];
    auto& to = coordinates.emplace_back(start.size() - 1);
    for (std::size_t f = 0; f < to.size(); ++f) to[f] = from[start[f]];
  }
  return coordinates;
}

std::vector<std::uint8_t> fiber_ends(const std::vector<Count>& start) {
  std::vector<std::uint8_t> last(start.back());
  for (std::size_t f = 1; f < start.size(); ++f) last[start[f] - 1] = 1;
  return last;
}

Coo ttv_result(Dims dims, int mode, FiberCoordinates fibers, Values values) {
  dims.erase(dims.begin() + mode);
  Coo y;
  y.dims = std::move(dims);
  y.indices = std::move(fibers);
  y.values = std::move(values);
  return y;
}

SemiSparseCoo ttm_result(Dims dims, int mode, std::uint64_t rank, FiberCoordinates fibers,
                         Values values) {
  dims[static_cast<std::size_t>(mode)] = rank;
  // A vector has one fiber even without nonzeros: its result is one dense block.
  if (fibers.empty() && values.size() == 0) values = Values(values.dtype(), rank);
  return {std::move(dims), {mode}, std::move(fibers), std::move(values)};
}

}  // namespace retensor::pasta
