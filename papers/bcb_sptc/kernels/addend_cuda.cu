// The steps of the sum; addend_cuda.cuh has the algorithm.
#include "papers/bcb_sptc/kernels/addend_cuda.cuh"

#include "papers/bcb_sptc/format/bcb_device.cuh"

namespace retensor::bcb_sptc {
namespace {

/// Coordinates on the device and the fields of their keys.
struct Coordinates {
  Coordinates(const std::vector<Buffer<Index>>& indices, const LinearIndex& fields)
      : order(static_cast<int>(indices.size())) {
    for (int k = 0; k < order; ++k) {
      index[k] = indices[static_cast<std::size_t>(k)].data();
      field[k] = {fields.shift(k), fields.width(k)};
    }
  }

  template <class Key>
  __device__ Key key(Count p) const {
    Key key = 0;
    for (int k = 0; k < order; ++k) key |= static_cast<Key>(index[k][p]) << field[k].shift;
    return key;
  }

  int order;
  const Index* index[kMaxOrder] = {};
  Field field[kMaxOrder] = {};
};

template <class Key>
__global__ void make_keys(Count n, const __grid_constant__ Coordinates from, Count first, Key* keys,
                          std::uint32_t* positions) {
  for_each_of_grid(n, [&](Count p) {
    keys[first + p] = from.key<Key>(p);
    positions[first + p] = static_cast<std::uint32_t>(first + p);
  });
}

template <class Key>
struct Sums {
  Count entries, both, product_entries;
  const Key* keys;
  const std::uint32_t *first, *positions;  // sorted place of an entry; what stood there
  const float *product, *z;
  float beta;
  int order;
  Field field[kMaxOrder];
  Index* index[kMaxOrder];
  float* values;
};

template <class Key>
__global__ void add_up(const __grid_constant__ Sums<Key> s) {
  for_each_of_grid(s.entries, [&](Count e) {
    const Count begin = s.first[e], end = e + 1 < s.entries ? s.first[e + 1] : s.both;
    float sum = 0;
    for (Count place = begin; place < end; ++place) {
      const Count p = s.positions[place];
      sum += p < s.product_entries ? s.product[p] : s.beta * s.z[p - s.product_entries];
    }
    s.values[e] = sum;
    for (int k = 0; k < s.order; ++k) s.index[k][e] = decode(s.keys[begin], s.field[k]);
  });
}

template <class Key>
class SumOf : public DeviceSum {
 public:
  SumOf(const Addend& addend, const LinearIndex& fields, Count product_entries, const Room& room)
      : fields_(fields),
        room_(room),
        beta_(static_cast<float>(addend.beta)),
        z_(addend.z),
        product_entries_(product_entries),
        both_(product_entries + z_.nnz) {
    sum_.dims = addend.z.dims;
    if (both_ == 0) sum_.make_room(0, room);
    room.require("keys of the sum with Z", both_, 2 * sizeof(Key) + 3 * sizeof(std::uint32_t));
    keys_ = Buffer<Key>(both_), spare_keys_ = Buffer<Key>(both_);
    positions_ = Buffer<std::uint32_t>(both_), spare_positions_ = Buffer<std::uint32_t>(both_);
    first_ = Buffer<std::uint32_t>(both_);
  }

  void run(const DeviceResult& product, cudaStream_t stream) override {
    if (both_ == 0) return;
    list(product.indices, product_entries_, 0, stream);
    list(z_.indices, z_.nnz, product_entries_, stream);
    cub_.sort(both_, fields_.bits(), keys_, positions_, spare_keys_, spare_positions_, stream);
    cub_.select(both_, device::Begins<Key>{keys_.data(), 0}, first_, found_, stream);
    if (sum_.entries == 0) sum_.make_room(element_at(found_, 0), room_);
    RETENSOR_CUDA_LAUNCH(add_up<Key>, grid_for(sum_.entries), kThreads, 0, stream, sums(product));
  }

  Count bytes() const override {
    Count bytes = z_.bytes.bytes() + keys_.bytes() + spare_keys_.bytes() + positions_.bytes() +
                  spare_positions_.bytes() + first_.bytes() + cub_.bytes() + sum_.bytes();
    for (const auto& index : z_.indices) bytes += index.bytes();
    return bytes;
  }

 private:
  void list(const std::vector<Buffer<Index>>& indices, Count n, Count first, cudaStream_t stream) {
    if (n > 0)
      RETENSOR_CUDA_LAUNCH(make_keys<Key>, grid_for(n), kThreads, 0, stream, n,
                           Coordinates(indices, fields_), first, keys_.data(), positions_.data());
  }

  Sums<Key> sums(const DeviceResult& product) {
    Sums<Key> s{sum_.entries,
                both_,
                product_entries_,
                keys_.data(),
                first_.data(),
                positions_.data(),
                product.values.data(),
                z_.floats(),
                beta_,
                static_cast<int>(sum_.dims.size()),
                {},
                {},
                sum_.values.data()};
    for (int k = 0; k < s.order; ++k) {
      s.field[k] = {fields_.shift(k), fields_.width(k)};
      s.index[k] = sum_.indices[static_cast<std::size_t>(k)].data();
    }
    return s;
  }

  const LinearIndex fields_;
  const Room room_;
  const float beta_;
  const DeviceCoo z_;
  const Count product_entries_, both_;
  Buffer<Key> keys_, spare_keys_;
  Buffer<std::uint32_t> positions_, spare_positions_, first_;
  Buffer<Count> found_;
  Cub cub_;
};

}  // namespace

std::unique_ptr<DeviceSum> make_device_sum(const Addend& addend, const Dims& result_dims,
                                           Count product_entries, const Room& room) {
  check_addend(addend, result_dims, product_entries);
  const LinearIndex fields = sum_index(result_dims);
  if (fields.fits64())
    return std::make_unique<SumOf<std::uint64_t>>(addend, fields, product_entries, room);
  return std::make_unique<SumOf<Uint128>>(addend, fields, product_entries, room);
}

}  // namespace retensor::bcb_sptc
