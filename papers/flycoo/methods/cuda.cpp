// flycoo.cuda, flycoo.cuda.tuned, flycoo.cuda.copies, flycoo.cuda.wide, flycoo.cuda.memoised and
// flycoo.cuda.chunks.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/device/device.hpp"
#include "common/numeric/rounding.hpp"
#include "papers/flycoo/format/halves.hpp"
#include "papers/flycoo/format/tiles.hpp"
#include "papers/flycoo/kernels/prepare_cuda.hpp"
#include "papers/flycoo/kernels/tuned_cuda.hpp"
#include "papers/flycoo/methods/methods.hpp"

namespace retensor::flycoo {

using tuned::Variant;

Support supports_block(const tuned::Block& block, bool remap, const device::Limits& limits) {
  if (block.walkers % 32 != 0 || block.senders % 32 != 0 || block.threads() > tuned::kMostThreads)
    return Support::no(
        fmt::format("found {} walkers and {} senders, expected multiples of 32 that add up to "
                    "at most {}",
                    block.walkers, block.senders, tuned::kMostThreads));
  if (block.shared(remap) > limits.shared_per_block)
    return Support::no(fmt::format(
        "tiles of {} KiB and {} walkers need more shared memory than the {} KiB of a block",
        block.tile / tuned::kKibi, block.walkers, limits.shared_per_block / tuned::kKibi));
  return Support::yes();
}

namespace {

Support supports_preparation(const Problem& problem, const Params& params) {
  if (params.word("prepare") == "device" && problem.nonzeros() >> 32 != 0)
    return Support::no("prepare=device supports fewer than 2^32 nonzeros; prepare=host takes more");
  return Support::yes();
}

Support supports_positions(const Problem& problem, const Params&) {
  const auto& dims = problem.x().dims;
  if (problem.nonzeros() >> 32 != 0) return Support::no("supports fewer than 2^32 nonzeros");
  if (std::any_of(dims.begin(), dims.end(), [](auto d) { return d > ~Index{0}; }))
    return Support::no("supports only modes of at most 2^32 - 1 indices");
  return Support::yes();
}

template <Variant kVariant>
Support supports_params(const Problem& problem, const Params& params) {
  if (!device::available().ok) return Support::yes();  // but for that, as its own reason says
  const device::Limits limits = device::facts();
  return supports_block(tuned::block_of(problem, params, kVariant, limits),
                        kVariant == Variant::remapped, limits);
}

bool all_of_length_1(const Dims& dims) {
  return std::ranges::all_of(dims, [](auto d) { return d == 1; });
}

/// Values are taken from the words behind one of indices.
Support supports_lengths(const Problem& problem, const Params&) {
  if (!all_of_length_1(problem.x().dims)) return Support::yes();
  return Support::no("supports only tensors with a mode longer than 1: records need indices");
}

/// A record that registers do not hold is read in shared memory, where none but the tile's lie, by
/// fields of two words. Behind whole words of indices a mode of length 1 has its field in the
/// value.
Support supports_fields(const Problem& problem, const Params&) {
  const auto layout = tiled_layout(problem.x().dims, problem.dtype());
  if (layout.words <= static_cast<int>(tuned::kRegisterWords)) return Support::yes();
  for (int m = 0; m < layout.order; ++m)
    if (layout.index[m].word + 1 >= layout.words)
      return Support::no(
          fmt::format("found mode {} of length 1 behind indices of whole words, expected one that "
                      "a record of {} words has bits of",
                      m + 1, layout.words));
  return Support::yes();
}

/// Of the modes of a half the tuples' records are made.
Support supports_halves(const Problem& problem, const Params&) {
  const auto& dims = problem.x().dims;
  if (dims.size() < 4)
    return Support::no("supports only orders from 4 on, whose modes have two halves");
  const auto first = first_half(dims, problem.nonzeros());
  Dims half[2];
  for (int m = 0; m < static_cast<int>(dims.size()); ++m)
    half[std::ranges::binary_search(first, m) ? 0 : 1].push_back(dims[static_cast<std::size_t>(m)]);
  if (!all_of_length_1(half[0]) && !all_of_length_1(half[1])) return Support::yes();
  return Support::no("supports only halves with a mode longer than 1: records need indices");
}

Support supports_wide(const Problem& problem, const Params&) {
  if (problem.dtype() == DType::f32) return Support::yes();
  return Support::no("supports only single precision (f32)");
}

double largest_magnitude(const Matrix& factor) {
  double largest = 0;
  factor.values().visit([&](const auto& values) {
    for (const auto v : values) largest = std::max(largest, std::abs(static_cast<double>(v)));
  });
  return largest;
}

/// Factors in 16 bits are rounded once; scaled ones lose what lies 2^32 below their largest
/// magnitude.
reference::Precision precision_of_wide(const Problem& problem, const Params& params) {
  auto p = reference::Precision::of(problem.dtype());
  if (params.word("gather") == "f32") return p;
  const bool scaled = params.word("gather") == "f16";
  p.operand_eps = scaled ? kUnitRoundoffFp16 : kUnitRoundoffBf16;
  p.roundings = problem.x().order() - 1;
  if (scaled)
    for (const auto& factor : problem.dense())
      p.underflow = std::max(p.underflow, 0x1p-32 * largest_magnitude(factor));
  return p;
}

template <bool kRemap>
std::unique_ptr<Prepared> prepare_tuned(const Problem& problem, const Params& params) {
  return prepare_tuned_cuda(problem, params, kRemap);
}

ParamSchema block_params() {
  return {
      param(
          "tile", 0,
          "KiB of a tile's records, in shared memory with remapping; 0: by the size of the factors")
          .range(0, 200),
      param("walkers", 0,
            "threads of a block that add up rows, a multiple of 32; 0: by the size of the factors")
          .range(0, 1024)};
}

ParamSpec senders_param() {
  return param("senders", 0,
               "threads of a block that send records to the next mode, a multiple of 32; 0: "
               "by the size of the factors")
      .range(0, 512);
}

}  // namespace

MethodSpec make_flycoo_cuda() {
  return passes_method({
      .id = "flycoo.cuda",
      .summary = "MTTKRP over all modes with remapping in the pass, thread blocks of R x P "
                 "(Algorithms 2 to 5)",
      .conditions = {supports_format, supports_preparation},
      .prepare = RETENSOR_DEVICE_PART(prepare_paper_cuda),
      .params =
          format_params("multiprocessor")
              .with(
                  {param("p", 32,
                         "nonzeros that a thread block takes at a time, the P of section 4.3")
                       .range(1, 1024),
                   param("atomics", "block",
                         "scope of the additions to the output: block as in the paper, or device")
                       .words({"block", "device"}),
                   param("tag_owners", false,
                         "note which thread block writes each output row and fail on a second one"),
                   prepare_param()}),
  });
}

MethodSpec make_flycoo_cuda_tuned() {
  return passes_method({
      .id = "flycoo.cuda.tuned",
      .summary =
          "MTTKRP over all modes with remapping from tile to tile in shared memory, no atomics",
      .conditions = {supports_positions, supports_lengths, supports_fields,
                     supports_params<Variant::remapped>},
      .prepare = RETENSOR_DEVICE_PART(prepare_tuned<true>),
      .params = block_params().with({senders_param(), prepare_param()}),
      .form = own_form(),
  });
}

MethodSpec make_flycoo_cuda_copies() {
  return passes_method({
      .id = "flycoo.cuda.copies",
      .summary =
          "the kernel of flycoo.cuda.tuned on a copy of the tensor per mode, without remapping",
      .conditions = {supports_positions, supports_lengths, supports_params<Variant::copies>},
      .prepare = RETENSOR_DEVICE_PART(prepare_tuned<false>),
      .params = block_params().with({prepare_param()}),
      .form = own_form(),
      .default_of_passes = true,
  });
}

MethodSpec make_flycoo_cuda_wide() {
  return passes_method({
      .id = "flycoo.cuda.wide",
      .summary = "the kernel of flycoo.cuda.copies with eight columns per lane, factor rows "
                 "gathered in 32 or 16 bits",
      .conditions = {supports_positions, supports_lengths, supports_wide,
                     supports_params<Variant::wide>},
      .precision = precision_of_wide,
      .prepare = RETENSOR_DEVICE_PART(prepare_wide_cuda),
      .params = block_params().with(
          {param("gather", "f32",
                 "type of a factor's elements: f32, bf16, or f16 scaled by a power of two a factor")
               .words({"f32", "bf16", "f16"}),
           prepare_param()}),
      .form = own_form(),
  });
}

MethodSpec make_flycoo_cuda_memoised() {
  const auto has_type = [](const Problem& problem, const Params& params) {
    if (params.word("gather") == "f32" || problem.dtype() == DType::f32) return Support::yes();
    return Support::no("gather: supports 16 bits only in single precision (f32)");
  };
  const ParamSpec gather = param("gather", "f32",
                                 "type of a factor's elements in partial products: f32, bf16, or "
                                 "f16 scaled by a power of two a factor")
                               .words({"f32", "bf16", "f16"});
  return passes_method({
      .id = "flycoo.cuda.memoised",
      .summary = "the kernel of flycoo.cuda.copies on partial products of two halves of the modes, "
                 "from order 4 on",
      .conditions = {supports_positions, supports_halves, has_type},
      .precision = precision_of_wide,
      .prepare = RETENSOR_DEVICE_PART(prepare_memoised_cuda),
      .params = {gather},
      .form = own_form(),
      .bytes_per_nonzero = 120,
  });
}

MethodSpec make_flycoo_cuda_chunks() {
  const auto has_records = [](const Problem& problem, const Params& params) {
    const auto& dims = problem.x().dims;
    if (problem.dtype() != DType::f32) return Support::no("supports only single precision (f32)");
    if (std::any_of(dims.begin(), dims.end(), [](auto d) { return d >> 31 != 0; }))
      return Support::no("supports only modes of fewer than 2^31 indices");
    if (params.integer("chunk") % 4 == 0) return Support::yes();
    return Support::no(fmt::format("found chunks of {} nonzeros, expected a multiple of 4",
                                   params.integer("chunk")));
  };
  return passes_method({
      .id = "flycoo.cuda.chunks",
      .summary = "MTTKRP over all modes in one launch, for small tensors: a copy per mode in "
                 "chunks of neighbouring nonzeros",
      .conditions = {supports_positions, has_records},
      .prepare = RETENSOR_DEVICE_PART(prepare_chunks_cuda),
      .params =
          {param("chunk", 0,
                 "nonzeros that a group of lanes takes, a multiple of 4; 0: as many as keep the "
                 "device busy once, 8 to 64")
               .range(0, 4096)},
      .form = own_form(),
      .bytes_per_nonzero = 70,
  });
}

}  // namespace retensor::flycoo
