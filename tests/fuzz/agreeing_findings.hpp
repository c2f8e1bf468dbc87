// Findings files whose parts agree: their shape can't ask that a check names a column of its table.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/fuzz/grammar.hpp"

namespace retensor::fuzz {

class AgreeingFindings {
 public:
  AgreeingFindings(nlohmann::json& file, Choices& choices) : file_(file), choices_(choices) {}

  void agree() {
    for (const char* named : {"tables", "figures"})
      if (!file_.contains(named)) file_[named] = Json::object();
    for (auto& table : file_["tables"]) agree_table(table);
    for (auto& figure : file_["figures"]) figure["is"] = printed();
    file_.erase("listings");  // they name a test, of which a file of others has none
    int id = 0;
    for (auto& rule : file_["rules"]) {
      rule["id"] = fmt::format("R-{}", ++id);
      rule.erase("test");
      agree_rule(rule);
    }
  }

 private:
  using Json = nlohmann::json;

  Json printed() {
    return choices_.of(std::vector<Json>{1, 2.5, "26M", "0.152%", "~14", "3.72E-9", nullptr});
  }

  void agree_table(Json& table) {
    auto& rows = table["rows"];
    if (rows.empty()) rows["r"] = Json::array();
    for (auto& cells : rows) {
      cells = Json::array();
      while (cells.size() < table["columns"].size()) cells.push_back(printed());
    }
  }

  void agree_rule(Json& rule) {
    std::vector<std::string> terms = {"1", "2.5", "max(1, 2)"};
    for (const auto& figure : file_["figures"].items()) terms.push_back(figure.key());
    for (const auto& table : file_["tables"].items())
      for (const auto& column : table.value()["columns"])
        terms.push_back(fmt::format("sum({}: {})", table.key(), column.get<std::string>()));
    rule.erase("rows");
    if (file_["tables"].empty()) rule.erase("table");
    if (rule.contains("table")) {
      const auto table = file_["tables"].items().begin();
      rule["table"] = table.key();
      for (const auto& row : table.value()["rows"].items())
        if (choices_.one_in(2)) rule["rows"].push_back(row.key());
      for (const auto& column : table.value()["columns"]) terms.push_back(column);
    }
    rule["check"] = check(terms);
    for (auto& reading : rule["instead"]) reading["check"] = check(terms);
    if (rule["instead"].empty()) rule.erase("instead");
  }

  std::string check(const std::vector<std::string>& terms) {
    static const std::vector<std::string> operators = {"+", "-", "*", "/", "^"},
                                          relations = {"=", "==", "<=", ">=", "<", ">"};
    std::string text = choices_.of(terms);
    for (auto more = choices_.below(3); more > 0; --more)
      text += fmt::format(" {} {}", choices_.of(operators), choices_.of(terms));
    return fmt::format("{} {} {}", text, choices_.of(relations), choices_.of(terms));
  }

  Json& file_;
  Choices& choices_;
};

inline void agree_findings(nlohmann::json& file, Choices& choices) {
  AgreeingFindings(file, choices).agree();
}

}  // namespace retensor::fuzz
