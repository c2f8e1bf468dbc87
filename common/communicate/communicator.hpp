// What processes that share a computation ask of one another. The engines are existing ones (MPI,
// NCCL); this class states the few operations, and counts the bytes that they cannot do without.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "common/core/types.hpp"

namespace retensor::communicate {

/// Bytes that this process sent: what it hands to each other process, its own part left out. An
/// all-reduce counts as a reduce-scatter and an all-gather of even parts, which no algorithm
/// undercuts. Barriers count nothing.
struct Traffic {
  Count all_reduce = 0, all_gather = 0, reduce_scatter = 0, all_to_all = 0;
  Count total() const { return all_reduce + all_gather + reduce_scatter + all_to_all; }
};

/// Element types that sums are taken of.
enum class Element { f32, f64, u64 };
template <class T>
constexpr Element element_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Count>);
  if (std::is_same_v<T, float>) return Element::f32;
  return std::is_same_v<T, double> ? Element::f64 : Element::u64;
}

inline std::size_t bytes_of(Element type) {
  return type == Element::f32 ? 4 : 8;
}

/// Elements of each process, in the order of ranks.
using Parts = std::vector<Count>;
Count sum_of(const Parts& parts);
/// So many elements in contiguous parts that differ by one at most.
Parts even_parts(Count elements, int processes);

/// Every process of a group calls the same operations in the same order. Errors of the engine are
/// SystemError.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void barrier() = 0;
  /// Whether buffers may lie in device memory too. Operations on such return before they are done,
  /// in order with the other work of a stream, of which groups that are split off are told too.
  virtual bool takes_device_memory() const { return false; }
  virtual void use_stream([[maybe_unused]] void* stream) {}

  /// Each element becomes the sum over all processes. All get the same bits if the engine sees to
  /// it, which the standard of MPI recommends and does not demand.
  template <class T>
  void all_reduce(std::span<T> values) {
    count_all_reduce(values.size(), sizeof(T));
    do_all_reduce(values.data(), values.size(), element_of<T>());
  }
  /// `all` holds one part of each process one after the other, this process's own already.
  template <class T>
  void all_gather(std::span<T> all, const Parts& parts) {
    static_assert(std::is_trivially_copyable_v<T>);
    expect(all.size(), parts);
    traffic().all_gather += own(parts) * others() * sizeof(T);
    do_all_gather(all.data(), in_bytes(parts, sizeof(T)));
  }
  /// The own part of the sum of `all` over all processes.
  template <class T>
  void reduce_scatter(std::span<const T> all, std::span<T> mine, const Parts& parts) {
    expect(all.size(), parts);
    traffic().reduce_scatter += (all.size() - own(parts)) * sizeof(T);
    do_reduce_scatter(all.data(), mine.data(), parts, element_of<T>());
  }
  /// `out` holds to[r] elements for each process r one after the other; returns what came, from
  /// process 0 first.
  template <class T>
  std::vector<T> all_to_all(std::span<const T> out, const Parts& to) {
    static_assert(std::is_trivially_copyable_v<T>);
    expect(out.size(), to);
    traffic().all_to_all += (out.size() - own(to)) * sizeof(T);
    const auto sent = in_bytes(to, sizeof(T)), come = do_exchange(sent);
    std::vector<T> in(sum_of(come) / sizeof(T));
    do_all_to_all(out.data(), sent, in.data(), come);
    return in;
  }

  /// The processes that name the same group, in the order of their ranks. Its traffic counts here.
  virtual std::unique_ptr<Communicator> split(int group) = 0;

  Traffic& traffic() { return *traffic_; }

 protected:
  explicit Communicator(std::shared_ptr<Traffic> traffic) : traffic_(std::move(traffic)) {}
  const std::shared_ptr<Traffic>& shared_traffic() const { return traffic_; }

  virtual void do_all_reduce(void* values, Count count, Element type) = 0;
  virtual void do_all_gather(void* all, const Parts& bytes) = 0;
  virtual void do_reduce_scatter(const void* all, void* mine, const Parts& parts, Element type) = 0;
  /// What each process sends to this one, of what this one sends to each.
  virtual Parts do_exchange(const Parts& sent) = 0;
  virtual void do_all_to_all(const void* out, const Parts& sent, void* in, const Parts& come) = 0;

 private:
  Count own(const Parts& parts) const { return parts[static_cast<std::size_t>(rank())]; }
  Count others() const { return static_cast<Count>(size()) - 1; }
  void expect(Count elements, const Parts& parts) const;
  void count_all_reduce(Count elements, std::size_t bytes);
  static Parts in_bytes(Parts parts, std::size_t bytes);

  std::shared_ptr<Traffic> traffic_;
};

/// One process alone.
std::unique_ptr<Communicator> self();

}  // namespace retensor::communicate
