// The run of bcb_sptc.cuda.streamed, not the paper's: a contraction whose larger operand, x, stays
// in the host's memory. Its rows pass the device in parts through two buffers: while the kernels
// multiply one part, the next is copied. A result that the device has no room for leaves it in
// slabs, one a part, through two buffers as well. Kernels are those of bcb_sptc.cuda.rows; which
// rows of a part have which table is known from preparing and comes with the part.
//
// One stage, stream. Over the bus: 8 bytes a nonzero of x, 8 + 4 f a row with f free modes, and
// 4 (order + 1) an entry of a result in slabs.
#include "papers/bcb_sptc/kernels/prepare_cuda.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/core/error.hpp"
#include "common/core/rng.hpp"
#include "common/device/device.hpp"
#include "common/device/order.cuh"
#include "common/device/pinned.cuh"
#include "common/method/outline_sample.hpp"
#include "common/run/cuda_run.cuh"
#include "papers/bcb_sptc/format/options.hpp"
#include "papers/bcb_sptc/kernels/hashed_rows_cuda.cuh"

namespace retensor::bcb_sptc {
namespace {

using device::Milestone;
using device::Pinned;
using device::SideStream;

/// All that is copied are words of 4 bytes; arrays of a part begin at 16 bytes.
using Word = std::uint32_t;
static_assert(sizeof(Index) == sizeof(Word) && sizeof(float) == sizeof(Word));
constexpr Count padded_words(Count words) {
  return (words + 3) / 4 * 4;
}

/// Which operand stays on the host.
enum class Streams { larger, x };
/// Where the result stays.
enum class Where { device_if_room, host };

/// The operands as matrices, x the one that stays on the host.
struct Matrices {
  Matrices(const Problem& problem, Streams streams)
      : modes(contraction_of(problem)), x(&problem.x()), y(&problem.y()) {
    if (streams == Streams::larger && x->nnz() < y->nnz()) {
      std::swap(x, y);
      std::swap(modes.contracted_x, modes.contracted_y);
      std::swap(modes.free_x, modes.free_y);
      for (auto& mode : modes.result) mode.from_x = !mode.from_x;
    }
    m.emplace(modes, *x, *y);
  }
  /// Leaves y alone.
  const Matricised& without_x() {
    m->row_start.assign(1, 0), m->x_group.clear(), m->x_values.clear();
    for (auto& index : m->row_index) index.clear();
    return *m;
  }
  Contraction modes;
  const Coo *x, *y;
  std::optional<Matricised> m;
};

/// Rows `first_row` to last_row - 1 of x with their nonzeros `first` to last - 1.
struct Part {
  Count first_row, last_row, first, last;
  ListedRows::Lengths lengths{};       ///< rows with each kind of table
  Count entries = 0, first_entry = 0;  ///< of the result

  Count rows() const { return last_row - first_row; }
  Count nonzeros() const { return last - first; }
};

/// Where the arrays of a part begin in its buffer, in words; coordinates by free mode.
struct Places {
  Places(const Part& part, std::size_t free_modes)
      : list(padded_words(part.rows() + 1)),
        group(list + padded_words(part.rows())),
        value(group + padded_words(part.nonzeros())),
        index(value + padded_words(part.nonzeros())),
        next_index(padded_words(part.rows())),
        end(index + free_modes * next_index) {}
  Count list, group, value, index, next_index, end;
};

template <class T>
Pinned<Word> pinned(const std::vector<T>& from) {
  Pinned<Word> to(from.size());
  std::ranges::transform(from, to.data(), [](T x) { return std::bit_cast<Word>(x); });
  return to;
}

std::vector<Count> products_of_rows(const Matricised& m) {
  std::vector<Count> products(m.rows(), 0);
#pragma omp parallel for
  for (Count row = 0; row < products.size(); ++row)
    for (Count a = m.row_start[row]; a < m.row_start[row + 1]; ++a)
      products[row] += m.group_start[m.x_group[a] + 1] - m.group_start[m.x_group[a]];
  return products;
}

/// x on the host, as Matricised has it, with the rows of each part listed by their tables.
class HostRows {
 public:
  explicit HostRows(const Matricised& m)
      : rows_(m.rows()),
        columns_(m.columns),
        row_start_(pinned(m.row_start)),
        list_(m.rows()),
        group_(pinned(m.x_group)),
        values_(pinned(m.x_values)),
        products_(products_of_rows(m)) {
    for (const auto& index : m.row_index) index_.push_back(pinned(index));
  }

