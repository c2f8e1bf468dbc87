// Counting, and the group of one process.
#include "common/communicate/communicator.hpp"

#include <cstring>
#include <numeric>

#include "common/core/message.hpp"

namespace retensor::communicate {

Count sum_of(const Parts& parts) {
  return std::accumulate(parts.begin(), parts.end(), Count{0});
}

Parts even_parts(Count elements, int processes) {
  const auto p = static_cast<Count>(processes);
  Parts parts;
  for (Count k = 0; k < p; ++k) parts.push_back(elements / p + (k < elements % p ? 1 : 0));
  return parts;
}

void Communicator::expect(Count elements, const Parts& parts) const {
  if (parts.size() != static_cast<std::size_t>(size()) || elements != sum_of(parts))
    throw logic_error("{} elements in {} parts that hold {}, of {} processes", elements,
                      parts.size(), sum_of(parts), size());
}

void Communicator::count_all_reduce(Count elements, std::size_t bytes) {
  const auto mine = own(even_parts(elements, size()));
  traffic().all_reduce += (elements - mine + others() * mine) * bytes;
}

Parts Communicator::in_bytes(Parts parts, std::size_t bytes) {
  for (auto& part : parts) part *= bytes;
  return parts;
}

namespace {

class Self final : public Communicator {
 public:
  explicit Self(std::shared_ptr<Traffic> traffic) : Communicator(std::move(traffic)) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void barrier() override {}
  std::unique_ptr<Communicator> split(int) override {
    return std::make_unique<Self>(shared_traffic());
  }

 protected:
  void do_all_reduce(void*, Count, Element) override {}
  void do_all_gather(void*, const Parts&) override {}
  void do_reduce_scatter(const void* all, void* mine, const Parts& parts, Element type) override {
    if (parts[0] > 0) std::memcpy(mine, all, parts[0] * bytes_of(type));
  }
  Parts do_exchange(const Parts& sent) override { return sent; }
  void do_all_to_all(const void* out, const Parts& sent, void* in, const Parts&) override {
    if (sent[0] > 0) std::memcpy(in, out, sent[0]);
  }
};

}  // namespace

std::unique_ptr<Communicator> self() {
  return std::make_unique<Self>(std::make_shared<Traffic>());
}

}  // namespace retensor::communicate
