#include "experiments/driver/data/exchange.hpp"

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "common/core/message.hpp"
#include "common/core/text.hpp"
#include "common/io/cache.hpp"
#include "common/io/files.hpp"
#include "common/io/matrix_market.hpp"
#include "common/io/read.hpp"
#include "common/io/tns.hpp"
#include "common/tensor/operations.hpp"
#include "experiments/driver/data/bytes.hpp"
#include "experiments/driver/data/process.hpp"
#include "experiments/driver/yaml/yaml_tree.hpp"

namespace retensor::driver {
namespace fs = std::filesystem;
namespace {

constexpr int kStackOrder = 3;

bool has_ending(const std::string& path, const ExchangeFormat& format) {
  return std::ranges::any_of(format.endings,
                             [&](const std::string& ending) { return path.ends_with(ending); });
}

/// Says what went wrong in the recipe's own sentence, which it prints after its name.
void run_recipe(const std::string& recipes, const std::string& recipe, const std::string& input,
                const std::string& out) {
  const ScratchFolder scratch;
  const auto errors = (scratch.path() / "errors").string();
  const auto program = (fs::path(recipes) / recipe).string();
  const int code = run_process({python_interpreter(), program, "--input", input, "--out", out}, "",
                               ChildOutput::to_stderr, errors);
  auto said = boost::trim_copy(std::string(MappedFile(errors).view()));
  constexpr int kRefused = 2;
  const auto begin = fs::path(recipe).stem().string() + ": ";
  if (code == kRefused && said.starts_with(begin) && said.find('\n') == said.npos)
    throw InputError(said.substr(begin.size()));
  if (!said.empty()) std::cerr << said << '\n';
  if (code != 0) throw input_error("{}: {} ended with exit code {}", input, recipe, code);
}

/// Errors name the user's file, not what was made of it.
Coo read_by(const char* recipe, const char* name, const std::string& path,
            const std::string& recipes, const ReadOptions& options) {
  const ScratchFolder scratch;
  const auto made = (scratch.path() / name).string();
  const auto input = fs::absolute(path).string();
  try {
    run_recipe(recipes, recipe, input, made);
    return read_tensor(made, options);
  } catch (const InputError& e) {
    std::string message = e.what();
    boost::replace_all(message, made, path);
    boost::replace_all(message, input, path);
    throw InputError(message);
  }
}

void write_by_exchange(const std::string& path, const Coo& tensor, const std::string& recipes) {
  writable_target(path);
  const ScratchFolder scratch;
  const auto made = (scratch.path() / "a.tnsb").string();
  write_cache(made, tensor);
  run_recipe(recipes, "exchange.py", made, fs::absolute(path).string());
}

/// Slice k of the last mode as a matrix.
std::vector<Coo> slices_of(const Coo& tensor) {
  const auto& last = tensor.indices[2];
  std::vector<Count> sizes(tensor.dims[2], 0), filled(tensor.dims[2], 0);
  for (const auto k : last) ++sizes[k];
  std::vector<Coo> slices;
  for (const auto size : sizes)
    slices.emplace_back(Dims{tensor.dims[0], tensor.dims[1]}, tensor.dtype(), size);
  tensor.values.visit([&]<class T>(const Array<T>& values) {
    for (Count x = 0; x < tensor.nnz(); ++x) {
      const auto at = filled[last[x]]++;
      auto& slice = slices[last[x]];
      for (int m = 0; m < 2; ++m) slice.indices[m][at] = tensor.indices[m][x];
      slice.values.template as<T>()[at] = values[x];
    }
  });
  return slices;
}

/// A folder with a matrix per index of the last mode; numbers of equal length keep their order.
void write_stack(const std::string& path, const Coo& tensor) {
  if (tensor.order() != kStackOrder)
    throw input_error(
        "{}: {}; Matrix Market holds a matrix, or a folder of them "
        "the slices of a tensor with 3 modes",
        path, count_text(static_cast<Count>(tensor.order()), "mode"));
  const fs::path part = path + ".part";
  fs::remove_all(part);
  fs::create_directories(part);
  const auto slices = slices_of(tensor);
  const auto digits = std::to_string(slices.size()).size();
  for (std::size_t k = 0; k < slices.size(); ++k)
    write_matrix_market((part / fmt::format("slice_{:0{}}.mtx", k + 1, digits)).string(),
                        slices[k]);
  if (fs::exists(path)) {
    fs::remove_all(part);
    throw InputError(path + ": there is something of this name; the slices need a new folder");
  }
  fs::rename(part, path);
}

void write_matrices(const std::string& path, const Coo& tensor, const std::string&) {
  tensor.order() == 2 ? write_matrix_market(path, tensor) : write_stack(path, tensor);
}

template <TnsHeader header>
void write_text(const std::string& path, const Coo& tensor, const std::string&) {
  write_tns(path, tensor, header);
}

/// A writer that no recipe helps.
template <auto write>
void write_alone(const std::string& path, const Coo& tensor, const std::string&) {
  write(path, tensor);
}

/// In natural order, so that two tensors compare entry by entry.
Coo sorted(Coo tensor) {
  const auto modes = natural_order(tensor.order());
  if (!is_sorted(tensor, modes)) sort_nonzeros(tensor, modes);
  return tensor;
}

std::string first_difference(const Coo& a, const Coo& b, bool pattern) {
  std::string found;
  a.values.visit([&]<class T>(const Array<T>& values) {
    const auto other = b.values.cast(a.dtype());
    for (Count x = 0; x < a.nnz() && found.empty(); ++x) {
      const bool same = std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(),
                                   [x](const auto& p, const auto& q) { return p[x] == q[x]; });
      if (!same)
        found = fmt::format("{} instead of {}", coordinate_text(b, x), coordinate_text(a, x));
      else if (!pattern && other.template as<T>()[x] != values[x])
        found = fmt::format("{} instead of {} at {}", other.template as<T>()[x], values[x],
                            coordinate_text(a, x));
    }
  });
  return found;
}

}  // namespace

