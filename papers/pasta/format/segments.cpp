// See segments.hpp.
#include "papers/pasta/format/segments.hpp"

namespace retensor::pasta {

SegmentParts cut_segments(std::span<const Count> start, Count target) {
  SegmentParts parts;
  const Count longest = target + target / 4;
  Count begin = 0;
  const auto close = [&](Count end, Count segment) {
    parts.bound.push_back(begin);
    parts.first.push_back(segment);
    begin = end;
  };
  Count first = 0;  // segment of nonzero `begin`
  for (Count s = 0; s + 1 < start.size(); ++s) {
    const Count end = start[s + 1];
    if (end - begin > longest && start[s] > begin && start[s] - begin >= target / 2) {
      close(start[s], first);
      first = s;
    }
    bool cut = false;
    while (end - begin > longest) {
      close(begin + target, first);
      cut = true;
      first = s;
    }
    if (cut) parts.cut.push_back(s);
    if (end - begin >= target) {
      close(end, first);
      first = s + 1;
    }
  }
  if (begin < start.back()) close(start.back(), first);
  parts.bound.push_back(begin);
  return parts;
}

std::vector<Count> run_starts(std::span<const Index> row) {
  std::vector<Count> start;
  for (Count p = 0; p < row.size(); ++p)
    if (p == 0 || row[p] != row[p - 1]) start.push_back(p);
  start.push_back(row.size());
  return start;
}

}  // namespace retensor::pasta
