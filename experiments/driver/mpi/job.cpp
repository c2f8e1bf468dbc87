#include "experiments/driver/mpi/job.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "common/communicate/nccl.hpp"
#include "common/io/cache.hpp"
#include "common/io/duplicates.hpp"
#include "common/io/files.hpp"
#include "common/io/read.hpp"

namespace retensor::mpi {

namespace {

Coo part_of(const Coo& whole, const communicate::Communicator& processes) {
  const auto p = static_cast<Count>(processes.size()), r = static_cast<Count>(processes.rank());
  const Count first = whole.nnz() * r / p, end = whole.nnz() * (r + 1) / p;
  Coo part(whole.dims, whole.dtype(), end - first);
  for (std::size_t m = 0; m < part.indices.size(); ++m)
    std::copy(whole.indices[m].begin() + static_cast<std::ptrdiff_t>(first),
              whole.indices[m].begin() + static_cast<std::ptrdiff_t>(end), part.indices[m].begin());
  dispatch(whole.dtype(), [&]<class T>() {
    std::copy_n(whole.values.as<T>().begin() + static_cast<std::ptrdiff_t>(first), end - first,
                part.values.as<T>().begin());
  });
  return part;
}

}  // namespace

Coo read_part(const std::string& path, DType type, const communicate::Communicator& processes) {
  const bool cached = is_cache(MappedFile(path).view());
  auto part = cached ? read_cache_part(path, static_cast<Count>(processes.rank()),
                                       static_cast<Count>(processes.size()))
                     : part_of(read_tensor(path), processes);
  if (part.dtype() != type) part.values = part.values.cast(type);
  return part;
}

Coo read_share(const std::string& path, DType type, const communicate::Communicator& processes) {
  ReadOptions options;
  options.dtype = type;
  if (!is_cache(MappedFile(path).view())) return part_of(read_tensor(path, options), processes);
  auto part = read_part(path, type, processes);
  check_named(part, path);  // a value beyond a narrower range has become infinite
  return part;
}

std::unique_ptr<communicate::Communicator> devices_for(const Method& method,
                                                       communicate::Communicator& processes) {
  return method.backend() == Backend::cuda ? communicate::over_nccl(processes) : nullptr;
}

communicate::Traffic sent_by_all(communicate::Communicator& processes,
                                 communicate::Communicator& counted) {
  const auto own = std::exchange(counted.traffic(), {});
  std::vector<Count> all = {own.all_reduce, own.all_gather, own.reduce_scatter, own.all_to_all};
  processes.all_reduce(std::span(all));
  processes.traffic() = {};
  return {all[0], all[1], all[2], all[3]};
}

}  // namespace retensor::mpi
