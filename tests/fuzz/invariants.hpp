// What every fuzz target asserts: a reader gives a sound tensor or throws InputError, says the same
// whatever the chunks of the parallel parser, and reads back what is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "common/core/error.hpp"
#include "common/io/cache.hpp"
#include "common/io/options.hpp"
#include "common/io/tns.hpp"
#include "common/tensor/coo.hpp"

namespace retensor::fuzz {

/// Ends the process, which is how a fuzz target reports.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken invariant: %s\n", what);
  std::abort();
}

inline bool same(const Coo& a, const Coo& b) {
  if (a.dims != b.dims || a.indices != b.indices || a.dtype() != b.dtype()) return false;
  for (Count x = 0; x < a.nnz(); ++x)
    if (a.values.at(x) != b.values.at(x)) return false;
  return a.nnz() == b.nnz();
}

/// A tensor, or the message of the refusal.
struct Outcome {
  std::optional<Coo> tensor;
  std::string refusal;
};

/// Any exception but InputError passes through and is a finding.
template <class Read>
Outcome attempt(Read read) {
  try {
    return {read(), {}};
  } catch (const InputError& e) {
    return {std::nullopt, e.what()};
  }
}

inline void require_round_trips(const Coo& tensor) {
  ReadOptions options;
  options.dtype = tensor.dtype();
  require(same(parse_tns(to_tns(tensor), "written", options), tensor), "text reads back");
  require(same(parse_cache(to_cache(tensor), "written"), tensor), "a cache reads back");
}

using TextReader = Coo (*)(std::string_view, const std::string&, const ReadOptions&);

/// The options follow from the size, so that inputs stay plain files. Whether the reader took them.
inline bool try_text(TextReader read, std::string_view bytes) {
  ReadOptions options;
  options.dtype = bytes.size() % 2 == 0 ? DType::f32 : DType::f64;
  options.duplicates = static_cast<Duplicates>(bytes.size() / 2 % 3);
  const Outcome whole = attempt([&] { return read(bytes, "input", options); });
  options.chunk_bytes = 1 + bytes.size() % 29;
  const Outcome cut = attempt([&] { return read(bytes, "input", options); });
  require(whole.refusal == cut.refusal, "chunks do not change a refusal");
  require(whole.tensor.has_value() == cut.tensor.has_value(), "chunks do not change the outcome");
  if (!whole.tensor) return false;
  require(same(*whole.tensor, *cut.tensor), "chunks do not change the tensor");
  whole.tensor->check();
  require_round_trips(*whole.tensor);
  return true;
}

}  // namespace retensor::fuzz
