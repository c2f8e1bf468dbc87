// Scalar types and names that every module shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace retensor {

using Index = std::uint32_t;              ///< one coordinate, 0-based
using Count = std::uint64_t;              ///< nonzeros, elements, bytes, flops
using Dims = std::vector<std::uint64_t>;  ///< mode lengths, mode 0 first

/// 128-bit keys and products; __extension__ keeps -Wpedantic quiet.
__extension__ typedef unsigned __int128 Uint128;

inline constexpr int kMaxOrder = 8;
inline constexpr int kMaxOther = kMaxOrder - 1;  ///< modes beside the one of the output

/// Value type of operands and results in memory.
enum class DType { f32, f64 };

/// Where a method runs.
enum class Backend { cpu, cuda };

std::string_view name(DType t);
std::string_view name(Backend b);
/// Throws InputError for anything but "f32" and "f64".
DType dtype_from_name(std::string_view text);
std::size_t size_of(DType t);

/// Product of the mode lengths; throws InputError when it passes 2^64-1.
std::uint64_t checked_volume(const Dims& dims);

}  // namespace retensor
