#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/data/bytes.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <iostream>

#include "common/core/message.hpp"
#include "common/formats/hicoo.hpp"
#include "common/tensor/linear_index.hpp"
#include "common/tensor/operations.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {

namespace {

/// The letter of a mode, as papers write indices.
std::string letter(int mode) {
  return std::string(1, static_cast<char>('i' + mode));
}

std::string values_text(const Values& values, Count first, std::uint64_t count) {
  std::string text;
  for (Count v = first; v < first + count; ++v)
    text += fmt::format("{}{:g}", v == first ? "" : " ", values.at(v));
  return text;
}

/// A line per entry: its index in each of these modes (i, j, k, ...), then its values.
template <class Format>
std::vector<TableRow> entry_rows(const Format& tensor, const std::vector<int>& modes, Count entries,
                                 Count volume) {
  std::vector<TableRow> rows(1);
  for (const int m : modes) rows[0].push_back(letter(m));
  rows[0].emplace_back(volume == 1 ? "value" : "values");
  for (Count x = 0; x < entries; ++x) {
    auto& row = rows.emplace_back();
    for (const auto& indices : tensor.indices) row.push_back(std::to_string(indices[x]));
    row.push_back(values_text(tensor.values, x * volume, volume));
  }
  return rows;
}

std::vector<TableRow> arrays_of(const Coo& tensor) {
  return entry_rows(tensor, natural_order(tensor.order()), tensor.nnz(), 1);
}

/// An entry is a fiber: sparse indices and dense values.
std::vector<TableRow> arrays_of(const SemiSparseCoo& tensor) {
  return entry_rows(tensor, tensor.sparse_modes(), tensor.fibers(), tensor.dense_volume());
}

/// A line per entry: block pointer and block indices where a block begins (bptr, bi, ...), element
/// indices (ei, ...), full indices of plain modes (gHiCOO), values of dense modes (sHiCOO).
std::vector<TableRow> arrays_of(const Hicoo& tensor) {
  std::vector<TableRow> rows = {{"bptr"}};
  for (const int m : tensor.blocked) rows[0].push_back(fmt::format("b{}", letter(m)));
  for (const int m : tensor.blocked) rows[0].push_back(fmt::format("e{}", letter(m)));
  for (const int m : tensor.plain) rows[0].push_back(letter(m));
  const auto volume = tensor.dense_volume();
  rows[0].emplace_back(volume == 1 ? "value" : "values");
  for (Count b = 0; b < tensor.blocks(); ++b)
    for (Count p = tensor.block_start[b]; p < tensor.block_start[b + 1]; ++p) {
      const bool first = p == tensor.block_start[b];
      auto& row = rows.emplace_back();
      row.push_back(first ? std::to_string(p) : "");
      for (const auto& index : tensor.block_index)
        row.push_back(first ? std::to_string(index[b]) : "");
      for (const auto& element : tensor.element) row.push_back(std::to_string(element[p]));
      for (const auto& index : tensor.plain_index) row.push_back(std::to_string(index[p]));
      row.push_back(values_text(tensor.values, p * volume, volume));
    }
  return rows;
}

template <class Format>
Layout layout(const std::string& format, const Format& tensor) {
  return {format, tensor.bytes(), arrays_of(tensor)};
}

}  // namespace

std::vector<Layout> layouts_of(const Coo& tensor, const LayoutChoice& choice) {
  std::vector<Layout> all = {layout("COO", tensor),
                             layout("HiCOO", to_hicoo(tensor, {choice.block_bits, {}}))};
  if (!choice.plain.empty())
    all.push_back(layout("gHiCOO", to_hicoo(tensor, {choice.block_bits, choice.plain})));
  if (!choice.dense.empty()) {
    const auto semi = to_semi_sparse(tensor, choice.dense);
    all.push_back(layout("sCOO", semi));
    all.push_back(layout("sHiCOO", to_hicoo(semi, choice.block_bits)));
  }
  return all;
}

std::string arrays_text(const Layout& layout) {
  std::vector<std::string> arrays;
  for (std::size_t column = 0; column < layout.rows.front().size(); ++column) {
    std::string array;
    for (const auto& row : layout.rows)
      if (!row[column].empty()) array += (array.empty() ? "" : " ") + row[column];
    arrays.push_back(array);
  }
  return boost::join(arrays, "; ");
}

namespace {

std::vector<int> modes_of(const Given& given, const char* option, const Coo& tensor) {
  auto modes = given.get<std::vector<int>>(option);
  std::ranges::sort(modes);
  modes.erase(std::unique(modes.begin(), modes.end()), modes.end());
  for (const int m : modes)
    if (m < 0 || m >= tensor.order())
      throw input_error("--{}: found mode {}, expected 0 to {}", option, m, tensor.order() - 1);
  if (modes.size() == static_cast<std::size_t>(tensor.order()))
    throw input_error("--{}: every mode is named, but at least one must be left out", option);
  return modes;
}

int block_bits_of(const Given& given) {
  const int edge = given.get<int>("block");
  if (edge < 1 || edge > 256 || (edge & (edge - 1)) != 0)
    throw input_error("--block: found {}, expected a power of two up to 256", edge);
  return bits_for(static_cast<std::uint64_t>(edge));
}

int layout_command(const Given& given) {
  const auto name = given.positional("a data set or file");
  const auto datasets = given.registry();
  const auto& dataset = datasets.with_facts(name);
  if (dataset.nnz > kMostInLayout)
    throw input_error("{} has {} nonzeros, but a layout shows at most {}", name, dataset.nnz,
                      kMostInLayout);
  const auto tensor = datasets.obtain(dataset, given.cache());
  for (const auto& layout :
       layouts_of(*tensor, {block_bits_of(given), modes_of(given, "plain", *tensor),
                            modes_of(given, "dense", *tensor)}))
    std::cout << fmt::format("{}, {}\n{}\n", layout.format, count_text(layout.bytes, "byte"),
                             table_text(layout.rows));
  return 0;
}

}  // namespace

Interface layout_interface() {
  const Usage usage{"layout TENSOR",
                    "Prints a small tensor (data set or file) in COO and HiCOO. --plain adds "
                    "gHiCOO, --dense adds sCOO and sHiCOO. Modes and indices count from 0.",
                    "retensor layout datasets/pasta-fig1.tns --block 2 --plain 2", 1,
                    "its output is for reading"};
  Options add;
  const auto modes = [] {
    return po::value<std::vector<int>>()->multitoken()->value_name("MODE...");
  };
  add("block", number("EDGE", 128), "block edge, a power of two up to 256");
  add("plain", modes(), "modes that gHiCOO leaves in coordinates");
  add("dense", modes(), "modes that sCOO and sHiCOO store dense");
  add.locations();
  return {usage, add, layout_command};
}

}  // namespace retensor::driver