  Count bytes() const {
    Count bytes = row_start_.bytes() + list_.bytes() + group_.bytes() + values_.bytes();
    for (const auto& index : index_) bytes += index.bytes();
    return bytes;
  }
  Places places(const Part& part) const { return {part, index_.size()}; }

  /// Parts of at most so many words each. Throws OutOfMemory for a row that has more.
  std::vector<Part> cut(Count words) {
    std::vector<Part> parts;
    for (Count row = 0; row < rows_;) {
      Part part = part_of(row, row + 1);
      while (part.last_row < rows_ && places(part_of(row, part.last_row + 1)).end <= words)
        part = part_of(row, part.last_row + 1);
      if (places(part).end > words)
        throw OutOfMemory("a row of " + std::to_string(part.nonzeros()) + " nonzeros takes " +
                          std::to_string(places(part).end * sizeof(Word)) + " bytes, a part has " +
                          std::to_string(words * sizeof(Word)));
      row = part.last_row;
      parts.push_back(part);
    }
    return parts;
  }
  Part part_of(Count first_row, Count last_row) const {
    return {first_row, last_row, row_start_.data()[first_row], row_start_.data()[last_row]};
  }

  /// Lists the rows of a part, those with the smallest tables first.
  void list(Part& part) {
    part.lengths = {};
    for (Count row = part.first_row; row < part.last_row; ++row) ++part.lengths[table_of(row)];
    ListedRows::Lengths next{};
    std::exclusive_scan(part.lengths.begin(), part.lengths.end(), next.begin(), 0u);
    for (Count row = part.first_row; row < part.last_row; ++row)
      list_.data()[part.first_row + next[table_of(row)]++] =
          static_cast<Word>(row - part.first_row);
  }

  /// Copies the arrays of a part to `to`.
  void copy(const Part& part, Word* to, cudaStream_t stream) const {
    const Places at = places(part);
    const auto put = [&](Word* there, const Pinned<Word>& from, Count first, Count count) {
      RETENSOR_CUDA_CHECK(cudaMemcpyAsync(there, from.data() + first, count * sizeof(Word),
                                          cudaMemcpyHostToDevice, stream));
    };
    put(to, row_start_, part.first_row, part.rows() + 1);
    put(to + at.list, list_, part.first_row, part.rows());
    put(to + at.group, group_, part.first, part.nonzeros());
    put(to + at.value, values_, part.first, part.nonzeros());
    for (std::size_t m = 0; m < index_.size(); ++m)
      put(to + at.index + m * at.next_index, index_[m], part.first_row, part.rows());
  }

 private:
  /// As SparseProduct::weight and list_of have it for entries that are not counted.
  std::size_t table_of(Count row) const {
    constexpr Count most = kRowBins[kHashBins - 1].most();
    const Count entries = std::min(products_[row], columns_);
    const Count weight =
        entries > most ? entries
                       : std::max(entries, std::min(products_[row] / kProductsOfWeight, most));
    const auto fits = [&](const RowBin& bin) { return weight <= bin.most(); };
    return static_cast<std::size_t>(std::ranges::find_if(kRowBins, fits) - std::begin(kRowBins));
  }

  const Count rows_, columns_;
  Pinned<Word> row_start_, list_, group_, values_;
  std::vector<Pinned<Word>> index_;  // by free mode
  std::vector<Count> products_;      // of each row
};

/// The kernels over the rows of a part.
class PartKernels {
 public:
  PartKernels() {
    [&]<unsigned... kBin>(std::integer_sequence<unsigned, kBin...>) {
      (allow(kernels::multiply_hashed<kBin, AppendPass>, bytes_of<kBin>()), ...);
    }
    (std::make_integer_sequence<unsigned, kHashBins>());
    allow(kernels::multiply_ranges<AppendPass>, kRangeBytes);
  }

