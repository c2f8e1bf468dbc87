// retensor layout: a small tensor as the arrays of the formats, PASTA Fig. 1 and 2 from the real
// code.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "common/core/error.hpp"
#include "common/tensor/linear_index.hpp"
#include "experiments/driver/commands/commands.hpp"
#include "experiments/driver/commands/layouts.hpp"
#include "experiments/driver/data/datasets.hpp"
#include "experiments/driver/run/table.hpp"

namespace retensor::driver {
namespace {

std::vector<int> modes_of(const Given& given, const char* option, const Coo& tensor) {
  auto modes = given.get<std::vector<int>>(option);
  std::sort(modes.begin(), modes.end());
  modes.erase(std::unique(modes.begin(), modes.end()), modes.end());
  for (const int m : modes)
    if (m < 0 || m >= tensor.order())
      throw InputError(
          fmt::format("--{}: found mode {}, expected 0 to {}", option, m, tensor.order() - 1));
  if (modes.size() == static_cast<std::size_t>(tensor.order()))
    throw InputError(
        fmt::format("--{}: every mode is named, but at least one must be left out", option));
  return modes;
}

int block_bits_of(const Given& given) {
  const int edge = given.get<int>("block");
  if (edge < 1 || edge > 256 || (edge & (edge - 1)) != 0)
    throw InputError(fmt::format("--block: found {}, expected a power of two up to 256", edge));
  return bits_for(static_cast<std::uint64_t>(edge));
}

int layout_command(const Given& given) {
  const auto name = given.positional("a data set or file");
  const auto datasets = given.registry();
  const auto& dataset = datasets.with_facts(name);
  if (dataset.nnz > kMostInLayout)
    throw InputError(fmt::format("{} has {} nonzeros, but a layout shows at most {}", name,
                                 dataset.nnz, kMostInLayout));
  const auto tensor = datasets.obtain(dataset, given.cache());
  for (const auto& layout :
       layouts_of(*tensor, {block_bits_of(given), modes_of(given, "plain", *tensor),
                            modes_of(given, "dense", *tensor)}))
    std::cout << fmt::format("{}, {} bytes\n{}\n", layout.format, layout.bytes,
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
  po::options_description options;
  const auto modes = [] {
    return po::value<std::vector<int>>()->multitoken()->value_name("MODE...");
  };
  auto add = options.add_options();
  add("block", number("EDGE", 128), "block edge, a power of two up to 256");
  add("plain", modes(), "modes that gHiCOO leaves in coordinates");
  add("dense", modes(), "modes that sCOO and sHiCOO store dense");
  add_location_options(options);
  return {usage, options, layout_command};
}

}  // namespace retensor::driver
