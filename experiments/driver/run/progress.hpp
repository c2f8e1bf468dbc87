// What a sweep tells the person in front of it; everything on stderr.
#pragma once

#include <chrono>
#include <string>

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiments/driver/run/labels.hpp"

namespace retensor::driver {

/// A bar with the current case, rows done, failures and time left on a terminal; a line per row
/// elsewhere; nothing but notes of trouble when quiet.
class Progress {
 public:
  /// Of these cases. Chooses the form by whether stderr is a terminal.
  Progress(const std::vector<Case>& cases, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Cases that need no measurement, and how many of them are not as expected.
  void stored(std::size_t cases, std::size_t not_ok);
  /// Shows a case as running.
  void begin(const nlohmann::json& case_object);
  /// `expected`: its status is a result here. If a method declines as expected, no line says so.
  void done(const nlohmann::json& row, bool expected);
  /// Says how many of the rows are noisy.
  void end();
  /// A sentence that stays on the screen.
  void note(const std::string& text);

 private:
  enum class Form { quiet, lines, bar };
  using Clock = std::chrono::steady_clock;

  std::string time_left() const;
  void draw(const std::string& current);
  void clear();

  Form form_;
  Labels labels_;
  std::size_t cases_, measured_ = 0, stored_ = 0, failures_ = 0, noisy_ = 0;
  Clock::time_point start_ = Clock::now();
};

/// The slowest sample over the fastest, "1.08x"; empty for a row without samples.
std::string spread_text(const nlohmann::json& row);

}  // namespace retensor::driver
