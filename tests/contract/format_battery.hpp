// The contract that every storage format keeps, as one battery over the tensors of the methods'
// battery and orders 1 to 8: what it tells of a tensor, the same nonzeros back, a reason for every
// tensor it does not take, and a check() that finds damage to any of its arrays.
//
// A format is any class with to_coo() and check(); of order, dims, nnz and bytes it answers those
// that it has. arrays(F&, Arrays&) in this namespace lists its arrays.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/tensor/operations.hpp"
#include "tests/contract/format_arrays.hpp"
#include "tests/contract/scenarios.hpp"
#include "tests/support/entries.hpp"

namespace retensor::contract {

/// A tensor in some format.
class Stored {
 public:
  virtual ~Stored() = default;
  virtual Dims dims() const = 0;
  virtual int order() const = 0;
  virtual Count nnz() const = 0;
  virtual Count bytes() const = 0;
  virtual Count bytes_of_arrays() const = 0;
  virtual Coo to_coo() const = 0;
  virtual void check() const = 0;
  /// Damage that check() does not find, by array and kind.
  virtual std::vector<std::string> unnoticed() const = 0;
};

template <class F>
class StoredAs final : public Stored {
 public:
  explicit StoredAs(F format) : format_(std::move(format)) {}

  Dims dims() const override {
    if constexpr (requires { format_.dims(); })
      return format_.dims();
    else if constexpr (requires { format_.dims; })
      return format_.dims;
    else
      return {format_.rows, format_.cols};
  }
  int order() const override {
    if constexpr (requires { format_.order(); })
      return format_.order();
    else
      return static_cast<int>(dims().size());
  }
  Count nnz() const override {
    if constexpr (requires { format_.nnz(); })
      return format_.nnz();
    else if constexpr (requires { Count{format_.nnz}; })
      return format_.nnz;
    else
      return to_coo().nnz();
  }
  Count bytes() const override {
    if constexpr (requires { format_.bytes(); })
      return format_.bytes();
    else
      return bytes_of_arrays();
  }
  Count bytes_of_arrays() const override {
    F copy = format_;
    Arrays all;
    arrays(copy, all);
    return all.bytes();
  }
  Coo to_coo() const override { return format_.to_coo(); }
  void check() const override { format_.check(); }

  std::vector<std::string> unnoticed() const override {
    std::vector<std::string> list;
    bool planted = false;
    for (int number = 0, all = 1; number < all; ++number)
      for (const Damage damage : kDamages) {
        F damaged = format_;
        Arrays one(number, damage);
        arrays(damaged, one);
        all = one.seen();
        planted = planted || one.planted();
        if (one.planted() && finds_nothing(damaged))
          list.push_back(
              fmt::format("array {}: {}", number, kDamageNames[static_cast<int>(damage)]));
      }
    if (!planted) list.push_back("no array was damaged");
    return list;
  }

 private:
  static bool finds_nothing(const F& format) {
    try {
      format.check();
    } catch (const InputError&) {
      return false;
    }
    return true;
  }

  F format_;
};

/// What a format takes, and how it differs from a list of the nonzeros.
struct FormatTraits {
  int lowest_order = 1, highest_order = kMaxOrder;
  bool doubles = true;  ///< values in double precision too
  bool sums = false;    ///< adds up the values of equal coordinates
  bool zeros = false;   ///< fills dense blocks with zeros
};

struct Format {
  std::string name;
  FormatTraits traits;
  std::function<std::unique_ptr<Stored>(const Coo&)> store;
};

/// A format by the function that makes it of a tensor.
template <class Convert>
Format format(std::string name, const FormatTraits& traits, const Convert& convert) {
  return {std::move(name), traits, [convert](const Coo& x) -> std::unique_ptr<Stored> {
            return std::make_unique<StoredAs<decltype(convert(x))>>(convert(x));
          }};
}

class FormatBattery {
 public:
  explicit FormatBattery(const Format& format) : format_(format) {}

  /// The clauses that the format breaks.
  std::vector<std::string> breaches() {
    for (int order = 1; order <= kMaxOrder; ++order)
      for (const auto& scenario : scenarios(order))
        for (const auto type : {DType::f32, DType::f64}) {
          if (type == DType::f64 && !format_.traits.doubles) continue;
          problem_ = fmt::format("{} of order {} in {}", scenario.name, order, name(type));
          take(with_whole_values(*scenario.x, type));
        }
    return std::move(breaches_);
  }

  /// Damage that the format's check() does not find.
  std::vector<std::string> unnoticed() const {
    const int order = std::clamp(3, format_.traits.lowest_order, format_.traits.highest_order);
    std::vector<std::string> list;
    for (const auto& scenario : scenarios(order))
      if (scenario.name == "unsorted")
        list = format_.store(with_whole_values(*scenario.x, DType::f32))->unnoticed();
    return list;
  }

 private:
  /// Values that every type holds exactly, as are the sums of a few.
  static Coo with_whole_values(Coo tensor, DType type) {
    tensor.values = Values(type, tensor.nnz());
    for (Count p = 0; p < tensor.nnz(); ++p) tensor.values.set(p, static_cast<double>(p % 500 + 1));
    return tensor;
  }

  void take(const Coo& x) {
    try {
      hold(x);
    } catch (const std::exception& e) {
      breach(fmt::format("throws '{}'", e.what()));
    }
  }

  void hold(const Coo& x) {
    const auto& traits = format_.traits;
    if (x.order() < traits.lowest_order || x.order() > traits.highest_order) {
      if (!refuses(x)) breach("is taken or refused without a reason");
      return;
    }
    const auto stored = format_.store(x);
    stored->check();
    if (stored->dims() != x.dims || stored->order() != x.order()) breach("has another shape");
    if (stored->bytes() != stored->bytes_of_arrays())
      breach(fmt::format("has {} bytes, tells {}", stored->bytes_of_arrays(), stored->bytes()));
    compare(stored->to_coo(), x, stored->nnz());
  }

  bool refuses(const Coo& x) const {
    try {
      format_.store(x);
    } catch (const InputError& e) {
      return *e.what() != '\0';
    }
    return false;
  }

  void compare(Coo back, Coo expected, Count nnz) {
    if (back.nnz() != nnz) breach(fmt::format("gives {} nonzeros, tells {}", back.nnz(), nnz));
    if (format_.traits.sums) dedupe(expected, Duplicates::sum);
    auto found = test::sorted_entries(back);
    if (format_.traits.zeros)
      std::erase_if(found, [](const auto& entry) { return entry.second == 0; });
    if (found != test::sorted_entries(expected)) breach("gives other nonzeros");
    if (back.dims != expected.dims || back.dtype() != expected.dtype())
      breach("gives another shape or type");
  }

  void breach(const std::string& what) {
    breaches_.push_back(fmt::format("{}: {}: {}", format_.name, problem_, what));
  }

  const Format& format_;
  std::string problem_;
  std::vector<std::string> breaches_;
};

/// Fails for each clause that a format breaks and each damage that its check() does not find.
inline void check_formats(const std::vector<Format>& formats) {
  for (const auto& format : formats) {
    FormatBattery battery(format);
    for (const auto& breach : battery.breaches()) FAIL_CHECK(breach);
    for (const auto& damage : battery.unnoticed()) FAIL_CHECK(format.name << ": " << damage);
  }
}

}  // namespace retensor::contract
