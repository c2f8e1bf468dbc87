// Figures of a paper as printed and the checks that relate them (papers/<id>/paper/findings.yaml,
// experiments/schema).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/driver/judge/audit/formula.hpp"
#include "experiments/driver/yaml/shape.hpp"

namespace retensor::driver {

/// A number and the text that stands for it; empty where the paper has none.
struct Cell {
  std::string text;
  std::optional<Estimate> number;
  bool certain = false;  ///< quoted in the file: exact and not misread
};

/// A number of the text.
struct Figure {
  std::string place;
  Cell cell;
};

struct Table {
  std::string place;
  std::vector<std::string> columns;
  std::vector<std::string> rows;         ///< their names
  std::vector<std::vector<Cell>> cells;  ///< by row and column
};

/// A statement of the paper and where it stands.
struct Statement {
  std::string place, text;
};

/// Another reading under which the figures may fit.
struct Reading {
  std::string states;
  Check check;
};

/// What findings have in common.
struct Claimed {
  std::string id;
  Statement says, against;
  std::string severity;           ///< result, choice, wording
  std::string confidence;         ///< high, medium, low
  std::string source, test_case;  ///< the test that shows it, if any: file and name
};

/// A check of figures, for every row of a table (or the rows named) or once.
struct Rule : Claimed {
  std::string table;
  std::vector<std::size_t> rows;
  Check check;
  std::vector<Reading> instead;
  FilePosition at;
};

/// A printed algorithm that a test shows to be at fault.
using Listing = Claimed;

struct Findings {
  std::string paper, file;
  std::map<std::string, Table> tables;
  std::map<std::string, Figure> figures;
  std::vector<Rule> rules;
  std::vector<Listing> listings;
};

/// What a file of findings may hold.
ShapePtr findings_shape();

/// Throws ParseError with file and line: another shape, a figure that is no number, a row of
/// another length, an expression that doesn't parse, an id a second time, a test case that its
/// source (relative to `root`) doesn't have.
Findings load_findings(const std::string& path, const std::string& root);
/// The same for text in memory; `name` stands for the file.
Findings parse_findings(std::string_view text, const std::string& name, const std::string& root);

}  // namespace retensor::driver
