// Claims and the rows that they are judged by, for tests.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "experiments/driver/judge/claims.hpp"
#include "experiments/driver/judge/verdict.hpp"
#include "tests/support/complaint.hpp"
#include "tests/unit/made_rows.hpp"

namespace retensor::testing {

using namespace retensor::driver;
using nlohmann::json;

struct TempFile {
  std::string path;
  TempFile(const std::string& name, const std::string& text)
      : path(
            (std::filesystem::temp_directory_path() / (std::to_string(getpid()) + name)).string()) {
    std::ofstream(path) << text;
  }
  ~TempFile() { std::filesystem::remove(path); }
};

/// A claims file with one claim, a measurement unless `lines` say else, and these lines after its
/// head.
inline std::string claims_text(const std::string& lines) {
  const auto* asks = lines.find("asks: ") == std::string::npos ? "    asks: measurement\n" : "";
  return "schema: 1\npaper: p\nclaims:\n  - id: P-1\n    place: Table I\n    kind: TAB\n"
         "    states: something\n" +
         std::string(asks) + lines;
}

inline std::vector<Claim> load(const std::string& text) {
  const TempFile file("claims.yaml", text);
  return load_claims(file.path);
}

inline std::string refusal(const std::string& text) {
  return test::refusal_of([&] { load(text); });
}

inline const std::string kPublished =
    "    published: {value: 2, unit: x}\n    hardware: any\n    tolerance: {relative: 0.1}\n";
inline const std::string kQuery =
    "    query: {where: {operation: ttv}, value: v, reduce: median}\n";

inline Claim claim_with(const std::string& lines) {
  return load(claims_text(lines)).front();
}

inline json row(const std::string& method, const std::string& dataset, double value,
                const std::string& kind = "real", const std::string& device = "Some CPU") {
  return {{"kind", "row"},
          {"status", "ok"},
          {"reason", ""},
          {"key", method + dataset + device},
          {"source_hash", ""},
          {"v", value},
          {"machine", {{"cpu", {{"model", device}}}, {"gpu", {{"name", device}}}}},
          {"case",
           {{"operation", "ttv"},
            {"method", method},
            {"dataset", dataset},
            {"data", {{"kind", kind}, {"papers", json::array({"p"})}}}}}};
}

inline Verdict judge_rows(const std::string& lines, const std::vector<json>& rows,
                          const DataSets& data = {}) {
  return judge(claim_with(lines), made_rows(rows), data);
}

inline double number(const Verdict& v) {
  return v.measured ? v.measured->value : -1;
}

inline std::string with_hardware(const std::string& hardware, const std::string& query) {
  return "    published: {value: 2}\n    tolerance: {relative: 0.1}\n    hardware: " + hardware +
         "\n" + query;
}

inline const std::string kRatio =
    "    query:\n      where: {method: a.cpu.x}\n      value: v\n      reduce: geomean\n"
    "      ratio_to: {where: {method: b.cpu.y}}\n      per: [dataset]\n";

}  // namespace retensor::testing
