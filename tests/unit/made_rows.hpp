// Rows for tests, from lines that hold `machine` and `git` of their session.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "experiments/driver/run/row.hpp"

namespace retensor::testing {

inline driver::Row made_row(nlohmann::json line) {
  driver::Session session;
  for (const auto* member : {"machine", "git"})
    if (const auto at = line.find(member); at != line.end()) {
      session.line[member] = *at;
      line.erase(at);
    }
  return driver::Row(std::move(line), std::make_shared<const driver::Session>(std::move(session)));
}

inline std::vector<driver::Row> made_rows(const std::vector<nlohmann::json>& lines) {
  std::vector<driver::Row> rows;
  for (const auto& line : lines) rows.push_back(made_row(line));
  return rows;
}

}  // namespace retensor::testing
