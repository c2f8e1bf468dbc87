// Append-only result files and their recovery.
#pragma once

#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace retensor::driver {

/// One result file, locked against a second driver for as long as the object lives.
class Store {
 public:
  /// Opens or creates. Repairs a torn last line (reported by repaired()). Throws InputError for a
  /// newer schema (the file is untouched) or damage before the last line, SystemError when the file
  /// is locked by another driver or can't be written.
  explicit Store(const std::string& path);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  bool repaired() const;
  /// Keys of rows with status ok from the same build (version, compiler, flags, method sources).
  bool finished(const std::string& key, const std::string& source_hash) const;
  /// Appends one line and flushes it to disk; throws SystemError when the disk is full.
  void append(const nlohmann::json& line);

 private:
  struct State;
  State* state_;
};

}  // namespace retensor::driver