  void run(const SparseProduct& p, const AppendPass& pass, const ListedRows::Lengths& lengths,
           const Word* list, cudaStream_t stream) const {
    [&]<unsigned... kBin>(std::integer_sequence<unsigned, kBin...>) {
      (launch<kBin>(p, pass, lengths[kBin], std::exchange(list, list + lengths[kBin]), stream),
       ...);
    }
    (std::make_integer_sequence<unsigned, kHashBins>());
    if (lengths[kHashBins] > 0)
      RETENSOR_CUDA_LAUNCH(kernels::multiply_ranges<AppendPass>, lengths[kHashBins], kRowThreads,
                           kRangeBytes, stream, p, pass, list);
  }

 private:
  static constexpr unsigned kRangeBytes = kSumColumns * 4 + kSumColumns / 8;
  template <unsigned kBin>
  static constexpr unsigned bytes_of() {
    return kRowBins[kBin].rows_of_block() * kRowBins[kBin].places * 8;
  }
  template <class Kernel>
  static void allow(Kernel* kernel, unsigned bytes) {
    RETENSOR_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes)));
  }
  template <unsigned kBin>
  static void launch(const SparseProduct& p, const AppendPass& pass, unsigned rows,
                     const Word* list, cudaStream_t stream) {
    if (rows > 0)
      RETENSOR_CUDA_LAUNCH((kernels::multiply_hashed<kBin, AppendPass>),
                           device::blocks_for(rows, kRowBins[kBin].rows_of_block()),
                           kRowBins[kBin].block(), bytes_of<kBin>(), stream, p, pass, list, rows);
  }
};

/// Bytes of the device that the result may take.
double room_of(const Params& params) {
  const double gib = params.real("memory");
  return gib > 0 ? gib * 0x1p30 : static_cast<double>(device::memory().free_bytes);
}

/// The matrices of a problem, y on the device. Coordinates of the result that come from x have to
/// be told for each part.
struct Halves {
  explicit Halves(Matrices&& of)
      : x(*of.m),
        y(of.modes, of.without_x()),
        result_dims(of.modes.result_dims(of.x->dims, of.y->dims)) {
    for (const auto& mode : y.modes.result)
      free_mode.push_back(static_cast<std::size_t>(std::ranges::find(y.modes.free_x, mode.mode) -
                                                   y.modes.free_x.begin()));
  }
  HostRows x;
  const DeviceMatricised y;
  const Dims result_dims;
  std::vector<std::size_t> free_mode;  // by mode of the result, of those that come from x
};

class StreamedRun final : public CudaRun {
 public:
  StreamedRun(const Problem& problem, const Params& params, Streams streams = Streams::larger,
              Where where = Where::device_if_room)
      : CudaRun(problem, "single products of parts from the host, hash tables in one pass"),
        halves_(Matrices(problem, streams)),
        buffer_bytes_(static_cast<Count>(params.real("buffer") * 0x1p20)),
        entries_(1) {
    parts_ = halves_.x.cut(buffer_bytes_ / (kBuffers * sizeof(Word)));
    Count words = 0, nonzeros = 0;
    for (const Part& part : parts_) {
      words = std::max(words, halves_.x.places(part).end);
      nonzeros = std::max(nonzeros, part.nonzeros());
    }
    for (auto& slot : slots_) slot.words = Buffer<Word>(words);
    first_product_ = Buffer<Count>(nonzeros + 1);
    for (Part& part : parts_) count(part);
    for (auto& slab : slabs_) slab.found.dims = halves_.result_dims;
    make_room(params, where);
    executed_["parts"] = std::to_string(parts_.size());
    executed_["result"] = in_slabs() ? "in slabs on the host" : "on the device";
    executed_["result_nonzeros"] = std::to_string(entries());
    if (params.flag("alone")) tell_alone();
  }

  void run(StageTimer& timer) override { run_first(parts_.size(), timer); }
  /// The first parts alone.
  void run_first(std::size_t parts, StageTimer& timer) {
    timer.stage("stream");
    const auto stream = stream_of(timer);
    begun_.reached(stream);
    for (const SideStream* beside : {&copies_, &fetches_}) begun_.awaited(beside->get());
    entries_.zero(stream);
    for (std::size_t k = 0; k < parts; ++k) run_part(k, stream);
    fetched_.reached(fetches_.get());
    fetched_.awaited(stream);
  }