const std::vector<ExchangeFormat>& exchange_formats() {
  static const std::vector<ExchangeFormat> all = {
      {"tns",
       {".tns"},
       "from one, below the order and the mode lengths",
       write_text<TnsHeader::order_and_dims>},
      {"tnsb", {".tnsb"}, "from zero", write_alone<write_cache>},
      {"mtx",
       {".mtx"},
       "from one",
       write_matrices,
       "; a folder of matrices, the last mode's slices"},
      {"smtx", {".smtx"}, "columns from zero; values are not kept", write_alone<write_smtx>},
      {"npz", {".npz"}, "from zero", write_by_exchange},
      {"hdf5", {".h5", ".hdf5"}, "from zero", write_by_exchange},
      {"parti",
       {},
       "from one, below the order and the mode lengths",
       write_text<TnsHeader::order_and_dims>},
      {"splatt", {}, "from one; mode lengths are not kept", write_text<TnsHeader::none>},
      {"alto", {}, "from one; mode lengths are not kept", write_text<TnsHeader::none>},
      {"genten", {".txt"}, "from zero", write_alone<write_genten>},
  };
  return all;
}

const ExchangeFormat& exchange_format(const std::string& name, const std::string& path) {
  for (const auto& format : exchange_formats())
    if (name.empty() ? has_ending(path, format) : format.name == name) return format;
  const auto names = transformed(exchange_formats(), &ExchangeFormat::name);
  if (name.empty())
    throw input_error("{}: the ending '{}' names no format; --to does: {}", path,
                      fs::path(path).extension().string(), joined(names, ", "));
  throw input_error("unknown format '{}'{}", name, suggestion(name, names));
}

bool holds_text(const std::string& path) {
  const auto name = fs::path(path).filename().string();
  return std::ranges::none_of(std::array{".npz", ".h5", ".hdf5", ".tnsb"}, [&](const char* part) {
    return name.find(part) != name.npos;  // a .tnsb may be packed
  });
}

Coo read_exchange(const std::string& path, const std::string& recipes, const ReadOptions& options) {
  std::error_code error;
  if (fs::is_directory(path, error)) return read_by("stack.py", "a.tns", path, recipes, options);
  for (const char* ending : {".npz", ".h5", ".hdf5"})
    if (path.ends_with(ending)) return read_by("exchange.py", "a.tnsb", path, recipes, options);
  return read_tensor(path, options);
}

void write_exchange(const ExchangeFormat& format, const std::string& path, const Coo& tensor,
                    const std::string& recipes) {
  const bool by_ending = format.name == "npz" || format.name == "hdf5" || format.name == "smtx";
  if (by_ending && !has_ending(path, format))
    throw input_error("{}: a file of format {} ends with {}", path, format.name,
                      joined(format.endings, " or "));
  format.write(path, tensor, recipes);
}

std::string difference(const Coo& written, const Coo& back, bool pattern) {
  if (written.dims != back.dims)
    return fmt::format("mode lengths {} instead of {}", joined(back.dims, " x "),
                       joined(written.dims, " x "));
  if (written.nnz() != back.nnz())
    return fmt::format("{} instead of {}", count_text(back.nnz(), "nonzero"), written.nnz());
  return first_difference(sorted(written), sorted(back), pattern);
}

}  // namespace retensor::driver
