// Damage to the arrays of a format, one place at a time, which its check() must find.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "common/baselines/f_coo/format.hpp"
#include "common/numeric/stored.hpp"
#include "common/tensor/values.hpp"

namespace retensor::contract {

/// An array gets shorter or longer by one, or one of its entries has all bits set: no index, no
/// offset and no value is that.
enum class Damage { shorter, longer, first, middle, last };
inline constexpr Damage kDamages[] = {Damage::shorter, Damage::longer, Damage::first,
                                      Damage::middle, Damage::last};
inline constexpr const char* kDamageNames[] = {"shorter", "longer", "first entry", "middle entry",
                                               "last entry"};

/// The place of the damage in an array of n entries.
inline Count place_of(Damage damage, Count n) {
  return damage == Damage::first ? 0 : damage == Damage::middle ? n / 2 : n - 1;
}
/// Entries of an array of n that gets shorter or longer.
inline Count size_after(Damage damage, Count n) {
  return damage == Damage::shorter ? n - 1 : damage == Damage::longer ? n + 1 : n;
}

/// Whether the array is another one now.
template <class T, class Allocator>
bool plant(std::vector<T, Allocator>& array, Damage damage) {
  if (damage == Damage::longer) {
    array.push_back(array.empty() ? T{} : array.back());
    return true;
  }
  if (array.empty()) return false;
  if (damage == Damage::shorter) {
    array.pop_back();
    return true;
  }
  void* const entry = &array[place_of(damage, array.size())];
  const T before = array[place_of(damage, array.size())];
  std::memset(entry, 0xff, sizeof(T));
  return std::memcmp(entry, &before, sizeof(T)) != 0;
}

inline bool plant(Values& values, Damage damage) {
  return values.visit([damage](auto& array) { return plant(array, damage); });
}

/// The same of classes that keep their arrays to themselves; like(n) is an empty one of n entries,
/// copy(from, to, p) takes over an entry, spoil(array, p) damages one.
template <class A, class Like, class CopyEntry, class Spoil>
bool plant_into(A& array, Damage damage, const Like& like, const CopyEntry& copy,
                const Spoil& spoil) {
  const Count n = array.size();
  if (n == 0 && damage != Damage::longer) return false;
  A changed = like(size_after(damage, n));
  for (Count p = 0; p < std::min(n, changed.size()); ++p) copy(array, changed, p);
  if (changed.size() == n) spoil(changed, place_of(damage, n));
  array = changed;
  return true;
}

inline bool plant(StoredValues& values, Damage damage) {
  return plant_into(
      values, damage, [&](Count n) { return StoredValues(values.type(), n); },
      [](const auto& from, auto& to, Count p) { to.set(p, from.at(p)); },
      [](auto& to, Count p) { to.set(p, std::numeric_limits<float>::infinity()); });
}

inline bool plant(PackedIndices& indices, Damage damage) {
  return plant_into(
      indices, damage, [&](Count n) { return PackedIndices(32 * indices.words(), n); },
      [](const auto& from, auto& to, Count p) { to.set(p, from.at(p)); },
      [](auto& to, Count p) { to.set(p, ~Uint128{0}); });
}

inline bool plant(f_coo::Flags& flags, Damage damage) {
  return plant_into(
      flags, damage, [](Count n) { return f_coo::Flags(n); },
      [](const auto& from, auto& to, Count p) { to.set(p, from[p]); },
      [](auto& to, Count p) { to.flip(p); });
}

template <class T, class Allocator>
Count bytes_of(const std::vector<T, Allocator>& array) {
  return array.size() * sizeof(T);
}
template <class A>
Count bytes_of(const A& array) {
  return array.bytes();
}
inline Count bytes_of(const f_coo::Flags& flags) {
  return flags.num_blocks() * sizeof(std::uint32_t);
}

/// Goes through the arrays of a format, adds up their bytes, and damages one of them.
class Arrays {
 public:
  /// All as they are.
  Arrays() = default;
  /// The array with this number, counted from 0 in the order in which they are named.
  Arrays(int number, Damage damage) : number_(number), damage_(damage) {}

  /// Arrays, and arrays of arrays, that bytes() counts.
  template <class... A>
  void operator()(A&... array) {
    (add(array), ...);
  }
  /// Those that it does not count, such as lists of modes.
  template <class... A>
  void beside(A&... array) {
    (visit(array), ...);
  }
  /// One that it counts, whose entries check() leaves to others.
  template <class A>
  void length_of(A& array) {
    bytes_ += bytes_of(array);
    if (seen_++ == number_ && (damage_ == Damage::shorter || damage_ == Damage::longer))
      planted_ = plant(array, damage_);
  }

  Count bytes() const { return bytes_; }
  int seen() const { return seen_; }
  bool planted() const { return planted_; }

 private:
  template <class A>
  void add(A& array) {
    if constexpr (requires { array.front().size(); }) {
      for (auto& inner : array) add(inner);
    } else {
      bytes_ += bytes_of(array);
      visit(array);
    }
  }
  template <class A>
  void visit(A& array) {
    if (seen_++ == number_) planted_ = plant(array, damage_);
  }

  int number_ = -1, seen_ = 0;
  Damage damage_ = Damage::shorter;
  Count bytes_ = 0;
  bool planted_ = false;
};

}  // namespace retensor::contract