  Result result() override {
    if (!in_slabs()) return slabs_[0].found.to_coo();
    Coo all(halves_.result_dims, DType::f32, entries());
    for (std::size_t m = 0; m < all.indices.size(); ++m)
      std::ranges::copy(on_host_[m].all(), all.indices[m].begin());
    std::ranges::transform(on_host_.back().all(), all.values.as<float>().begin(),
                           [](Word x) { return std::bit_cast<float>(x); });
    return all;
  }

  Footprint footprint() const override {
    Count host = halves_.x.bytes();
    for (const auto& array : on_host_) host += array.bytes();
    Count on_device = bytes_beside_result();
    for (const auto& slab : slabs_) on_device += slab.found.bytes();
    return {host, on_device};
  }
  Work work() const override { return work_model(problem_); }

  std::size_t parts() const { return parts_.size(); }
  Count nonzeros_before(std::size_t part) const {
    return part < parts_.size() ? parts_[part].first : parts_.empty() ? 0 : parts_.back().last;
  }
  Count entries() const {
    return parts_.empty() ? 0 : parts_.back().first_entry + parts_.back().entries;
  }
  Count bytes_of_entry() const { return (halves_.result_dims.size() + 1) * sizeof(Word); }
  Count bytes_beside_result() const {
    Count bytes = halves_.y.bytes() + cub_.bytes() + first_product_.bytes();
    for (const auto& slot : slots_) bytes += slot.words.bytes();
    return bytes;
  }

 private:
  static constexpr std::size_t kBuffers = 2;
  struct Slot {
    Buffer<Word> words;
    Milestone filled, used;
  };
  struct Slab {
    DeviceResult found;
    Milestone filled, fetched;
  };
  bool in_slabs() const { return !on_host_.empty(); }
  Slot& slot(std::size_t part) { return slots_[part % kBuffers]; }
  Slab& slab(std::size_t part) { return slabs_[in_slabs() ? part % kBuffers : 0]; }

  /// Of the result of a part.
  void count(Part& part) {
    halves_.x.list(part);
    Word* const words = slots_[0].words.data();
    halves_.x.copy(part, words, nullptr);
    entries_.zero(nullptr);
    multiply(part, words, AppendPass{entries_.data(), nullptr, {}, 0}, nullptr);
    part.entries = element_at(entries_, 0);
  }

  /// A part whose result has at most so many entries, or as many parts as have. Throws OutOfMemory
  /// for a row that has more.
  void fit(const Part& part, Count most, std::vector<Part>& fitting) {
    if (part.entries <= most) return fitting.push_back(part);
    if (part.rows() == 1)
      throw OutOfMemory("a row of the result has " + std::to_string(part.entries) +
                        " entries, a slab has room for " + std::to_string(most));
    const Count middle = part.first_row + part.rows() / 2;
    for (const auto& [first, last] :
         {std::pair(part.first_row, middle), std::pair(middle, part.last_row)}) {
      Part half = halves_.x.part_of(first, last);
      count(half);
      fit(half, most, fitting);
    }
  }

  void make_room(const Params& params, Where where) {
    const double room = room_of(params);
    number_entries();
    const auto each = static_cast<double>(bytes_of_entry());
    const bool fits = static_cast<double>(entries()) * each <= room &&
                      entries() <= std::numeric_limits<std::uint32_t>::max();
    if (where == Where::device_if_room && fits)
      return slabs_[0].found.make_room(entries(), device_room(params.real("memory")));
    const double slab = std::min(room / kBuffers, static_cast<double>(buffer_bytes_));
    std::vector<Part> fitting;
    for (const Part& part : parts_) fit(part, static_cast<Count>(slab / each), fitting);
    parts_ = std::move(fitting);
    number_entries();
    Count most = 0;
    for (const Part& part : parts_) most = std::max(most, part.entries);
    for (auto& of_two : slabs_) of_two.found.make_room(most, device_room());
    host_room(0).require("entries of the result on the host", entries(), bytes_of_entry());
    for (std::size_t array = 0; array <= halves_.result_dims.size(); ++array)
      on_host_.emplace_back(entries());
  }

