// Append-only result files and their recovery.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "experiments/driver/run/currency.hpp"

namespace retensor::driver {

/// What a file holds of a case; `elsewhere`: an ok row of another machine than this one.
enum class Stored { nothing, ok, elsewhere, unsupported };

/// One result file, locked against a second driver for as long as the object lives.
class Store {
 public:
  /// Opens or creates, folders included. Repairs a torn last line (reported by repaired()). Throws
  /// InputError for a newer schema or damage before the last line (the file is untouched),
  /// SystemError when the file is locked by another driver or can't be written.
  explicit Store(const std::string& path);
  ~Store();

  /// Bytes of a torn last line that were cut off, 0 when the file was whole.
  std::size_t repaired() const;
  /// Looks for a row of this key from this build that is not stale against the code of `today`: one
  /// that is ok, of this machine or of one that is not known before others, else one that found the
  /// case unsupported on a machine with the same devices as `machine`.
  Stored find(const std::string& key, const RowCode& today, const nlohmann::json& machine) const;
  /// Appends one line and flushes it to disk. When that fails (full disk) the file is cut back to
  /// the lines before, and SystemError thrown.
  void append(const nlohmann::json& line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace retensor::driver
