// Patterns of element-wise results by a merge of the operands; see patterns.hpp.
#include "papers/pasta/format/patterns.hpp"

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

}  // namespace retensor::pasta
