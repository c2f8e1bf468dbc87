// The bar is redrawn in place; a row leaves no trace on a terminal, since the file has it.
#include "experiments/driver/run/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/core/text.hpp"
#include "experiments/driver/run/noise.hpp"
#include "experiments/driver/run/results.hpp"
#include "experiments/driver/run/row.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {
using nlohmann::json;

namespace {

constexpr std::size_t kBarWidth = 24;

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string outcome(const json& row) {
  if (const auto status = status_of(row); status != Status::ok)
    return fmt::format(
        "{}: {}",
        talk_style()(status == Status::unsupported ? Tone::doubtful : Tone::bad, name(status)),
        row.at("reason").get<std::string>());
  const auto noise = noise_text(row);
  return fmt::format("ok, {}, spread {}{}",
                     duration_text(row.at("stats").at("median").get<double>()), spread_text(row),
                     noise.empty() ? "" : fmt::format(" ({})", noise));
}

}  // namespace

std::string spread_text(const json& row) {
  const auto least = number_at(row, "stats.min"), most = number_at(row, "stats.max");
  return least > 0 ? fmt::format("{:.2f}x", most / least) : std::string();
}

Progress::Progress(const std::vector<Case>& cases, bool quiet)
    : form_(quiet                        ? Form::quiet
            : isatty(STDERR_FILENO) == 1 ? Form::bar
                                         : Form::lines),
      labels_(cases),
      cases_(cases.size()) {}

Progress::~Progress() {
  clear();
}

void Progress::end() {
  if (form_ == Form::quiet || noisy_ == 0) return;
  note(fmt::format(
      "noisy: {} of {} rows (samples that spread or drift, or a machine with more work "
      "than cores); `retensor run --rerun` measures them again, best on a quiet machine",
      noisy_, measured_));
}

void Progress::stored(std::size_t cases, std::size_t not_ok) {
  stored_ += cases;
  failures_ += not_ok;
}

void Progress::begin(const json& case_object) {
  if (form_ == Form::bar) draw(labels_.of(case_object));
}

void Progress::done(const json& row, bool expected) {
  ++measured_;
  if (!expected) ++failures_;
  if (!noise_text(row).empty()) ++noisy_;
  const bool declined = expected && status_of(row) == Status::unsupported;
  if (form_ == Form::lines && !declined)
    std::cerr << fmt::format("[{}/{}] {}: {}\n", stored_ + measured_, cases_,
                             labels_.of(row.at("case")), outcome(row));
  else if (form_ == Form::bar)
    draw(labels_.of(row.at("case")));
  if (form_ == Form::quiet) return;
  for (const auto& finding : texts_at(row, "findings")) note("  finding: " + finding);
  for (const auto& probe : texts_at(row.value("foreign", json::object()), "probes_declined"))
    note("  declined: " + probe);
}

void Progress::note(const std::string& text) {
  clear();
  std::cerr << text << '\n';
}

std::string Progress::time_left() const {
  if (measured_ == 0) return "?";
  const std::chrono::duration<double> spent = Clock::now() - start_;
  const auto left = static_cast<double>(cases_ - std::min(cases_, stored_ + measured_));
  return duration_text(spent.count() / static_cast<double>(measured_) * left);
}

void Progress::draw(const std::string& current) {
  const auto done = stored_ + measured_;
  const auto filled = cases_ == 0 ? kBarWidth : std::min(kBarWidth, done * kBarWidth / cases_);
  const auto line =
      fmt::format("[{:#<{}}{:.<{}}] {}/{} rows, {} not ok, {} noisy, {} left | {}", "", filled, "",
                  kBarWidth - filled, done, cases_, failures_, noisy_, time_left(), current);
  clear();
  std::cerr << line.substr(0, terminal_width() - 1) << std::flush;
}

void Progress::clear() {
  if (form_ == Form::bar) std::cerr << "\r\x1b[K" << std::flush;
}

}  // namespace retensor::driver
