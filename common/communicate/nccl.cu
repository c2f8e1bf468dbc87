// Parts of unequal length are one broadcast or one reduction for each process, in a group that NCCL
// carries out together.
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstring>
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

std::size_t bytes_of(Element type) {
  return type == Element::f32 ? 4 : 8;
}

std::span<const std::byte> host_bytes(const void* data, Count bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}

class Nccl final : public Communicator {
 public:
  Nccl(ncclComm_t comm, std::shared_ptr<Traffic> traffic)
      : Communicator(std::move(traffic)), comm_(comm) {
    RETENSOR_NCCL_CHECK(ncclCommUserRank(comm_, &rank_));
    RETENSOR_NCCL_CHECK(ncclCommCount(comm_, &size_));
  }
  ~Nccl() override { ncclCommDestroy(comm_); }
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void barrier() override {
    Count one = 1;
    do_all_reduce(&one, 1, Element::u64);
  }
  std::unique_ptr<Communicator> split(int group) override {
    ncclComm_t part = nullptr;
    RETENSOR_NCCL_CHECK(ncclCommSplit(comm_, group, rank_, &part, nullptr));
    return std::make_unique<Nccl>(part, shared_traffic());
  }

 protected:
  void do_all_reduce(void* values, Count count, Element type) override {
    if (count == 0) return;
    const Count bytes = count * bytes_of(type);
    Buffer<std::byte> buffer(host_bytes(values, bytes));
    RETENSOR_NCCL_CHECK(
        ncclAllReduce(buffer.data(), buffer.data(), count, type_of(type), ncclSum, comm_, nullptr));
    buffer.download({static_cast<std::byte*>(values), bytes});
  }

  void do_all_gather(void* all, const Parts& bytes) override {
    const Count total = sum_of(bytes);
    if (total == 0) return;
    Buffer<std::byte> buffer(host_bytes(all, total));
    RETENSOR_NCCL_CHECK(ncclGroupStart());
    Count at = 0;
    for (int r = 0; r < size_; at += bytes[static_cast<std::size_t>(r++)])
      if (const Count part = bytes[static_cast<std::size_t>(r)]; part > 0)
        RETENSOR_NCCL_CHECK(ncclBroadcast(buffer.data() + at, buffer.data() + at, part, ncclUint8,
                                          r, comm_, nullptr));
    RETENSOR_NCCL_CHECK(ncclGroupEnd());
    buffer.download({static_cast<std::byte*>(all), total});
  }

  void do_reduce_scatter(const void* all, void* mine, const Parts& parts, Element type) override {
    const std::size_t each = bytes_of(type);
    if (sum_of(parts) == 0) return;
    const Buffer<std::byte> from(host_bytes(all, sum_of(parts) * each));
    const Count own = parts[static_cast<std::size_t>(rank_)] * each;
    Buffer<std::byte> to(std::max<Count>(own, 1));
    RETENSOR_NCCL_CHECK(ncclGroupStart());
    Count at = 0;
    for (int r = 0; r < size_; at += parts[static_cast<std::size_t>(r++)] * each)
      if (const Count part = parts[static_cast<std::size_t>(r)]; part > 0)
        RETENSOR_NCCL_CHECK(ncclReduce(from.data() + at, to.data(), part, type_of(type), ncclSum, r,
                                       comm_, nullptr));
    RETENSOR_NCCL_CHECK(ncclGroupEnd());
    to.download({static_cast<std::byte*>(mine), own});
  }

  std::vector<std::byte> do_all_to_all(const std::vector<std::byte>& out,
                                       const Parts& bytes) override {
    const Parts come = incoming(bytes);
    const Buffer<std::byte> from(std::span<const std::byte>(out.data(), out.size()));
    std::vector<std::byte> in(sum_of(come));
    Buffer<std::byte> to(in.size());
    RETENSOR_NCCL_CHECK(ncclGroupStart());
    Count sent = 0, received = 0;
    for (int r = 0; r < size_; ++r) {
      const auto k = static_cast<std::size_t>(r);
      if (bytes[k] > 0)
        RETENSOR_NCCL_CHECK(ncclSend(from.data() + sent, bytes[k], ncclUint8, r, comm_, nullptr));
      if (come[k] > 0)
        RETENSOR_NCCL_CHECK(ncclRecv(to.data() + received, come[k], ncclUint8, r, comm_, nullptr));
      sent += bytes[k];
      received += come[k];
    }
    RETENSOR_NCCL_CHECK(ncclGroupEnd());
    RETENSOR_CUDA_CHECK(cudaStreamSynchronize(nullptr));
    to.download(std::span(in));
    return in;
  }

 private:
  /// What each process sends to this one, of what this one sends to each.
  Parts incoming(const Parts& outgoing) {
    const auto p = static_cast<Count>(size_), me = static_cast<Count>(rank_);
    Parts table(p * p, 0), come;
    std::copy(outgoing.begin(), outgoing.end(),
              table.begin() + static_cast<std::ptrdiff_t>(me * p));
    do_all_gather(table.data(), Parts(p, p * sizeof(Count)));
    for (Count r = 0; r < p; ++r) come.push_back(table[r * p + me]);
    return come;
  }

  ncclComm_t comm_;
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
  return std::make_unique<Nccl>(comm, std::make_shared<Traffic>());
}

}  // namespace retensor::communicate
