// The bookkeeping that the timers of host and device share: which stage began when, in storage that
// never grows during a run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "common/core/error.hpp"
#include "common/core/stage_timer.hpp"

namespace retensor {

/// Up to 64 stage entries of one run. The first entry begins with the run itself, so that the
/// stages sum to the run's time; a run that announces none counts as one stage named kernel.
class StageLog {
 public:
  static constexpr std::size_t kCapacity = 64;
  static constexpr std::size_t kLongestName = 47;

  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }

  /// Notes that `stage` begins; throws LogicError when the log is full or the name too long.
  void add(std::string_view stage) {
    if (size_ == kCapacity) throw LogicError("a run announces more than 64 stages");
    if (stage.size() > kLongestName) throw LogicError("a stage name is longer than 47 characters");
    Name& name = names_[size_++];
    name.length = stage.size();
    std::copy(stage.begin(), stage.end(), name.text.begin());
  }

  /// Sums `seconds(k)`, the length of entry k, by name in order of first appearance.
  template <class Seconds>
  StageTimes collect(Seconds&& seconds) const {
    StageTimes times;
    for (std::size_t k = 0; k < size_; ++k) {
      const std::string_view name(names_[k].text.data(), names_[k].length);
      const auto same = [name](const auto& entry) { return entry.first == name; };
      const auto at = std::find_if(times.begin(), times.end(), same);
      if (at == times.end())
        times.emplace_back(name, seconds(k));
      else
        at->second += seconds(k);
    }
    return times;
  }

 private:
  struct Name {
    std::array<char, kLongestName> text;
    std::size_t length;
  };
  std::array<Name, kCapacity> names_{};
  std::size_t size_ = 0;
};

}  // namespace retensor