  void number_entries() {
    Count before = 0;
    for (Part& part : parts_) part.first_entry = std::exchange(before, before + part.entries);
  }

  void run_part(std::size_t k, cudaStream_t stream) {
    const Part& part = parts_[k];
    Slot& from = slot(k);
    Slab& to = slab(k);
    // Of a run before this one all has been used that `begun_` waits for.
    if (k >= kBuffers) from.used.awaited(copies_.get());
    halves_.x.copy(part, from.words.data(), copies_.get());
    from.filled.reached(copies_.get());
    from.filled.awaited(stream);
    if (in_slabs()) {
      if (k >= kBuffers) to.fetched.awaited(stream);
      entries_.zero(stream);
    }
    multiply_into(to.found, part, from.words.data(), stream);
    from.used.reached(stream);
    if (!in_slabs()) return;
    to.filled.reached(stream);
    to.filled.awaited(fetches_.get());
    fetch(part, to.found, fetches_.get());
    to.fetched.reached(fetches_.get());
  }

  void multiply_into(DeviceResult& found, const Part& part, const Word* words,
                     cudaStream_t stream) {
    const Places at = halves_.x.places(part);
    EntryModes modes = halves_.y.entry_modes(found);
    for (int k = 0; k < modes.order; ++k)
      if (modes.mode[k].from_x)
        modes.mode[k].index =
            words + at.index + halves_.free_mode[static_cast<std::size_t>(k)] * at.next_index;
    multiply(part, words,
             AppendPass{entries_.data(), found.values.data(), modes,
                        static_cast<float>(problem_.spec().alpha)},
             stream);
  }

  void multiply(const Part& part, const Word* words, const AppendPass& pass, cudaStream_t stream) {
    const Places at = halves_.x.places(part);
    cub_.sums(part.nonzeros(), kernels::ProductsOf{words + at.group, halves_.y.group_start.data()},
              first_product_, stream);
    SparseProduct p(halves_.y);
    p.rows = part.rows();
    // Rows tell where they begin in all of x: arrays of the part begin so far before it.
    p.row_start = words;
    p.x_group = words + at.group - part.first;
    p.x_values = reinterpret_cast<const float*>(words + at.value) - part.first;
    p.first_product = first_product_.data() - part.first;
    kernels_.run(p, pass, part.lengths, words + at.list, stream);
  }

  /// Brings the entries of a part to their places in the result on the host.
  void fetch(const Part& part, const DeviceResult& found, cudaStream_t stream) {
    const auto take = [&](Pinned<Word>& to, const void* from) {
      RETENSOR_CUDA_CHECK(cudaMemcpyAsync(to.data() + part.first_entry, from,
                                          part.entries * sizeof(Word), cudaMemcpyDeviceToHost,
                                          stream));
    };
    for (std::size_t m = 0; m < found.indices.size(); ++m)
      take(on_host_[m], found.indices[m].data());
    take(on_host_.back(), found.values.data());
  }

  /// What a run would take if it had nothing else to do.
  void tell_alone() {
    const device::Stream stream;
    const auto seconds = [&](auto&& work) {
      device::Event begin, end;
      begin.record(stream.get());
      work();
      end.record(stream.get());
      end.synchronise();
      return end.seconds_since(begin);
    };
    const auto over_parts = [&](auto&& work) {
      return seconds([&] {
        for (std::size_t k = 0; k < parts_.size(); ++k) work(k);
      });
    };
    const auto copy = [&](std::size_t k) {
      halves_.x.copy(parts_[k], slot(k).words.data(), stream.get());
    };
    double kernels = 0;
    entries_.zero(stream.get());
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      copy(k);
      if (in_slabs()) entries_.zero(stream.get());
      kernels += seconds(
          [&] { multiply_into(slab(k).found, parts_[k], slot(k).words.data(), stream.get()); });
    }
    executed_["seconds of kernels alone"] = std::to_string(kernels);
    executed_["seconds of copies alone"] = std::to_string(over_parts(copy));
    if (in_slabs())
      executed_["seconds of fetches alone"] = std::to_string(
          over_parts([&](std::size_t k) { fetch(parts_[k], slab(k).found, stream.get()); }));
  }

  Halves halves_;
  const Count buffer_bytes_;
  const PartKernels kernels_;
  std::vector<Part> parts_;
  std::array<Slot, kBuffers> slots_;
  std::array<Slab, kBuffers> slabs_;    // the first alone where the result stays on the device
  std::vector<Pinned<Word>> on_host_;   // of a result in slabs: by mode, and the values
  Buffer<unsigned long long> entries_;  // of the result, or of the slab, so far
  Buffer<Count> first_product_;
  Cub cub_;
  const SideStream copies_, fetches_;
  Milestone begun_, fetched_;
};

