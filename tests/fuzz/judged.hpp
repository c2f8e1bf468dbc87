// Verdicts on claims of any content, by a few rows.
#pragma once

#include <string_view>
#include <vector>

#include "experiments/driver/judge/claims.hpp"
#include "experiments/driver/judge/verdict.hpp"
#include "tests/unit/made_rows.hpp"

namespace retensor::fuzz {

inline const std::vector<driver::Row>& a_few_rows() {
  static const auto rows = [] {
    std::vector<nlohmann::json> lines;
    for (const int n : {0, 1, 2, 3})
      lines.push_back({{"kind", "row"},
                       {"key", std::to_string(n)},
                       {"status", n == 3 ? "oom" : "ok"},
                       {"case",
                        {{"artifact", "a/b"},
                         {"method", n % 2 == 0 ? "pasta.cpu.coo" : "pasta.cpu.hicoo"},
                         {"dataset", "tiny"},
                         {"mode", n / 2},
                         {"data", {{"kind", "real"}}}}},
                       {"stats", {{"median", n - 1.0}}},
                       {"machine", {{"cpu", {{"model", "Some CPU"}}}}}});
    return testing::made_rows(lines);
  }();
  return rows;
}

/// Throws InputError where the text is no file of claims.
inline void judge_all(std::string_view text) {
  for (const auto& claim : driver::parse_claims(text, "input.yaml"))
    driver::to_json(claim, driver::judge(claim, a_few_rows(), {})).dump();
}

}  // namespace retensor::fuzz
