// Parts of unequal length are one broadcast or one reduction for each process, in a group that NCCL
// carries out together.
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/communicate/nccl.hpp"
#include "common/core/error.hpp"
#include "common/device/cuda.cuh"

namespace retensor::communicate {
namespace {

using device::Buffer;

void check(ncclResult_t code, const char* call) {
  if (code != ncclSuccess)
    throw DeviceError(std::string(call) + ": " + ncclGetErrorString(code) + " (" +
                      ncclGetLastError(nullptr) + ")");
}

#define RETENSOR_NCCL_CHECK(call) check((call), #call)

ncclDataType_t type_of(Element type) {
  if (type == Element::f32) return ncclFloat;
  return type == Element::f64 ? ncclDouble : ncclUint64;
}

/// A buffer of a caller in device memory: where it lies, or a copy of what the host holds.
class OnDevice {
 public:
  OnDevice(const void* data, Count bytes) : data_(data), bytes_(bytes) {
    if (bytes == 0) return;
    cudaPointerAttributes of{};
    RETENSOR_CUDA_CHECK(cudaPointerGetAttributes(&of, data));
    staged_ = of.type != cudaMemoryTypeDevice;
    if (staged_) copy_ = Buffer<std::byte>({static_cast<const std::byte*>(data), bytes});
  }
  std::byte* at(Count byte) {
    // What an operation writes its caller has handed over as writable.
    auto* const begin = static_cast<std::byte*>(const_cast<void*>(data_));
    return (staged_ ? copy_.data() : begin) + byte;
  }
  /// Brings what an operation left to a caller on the host.
  void deliver() {
    if (staged_) copy_.download({static_cast<std::byte*>(const_cast<void*>(data_)), bytes_});
  }

 private:
  const void* const data_;
  const Count bytes_;
  bool staged_ = false;
  Buffer<std::byte> copy_;
};

/// Operations that NCCL carries out together.
template <class Operations>
void together(Operations&& operations) {
  RETENSOR_NCCL_CHECK(ncclGroupStart());
  operations();
  RETENSOR_NCCL_CHECK(ncclGroupEnd());
}

bool are_equal(const Parts& parts) {
  return std::adjacent_find(parts.begin(), parts.end(), std::not_equal_to<>()) == parts.end();
}

/// Streams order themselves with copies of the host, which wait for the default stream.
class Nccl final : public Communicator {
 public:
  Nccl(ncclComm_t comm, std::shared_ptr<Traffic> traffic, std::shared_ptr<cudaStream_t> stream)
      : Communicator(std::move(traffic)), comm_(comm), stream_(std::move(stream)) {
    RETENSOR_NCCL_CHECK(ncclCommUserRank(comm_, &rank_));
    RETENSOR_NCCL_CHECK(ncclCommCount(comm_, &size_));
  }
  ~Nccl() override { ncclCommDestroy(comm_); }
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool takes_device_memory() const override { return true; }
  void use_stream(void* stream) override { *stream_ = static_cast<cudaStream_t>(stream); }
  void barrier() override {
    Count one = 1;
    do_all_reduce(&one, 1, Element::u64);
  }
  std::unique_ptr<Communicator> split(int group) override {
    ncclComm_t part = nullptr;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.splitShare = 1;  // what the whole group has: the two are never at work at a time
    RETENSOR_NCCL_CHECK(ncclCommSplit(comm_, group, rank_, &part, &config));
    return std::make_unique<Nccl>(part, shared_traffic(), stream_);
  }

 protected:
  void do_all_reduce(void* values, Count count, Element type) override {
    if (count == 0) return;
    OnDevice all(values, count * bytes_of(type));
    RETENSOR_NCCL_CHECK(
        ncclAllReduce(all.at(0), all.at(0), count, type_of(type), ncclSum, comm_, *stream_));
    all.deliver();
  }

  void do_all_gather(void* values, const Parts& bytes) override {
    if (sum_of(bytes) == 0) return;
    OnDevice all(values, sum_of(bytes));
    if (are_equal(bytes))
      RETENSOR_NCCL_CHECK(
          ncclAllGather(all.at(bytes[0] * me()), all.at(0), bytes[0], ncclUint8, comm_, *stream_));
    else
      for_each_part(bytes, [&](int root, Count first, Count part) {
        RETENSOR_NCCL_CHECK(
            ncclBroadcast(all.at(first), all.at(first), part, ncclUint8, root, comm_, *stream_));
      });
    all.deliver();
  }