/// Rows with about `sample` nonzeros, taken at random, each whole.
std::shared_ptr<const Coo> sampled_rows(const Coo& x, const std::vector<int>& free, Count sample) {
  const Count one_of = std::max((x.nnz() + sample - 1) / sample, Count{1});
  const CounterRng rng(1);
  std::vector<Count> taken;
  for (Count p = 0; p < x.nnz(); ++p) {
    std::uint64_t row = 0;
    for (const int mode : free) row = rng.bits(row ^ x.indices[static_cast<std::size_t>(mode)][p]);
    if (row % one_of == 0) taken.push_back(p);
  }
  auto part = std::make_shared<Coo>(x.dims, DType::f32, taken.size());
  for (std::size_t m = 0; m < x.dims.size(); ++m)
    for (Count k = 0; k < taken.size(); ++k) part->indices[m][k] = x.indices[m][taken[k]];
  return part;
}

/// The faster of two runs, in seconds.
double seconds_of(StreamedRun& run, std::size_t parts) {
  const auto timer = device::make_event_timer();
  const auto once = [&] {
    timer->start();
    run.run_first(parts, *timer);
    double sum = 0;
    for (const auto& stage : timer->stop()) sum += stage.second;
    return sum;
  };
  const double first = once();
  return std::min(first, once());
}

}  // namespace

std::unique_ptr<Prepared> prepare_streamed_cuda(const Problem& problem, const Params& params) {
  return std::make_unique<StreamedRun>(problem, params);
}

/// Some rows are multiplied; beyond them each nonzero takes as long as those of the later half of
/// their parts. An outline without nonzeros gets as many as it states, in the order of mode 0.
Prediction predict_streamed_cuda(const Problem& outline, const Params& params) {
  constexpr Count kEnough = Count{1} << 22;  // nonzeros, more where a part holds many
  const auto buffer = static_cast<Count>(params.real("buffer") * 0x1p20);
  const Coo& x = outline.x();
  const auto y = x.nnz() > 0 ? std::shared_ptr<const Coo>(std::shared_ptr<void>(), &x)
                             : outline_sample(x, outline.nonzeros(), outline.nonzeros());
  auto spec = outline.spec();
  spec.values = ValueModel::stored;
  const Problem problem(
      spec, sampled_rows(*y, contraction_of(outline).free_x, std::max(kEnough, buffer / 8)), y);
  auto run = std::make_unique<StreamedRun>(problem, params, Streams::x);
  const double of_sample =
      static_cast<double>(y->nnz()) / static_cast<double>(std::max(problem.x().nnz(), Count{1}));
  const double result = of_sample * static_cast<double>(run->entries() * run->bytes_of_entry());
  const bool fits = result <= room_of(params);
  if (!fits) run = std::make_unique<StreamedRun>(problem, params, Streams::x, Where::host);
  const auto held = run->footprint();
  Prediction p;
  p.device_bytes =
      fits ? run->bytes_beside_result() + static_cast<Count>(result) : held.device_bytes;
  p.host_bytes = static_cast<Count>(of_sample * static_cast<double>(held.format_bytes));
  const std::size_t half = run->parts() / 2;
  const double all = seconds_of(*run, run->parts());
  const double later = all - (half > 0 ? seconds_of(*run, half) : 0);
  const auto timed = static_cast<double>(problem.x().nnz() - run->nonzeros_before(half));
  p.seconds =
      all + later / std::max(timed, 1.0) * static_cast<double>(y->nnz() - problem.x().nnz());
  return p;
}

}  // namespace retensor::bcb_sptc
