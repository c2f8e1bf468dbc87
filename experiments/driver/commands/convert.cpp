// retensor dataset convert: a tensor file in the format of another program, read back and compared.
#include <algorithm>
#include <array>
#include <iostream>

#include <fmt/format.h>
#include <boost/algorithm/string.hpp>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/tensor/operations.hpp"
#include "experiments/driver/commands/catalogue.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/exchange.hpp"

namespace retensor::driver {
namespace {

/// "2,0,1": the modes of the input in the order of the output.
std::vector<int> modes_of(const std::string& text, int order) {
  std::vector<std::string> words, all;
  boost::split(words, text, boost::is_any_of(","));
  for (int m = 0; m < order; ++m) all.push_back(std::to_string(m));
  if (!std::is_permutation(words.begin(), words.end(), all.begin(), all.end()))
    throw input_error("--modes: found '{}', expected each of {} once, as in {}", text,
                      joined(all, " "), joined(all, ","));
  std::vector<int> modes;
  for (const auto& word : words) modes.push_back(word[0] - '0');
  return modes;
}

IndexBase base_of(const std::string& word) {
  constexpr std::array kNames = {"one", "zero", "by-content"};
  return static_cast<IndexBase>(place_among(kNames, word, "--index-base: found"));
}

Duplicates duplicates_of(const std::string& word) {
  constexpr std::array kNames = {"error", "sum", "last"};
  constexpr std::array kPolicies = {Duplicates::error, Duplicates::sum, Duplicates::last};
  return kPolicies.at(place_among(kNames, word, "--duplicates: found"));
}

void require_ones(const Coo& tensor, const std::string& path) {
  tensor.values.visit([&](const auto& values) {
    for (const auto value : values)
      if (value != 1)
        throw input_error(
            "{}: .smtx holds a pattern and this tensor has the value {}; "
            "--drop-values writes its pattern",
            path, value);
  });
}

/// Values in single precision where that changes none of them: no bits of a binary file, and no
/// digits of a text, where 0.1 stays 0.1.
Coo narrowed(Coo tensor, bool from_text) {
  const auto keeps = [from_text](double value) {
    const auto narrow = static_cast<float>(value);
    // The number that the shortest text of the value states.
    const auto as_written = [&] { return number_in<double>(fmt::format("{}", narrow)); };
    return static_cast<double>(narrow) == value || (from_text && as_written() == value);
  };
  if (std::ranges::all_of(tensor.values.as<double>(), keeps))
    tensor.values = tensor.values.cast(DType::f32);
  return tensor;
}

/// Throws when what was written is not what was read; it stays, for one to look at.
void compare(const ExchangeFormat& format, const std::string& path, const Coo& tensor,
             const std::string& recipes) {
  ReadOptions options;
  options.dtype = tensor.dtype();
  if (format.name == "splatt" || format.name == "alto") options.dims = tensor.dims;
  const auto back = read_exchange(path, recipes, options);
  if (const auto what = difference(tensor, back, format.name == "smtx"); !what.empty())
    throw input_error("{}: read back with {}", path, what);
}

}  // namespace

void add_convert_options(Options& add) {
  const auto names = joined(transformed(exchange_formats(), &ExchangeFormat::name), ", ");
  add("to", word("FORMAT"), fmt::format("convert: {} (default: by the ending of OUTPUT)", names));
  add("modes", word("M,M,..."),
      "convert: which mode of the input each mode of the output is, as in 2,0,1");
  add("index-base", word("BASE", "one"),
      "convert: number of the first index in a .tns file: one, zero, by-content (zero if the file "
      "has an index 0)");
  add("duplicates", word("POLICY", "error"),
      "convert: what becomes of values at equal coordinates: error, sum, or last (the others are "
      "dropped)");
  add("drop-values", flag(),
      "convert: drops the values, since a .smtx file has room only for a pattern");
}

int convert_dataset(const std::string& input, const std::string& output, const Given& given) {
  const auto recipes = given.locations().recipes;
  const auto& format = exchange_format(given.text("to"), output);
  ReadOptions options;
  options.index_base = base_of(given.text("index-base"));
  options.duplicates = duplicates_of(given.text("duplicates"));
  options.dtype = DType::f64;
  auto tensor = narrowed(read_exchange(input, recipes, options), holds_text(input));
  if (const auto modes = given.text("modes"); !modes.empty()) {
    const auto order = modes_of(modes, tensor.order());
    tensor = with_modes(std::move(tensor), order);
  }
  if (format.name == "smtx" && !given.flag("drop-values")) require_ones(tensor, output);
  write_exchange(format, output, tensor, recipes);
  compare(format, output, tensor, recipes);
  if (const auto terms = given.registry().restriction(tensor.dims, tensor.nnz()); !terms.empty())
    std::cerr << fmt::format("{}: {}\n", output, terms);
  const auto modes = given.text("modes");
  std::cerr << fmt::format("{}: {}, {}, {}{}; modes {}; indices {}; read back and equal\n", output,
                           format.name, count_text(tensor.nnz(), "nonzero"),
                           joined(tensor.dims, " x "),
                           tensor.dtype() == DType::f64 ? "; values in double precision" : "",
                           modes.empty() ? "in the order of the input" : modes + " of the input",
                           format.indices_of(tensor.order()));
  return 0;
}

}  // namespace retensor::driver