  void do_reduce_scatter(const void* values, void* mine, const Parts& parts,
                         Element type) override {
    const std::size_t each = bytes_of(type);
    if (sum_of(parts) == 0) return;
    OnDevice from(values, sum_of(parts) * each), to(mine, parts[me()] * each);
    if (are_equal(parts))
      RETENSOR_NCCL_CHECK(ncclReduceScatter(from.at(0), to.at(0), parts[0], type_of(type), ncclSum,
                                            comm_, *stream_));
    else
      for_each_part(parts, [&](int root, Count first, Count part) {
        RETENSOR_NCCL_CHECK(ncclReduce(from.at(first * each), to.at(0), part, type_of(type),
                                       ncclSum, root, comm_, *stream_));
      });
    to.deliver();
  }

  Parts do_exchange(const Parts& sent) override {
    const auto p = static_cast<Count>(size_);
    Parts table(p * p, 0), come;
    std::copy(sent.begin(), sent.end(), table.begin() + static_cast<std::ptrdiff_t>(me() * p));
    do_all_gather(table.data(), Parts(p, p * sizeof(Count)));
    for (Count r = 0; r < p; ++r) come.push_back(table[r * p + me()]);
    return come;
  }

  void do_all_to_all(const void* out, const Parts& sent, void* in, const Parts& come) override {
    OnDevice from(out, sum_of(sent)), to(in, sum_of(come));
    together([&] {
      Count begin = 0, place = 0;
      for (int r = 0; r < size_; ++r) {
        const auto k = static_cast<std::size_t>(r);
        if (sent[k] > 0)
          RETENSOR_NCCL_CHECK(ncclSend(from.at(begin), sent[k], ncclUint8, r, comm_, *stream_));
        if (come[k] > 0)
          RETENSOR_NCCL_CHECK(ncclRecv(to.at(place), come[k], ncclUint8, r, comm_, *stream_));
        begin += sent[k];
        place += come[k];
      }
    });
    RETENSOR_CUDA_CHECK(cudaStreamSynchronize(*stream_));  // before what was sent is freed
    to.deliver();
  }

 private:
  std::size_t me() const { return static_cast<std::size_t>(rank_); }

  /// Calls operation(process, where its part begins, its length) for parts that are not empty.
  template <class Operation>
  void for_each_part(const Parts& parts, Operation&& operation) const {
    together([&] {
      Count first = 0;
      for (int r = 0; r < size_; first += parts[static_cast<std::size_t>(r++)])
        if (const Count part = parts[static_cast<std::size_t>(r)]; part > 0)
          operation(r, first, part);
    });
  }

  ncclComm_t comm_;
  std::shared_ptr<cudaStream_t> stream_;
  int rank_ = 0, size_ = 1;
};

/// The first process makes the id of the group.
ncclUniqueId common_id(Communicator& host) {
  ncclUniqueId id{};
  if (host.rank() == 0) RETENSOR_NCCL_CHECK(ncclGetUniqueId(&id));
  Parts parts(static_cast<std::size_t>(host.size()), 0);
  parts[0] = sizeof id;
  std::array<std::byte, sizeof id> bytes{};
  std::memcpy(bytes.data(), &id, sizeof id);
  host.all_gather(std::span<std::byte>(bytes), parts);
  std::memcpy(&id, bytes.data(), sizeof id);
  return id;
}

}  // namespace

std::unique_ptr<Communicator> over_nccl(Communicator& host) {
  int devices = 0;
  RETENSOR_CUDA_CHECK(cudaGetDeviceCount(&devices));
  RETENSOR_CUDA_CHECK(cudaSetDevice(host.rank() % std::max(devices, 1)));
  ncclComm_t comm = nullptr;
  RETENSOR_NCCL_CHECK(ncclCommInitRank(&comm, host.size(), common_id(host), host.rank()));
  return std::make_unique<Nccl>(comm, std::make_shared<Traffic>(),
                                std::make_shared<cudaStream_t>(nullptr));
}

}  // namespace retensor::communicate
